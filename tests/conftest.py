"""What all tests share: nothing of the user's own is read or written, and examples are drawn the same way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

# Shared machines are slow at times, so no deadline.  `make test` draws the same examples each time, a failure is
# then never somebody else's; `make check` draws many new ones.
settings.register_profile("default", deadline=None, derandomize=True)
settings.register_profile("long", deadline=None, max_examples=1000)
settings.load_profile("default")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden", action="store_true", help="renew the golden reports")
    parser.addoption("--mutations", type=int, help="how many damaged files of each audio container are tried")
    parser.addoption("--kills", type=int, default=10, help="how often a run of `clean` is killed (default: 10)")


@pytest.fixture(scope="session", autouse=True)
def _surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the user's evaluator file and cache out of the tests; subprocesses inherit this."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("LEAKSCAN_EVALUATOR", "LEAKSCAN_CACHE", "LEAKSCAN_PASSPHRASE"):
            patch.delenv(name, raising=False)
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield
