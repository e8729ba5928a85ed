"""Work on many files in all cores: by threads, or by processes that end with the one that started them."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # what glibc's malloc.h calls M_TRIM_THRESHOLD and M_MMAP_THRESHOLD
_FREE = 256 << 20  # bytes that a worker may hold without need
_BLOCK = 32 << 20  # the largest block that is held; glibc takes no more

Job = TypeVar("Job")
Result = TypeVar("Result")


def everywhere(function: Callable[[Job], Result], jobs: Sequence[Job]) -> Iterator[tuple[Job, Result]]:
    """Every job with what `function` makes of it, in any order.  Raises what it raises, and `OSError`."""
    workers = min(cores(), len(jobs))
    if workers < 2:
        yield from ((job, function(job)) for job in jobs)
        return
    # Forked: other ways of starting import the script that runs, which would then work again without a guard.
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("fork"), _begin)
    try:
        with _uninterrupted():
            waiting = {pool.submit(function, job): job for job in jobs}
        for future in as_completed(waiting):
            yield waiting.pop(future), future.result()
    except BrokenProcessPool as error:
        raise OSError(0, "a worker was killed; is there enough memory?") from error
    finally:
        pool.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back while workers are forked: half of them would wait for ever, the others go on as their parent."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed: list[int] = []
    usual = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual if usual is not None else signal.SIG_DFL)
    if pressed:
        signal.raise_signal(signal.SIGINT)


def in_threads(
    function: Callable[[Job], Result], jobs: Sequence[Job], tell: Callable[[int, int], None] | None = None
) -> list[Result]:
    """What `function` makes of every job, in order, where its work is ffmpeg's, hashlib's or numpy's: threads suffice.

    `tell` is called with how many are done, of how many.  Raises what `function` raises.
    """
    results = []
    with ThreadPoolExecutor(cores()) as pool:
        for result in pool.map(function, jobs):
            results.append(result)
            if tell is not None:
                tell(len(results), len(jobs))
    return results


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _begin() -> None:
    """Start a worker.  One whose parent was killed would wait for work for ever."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    threading.Thread(target=_watch, daemon=True).start()
    _keep_memory()
    gc.freeze()  # what is there stays: going over it for garbage would also copy the memory that is shared


def _keep_memory() -> None:
    """Have the C library keep what is freed: a worker needs blocks of the same size for the next file.

    Else they come anew from the system, page by page, which takes nearly half of the time that an MP3 file does.
    """
    with contextlib.suppress(OSError, AttributeError):  # another C library than glibc
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MMAP_THRESHOLD, _BLOCK)
        mallopt(_TRIM_THRESHOLD, _FREE)


def _watch() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
