"""The command, from its first to its last moment."""

from __future__ import annotations

import signal

import pytest

import leakscan.cli
from leakscan.__main__ import main


def test_an_interruption_is_no_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    restored: list[object] = []
    monkeypatch.setattr(leakscan.cli, "main", interrupted)
    monkeypatch.setattr(signal, "signal", lambda *given: restored.append(given))
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.default_int_handler)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "leakscan: interrupted\n"
    assert restored == [(signal.SIGINT, signal.SIG_DFL)]
