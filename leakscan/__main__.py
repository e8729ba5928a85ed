"""`python -m leakscan` is the command `leakscan`."""

from leakscan.cli import main

if __name__ == "__main__":
    main()
