"""Children that crash, hang or fill the memory do no harm, and none outlives its parent."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from leakscan.workers import MEMORY, Died, Worker

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 20.0  # seconds; the machine may be busy


def act(data: bytes) -> bytes:
    """What the child is told to do."""
    if data == b"hang":
        while True:
            pass
    if data == b"sleep":
        time.sleep(PATIENCE)
    if data == b"crash":
        ctypes.string_at(0)
    if data == b"exit":
        os._exit(0)
    if data == b"raise":
        raise ValueError
    if data == b"fill":
        return b"x" * (4 * MEMORY)
    if data == b"print":
        os.write(1, b"no reply")
        sys.stdout.write("no reply")
    return str(os.getpid()).encode() if data == b"who" else data[::-1]


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker("test_workers:act", seconds=1)
    yield worker
    worker.close()


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until_gone(pid: int) -> None:
    end = time.monotonic() + PATIENCE
    while is_alive(pid):
        assert time.monotonic() < end, "the child is still there"
        time.sleep(0.02)


def test_calls_go_to_one_child(worker: Worker) -> None:
    assert worker.call(b"abc") == b"cba"
    assert worker.call(b"") == b""
    assert worker.call(b"print") == b"tnirp"
    first = worker.call(b"who")
    assert first != str(os.getpid()).encode()
    assert worker.call(b"who") == first


def test_what_is_larger_than_a_pipe_comes_through(worker: Worker) -> None:
    data = bytes(range(256)) * (1 << 15)
    assert worker.call(data) == data[::-1]


@pytest.mark.parametrize(
    ("order", "fate"),
    [
        (b"hang", "hang"),
        (b"sleep", "hang"),
        (b"crash", "crash"),
        (b"exit", "crash"),
        (b"raise", "crash"),
        (b"fill", "run out of memory"),
    ],
)
def test_a_child_that_dies_is_replaced(worker: Worker, order: bytes, fate: str) -> None:
    first = worker.call(b"who")
    with pytest.raises(Died) as caught:
        worker.call(order)
    assert caught.value.fate == fate
    assert not is_alive(int(first))
    assert worker.call(b"who") != first


def test_the_memory_grows_with_what_is_asked(worker: Worker) -> None:
    data = bytes(MEMORY // 4)
    assert len(worker.call(data)) == len(data)


def test_an_interrupt_leaves_no_reply_behind(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    worker.call(b"one")
    with monkeypatch.context() as patch:

        def interrupted(*args: object) -> None:
            raise KeyboardInterrupt

        patch.setattr("leakscan.workers._receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            worker.call(b"two")
    assert worker.call(b"three") == b"eerht"


def test_threads_take_turns(worker: Worker) -> None:
    found: list[bool] = []

    def ask(number: int) -> None:
        data = b"%d" % number * 1000
        found.extend(worker.call(data) == data[::-1] for _ in range(20))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 80


SHARED = Worker("test_workers:act")


def ask_shared(data: bytes) -> tuple[int, bytes]:
    return os.getpid(), SHARED.call(data)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_of_a_pool_have_children_of_their_own(method: str) -> None:
    """Those of a pool are daemons, to which multiprocessing allows no children."""
    mine = SHARED.call(b"who")
    with multiprocessing.get_context(method).Pool(2) as pool:
        children = dict(pool.map(ask_shared, [b"who"] * 20, chunksize=1))
    assert mine not in children.values()
    assert len(set(children.values())) == len(children)
    for child in children.values():
        wait_until_gone(int(child))
    assert SHARED.call(b"who") == mine
    SHARED.close()


def test_a_fork_neither_takes_nor_holds_the_child() -> None:
    worker = Worker("test_workers:act")
    mine = int(worker.call(b"who"))
    fork = os.fork()
    if not fork:
        time.sleep(PATIENCE)
        os._exit(0)
    try:
        worker.close()
        wait_until_gone(mine)
    finally:
        os.kill(fork, signal.SIGKILL)
        os.waitpid(fork, 0)


PARENT = """
    import sys, time
    sys.path[:0] = {path}
    from leakscan.workers import Worker
    worker = Worker("test_workers:act", seconds=1)
    print(worker.call(b"who").decode(), flush=True)
    {then}
"""


@pytest.mark.parametrize(
    ("then", "killed"),
    [
        ("pass", False),
        ("raise SystemExit(3)", False),
        ("time.sleep(60)", True),
        ("worker.call(b'hang')", True),
        ("__import__('os')._exit(0)", False),
    ],
)
def test_no_child_outlives_its_parent(tmp_path: Path, then: str, killed: bool) -> None:
    """A script without a `__main__` guard, at that: it must not run twice."""
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(PARENT.format(path=[str(ROOT), str(ROOT / "tests")], then=then)))
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stderr is not None
        child = int(parent.stdout.readline())
        if killed:
            time.sleep(0.1)
            parent.kill()
        assert parent.stdout.read() == b""
        assert parent.stderr.read() == b""
    wait_until_gone(child)


@pytest.mark.parametrize("here", ["", "."])
def test_modules_in_the_current_folder_are_not_run(tmp_path: Path, here: str) -> None:
    """It may be a release."""
    for name in ("json", "struct", "leakscan", "test_workers", "resource"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(1)")
    code = "import os, sys; sys.path.remove(''); sys.path[:0] = sys.argv[2:]; from leakscan.workers import Worker;"
    code += "sys.path.insert(0, sys.argv[1] and os.getcwd()); print(Worker('test_workers:act').call(b'abc'))"
    argv = [sys.executable, "-c", code, here, str(ROOT), str(ROOT / "tests")]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, check=True)
    assert done.stdout == b"b'cba'\n"
