"""Work in several processes: every job is done once, and what a job raises arrives."""

from __future__ import annotations

import gc
import os
import platform
import signal
import subprocess
import sys

import pytest

from leakscan import crew


@pytest.fixture(params=[1, 3])
def workers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    count: int = request.param
    monkeypatch.setattr(crew, "cores", lambda: count)
    return count


def double(number: int) -> tuple[int, int]:
    return 2 * number, os.getpid()


def fail(number: int) -> int:
    if number == 3:
        raise OSError(28, "No space left on device")
    return number


def vanish(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def frozen(number: int) -> int:
    return gc.get_freeze_count()


def test_what_workers_inherit_is_no_garbage(workers: int) -> None:
    assert all((count > 0) == (workers > 1) for _, count in crew.everywhere(frozen, range(20)))


def test_every_job_is_done_once(workers: int) -> None:
    results = dict(crew.everywhere(double, range(20)))
    assert {job: result for job, (result, _) in results.items()} == {number: 2 * number for number in range(20)}
    assert (os.getpid() in {pid for _, pid in results.values()}) == (workers == 1)


@pytest.mark.usefixtures("workers")
def test_what_a_job_raises_arrives() -> None:
    with pytest.raises(OSError, match="No space left on device"):
        list(crew.everywhere(fail, range(20)))


def test_a_worker_that_is_killed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "cores", lambda: 2)
    with pytest.raises(OSError, match="a worker was killed; is there enough memory"):
        list(crew.everywhere(vanish, range(20)))


INTERRUPTED = """
import os, signal, sys
from leakscan import crew
signal.signal(signal.SIGINT, signal.default_int_handler)  # what is started in the background ignores it
crew.cores = lambda: 4
os.register_at_fork(after_in_parent=lambda: os.killpg(0, signal.SIGINT))
try:
    for _ in crew.everywhere(abs, range(100)):
        pass
except KeyboardInterrupt:
    sys.exit(7)
"""


def test_an_interruption_while_workers_start_ends_all_of_them() -> None:
    command = [sys.executable, "-c", INTERRUPTED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, start_new_session=True)
    assert (done.returncode, done.stderr) == (7, "")


@pytest.mark.usefixtures("workers")
def test_nothing_to_do() -> None:
    assert list(crew.everywhere(double, [])) == []


def test_workers_keep_the_memory_that_they_free() -> None:
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("another C library than glibc")
    program = """
import resource
from leakscan import crew
crew._keep_memory()
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
held = [bytearray(b"1") * (8 << 20) for _ in range(3)]
del held
before = faults()
for _ in range(5):
    held = [bytearray(b"1") * (8 << 20) for _ in range(3)]
    del held
print(faults() - before)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < (8 << 20) // 4096, "a block of 8 MB has come anew from the system"
