"""Child processes in which foreign parsers run: they may crash, hang or run out of memory without harm.

A child is this Python without the user's settings, started when it is first needed and kept.  It gets bytes, calls one
function of one module with them and sends back what that returns.  Its memory and the time of a call are limited.  It
ends when its parent does, whatever ends that, and a process that was forked off starts its own.

`multiprocessing` would import the script that runs, which then scans again where it has no `__main__` guard.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import io
import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Literal

from leakscan.model import LeakscanError

SECONDS = 10
"""How much time of a processor a call may take."""

PATIENCE = 4
"""How many times as long it may take by the clock: the machine may be busy."""

MEMORY = 256 << 20
"""How many bytes of addresses a child may have, besides SHARE for each byte that it is called with."""

SHARE = 16

_LATE = (signal.SIGPROF, signal.SIGALRM)
_LENGTH = struct.Struct(">Q")
_OUT_OF_MEMORY = 77
"""The exit status of a child that had not enough memory."""

Pipe = IO[bytes] | io.FileIO
Fate = Literal["crash", "hang", "run out of memory"]

_START = "import sys; sys.path[:] = sys.argv[4:]; from leakscan import workers; workers.serve(*sys.argv[1:4])"


class Died(Exception):
    """The child ended during a call; `fate` is why."""

    def __init__(self, fate: Fate) -> None:
        super().__init__(fate)
        self.fate: Fate = fate


class Worker:
    """A child that calls `function` (`module:name`, from bytes to bytes); `seconds` and `memory` as above."""

    def __init__(self, function: str, seconds: int = SECONDS, memory: int = MEMORY) -> None:
        self._arguments = (function, str(seconds), str(memory))
        self._child: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        os.register_at_fork(after_in_child=self._forget)
        atexit.register(self.close)

    def call(self, data: bytes) -> bytes:
        """What the function makes of `data`.  Raises Died; the next call then has a new child."""
        with self._lock:
            child = self._child = self._child or self._start()
            assert child.stdin is not None
            assert child.stdout is not None
            try:
                _send(child.stdin, data)
                reply = _receive(child.stdout)
            except BaseException:  # also an interrupt: what is in the pipe then belongs to no later call
                self._end()
                raise
            if reply is None:
                raise Died(self._end())
            return reply

    def close(self) -> None:
        """End the child, if there is one."""
        with self._lock:
            if self._child is not None:
                self._end()

    def _start(self) -> subprocess.Popen[bytes]:
        package = str(Path(__file__).resolve().parents[1])
        path = [folder for folder in sys.path if not _is_here(folder)]
        path = path if package in path else [package, *path]
        command = [sys.executable, "-I", "-c", _START, *self._arguments, *path]
        try:
            return subprocess.Popen(
                command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise LeakscanError(f"{sys.executable}: cannot be run ({error.strerror}); mend the installation") from error

    def _end(self) -> Fate:
        child, self._child = self._child, None
        assert child is not None
        _close(child)
        try:
            child.wait(1)  # it ends by itself without a pipe, unless it is busy
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        if -child.returncode in _LATE:
            return "hang"
        return "run out of memory" if child.returncode == _OUT_OF_MEMORY else "crash"

    def _forget(self) -> None:
        """Leave the child to the process that this one was forked from: its pipes must not be held open here."""
        child, self._child = self._child, None
        self._lock = threading.Lock()  # it may be held by a thread that was not forked
        if child is not None:
            _close(child)
            child.returncode = 0  # not this one's to wait for


def _is_here(folder: str) -> bool:
    """Whether a folder is the current one, which may be a release: nothing in it is to be run."""
    try:
        return os.path.samefile(folder or os.curdir, os.curdir)
    except OSError:
        return False


def _close(child: subprocess.Popen[bytes]) -> None:
    for pipe in (child.stdin, child.stdout):
        assert pipe is not None
        pipe.close()


def _send(pipe: Pipe, data: bytes) -> None:
    """One message down a pipe without a buffer."""
    with contextlib.suppress(BrokenPipeError):  # that nobody is there shows when nothing comes back
        for part in (_LENGTH.pack(len(data)), data):
            view = memoryview(part)
            while view:
                view = view[pipe.write(view) :]


def _receive(pipe: Pipe) -> bytes | None:
    """One message; None where the other end is gone."""
    head = _exactly(pipe, _LENGTH.size)
    return None if head is None else _exactly(pipe, *_LENGTH.unpack(head))


def _exactly(pipe: Pipe, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        part = pipe.read(min(size - len(data), 1 << 20))
        if not part:
            return None
        data += part
    return bytes(data)


# --- in the child ----------------------------------------------------------------------------------------------------


def serve(function: str, seconds: str, memory: str) -> None:
    """Answer calls until the parent is gone."""
    import resource

    requests, replies = io.FileIO(0), io.FileIO(os.dup(1), "w")
    os.dup2(2, 1)  # what a parser prints is no reply
    for late in _LATE:
        signal.signal(late, signal.SIG_DFL)  # which ends the process, whatever it does
    module, _, name = function.partition(":")
    call: Callable[[bytes], bytes] = getattr(importlib.import_module(module), name)
    try:
        while (data := _receive(requests)) is not None:
            _limit(int(seconds))
            with contextlib.suppress(OSError, ValueError):  # not every system limits addresses
                resource.setrlimit(resource.RLIMIT_AS, (int(memory) + SHARE * len(data), resource.RLIM_INFINITY))
            reply = call(data)
            del data
            _limit(0)
            _send(replies, reply)
    except MemoryError:
        os._exit(_OUT_OF_MEMORY)


def _limit(seconds: int) -> None:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE * seconds)
