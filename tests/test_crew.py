"""Work in several processes: every job is done once, and what a job raises arrives."""

from __future__ import annotations

import os
import signal

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


@pytest.mark.usefixtures("workers")
def test_nothing_to_do() -> None:
    assert list(crew.everywhere(double, [])) == []
