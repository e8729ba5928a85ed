"""`python -m leakscan` is the command `leakscan`."""

import signal
import sys


def main() -> None:
    """Run the command line and exit; Ctrl-C gives no traceback, while it is loaded and when it is done either."""
    try:
        from leakscan.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("leakscan: interrupted\n")
        sys.exit(130)
    finally:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    main()
