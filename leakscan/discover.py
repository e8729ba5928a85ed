"""The only plug-in mechanism: a plug-in is a module in one of leakscan's folders, found by looking into the folder."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from types import ModuleType


def names(package: str) -> list[str]:
    """The names of the modules in `leakscan.<package>`, sorted; nothing is imported but the package."""
    folder = importlib.import_module(f"leakscan.{package}")
    return sorted(info.name for info in pkgutil.iter_modules(folder.__path__) if not info.name.startswith("_"))


def members(package: str) -> Mapping[str, ModuleType]:
    """The modules of `leakscan.<package>` by name, for example `members("formats")["json"]`."""
    return {name: importlib.import_module(f"leakscan.{package}.{name}") for name in names(package)}
