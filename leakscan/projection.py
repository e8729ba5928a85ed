"""Records with their declared fields only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from leakscan.model import child_name


def project(body: Any, fields: Mapping[str, Any]) -> Any:
    """`body` with its declared leaves only; `fields` holds their JSON paths (`$.choices[]`)."""
    ancestors = {"$"}
    for name in fields:
        ancestors.update(name[:index] for index, character in enumerate(name) if character in ".[")
    return _project(body, "$", fields, ancestors)


def _project(value: Any, name: str, fields: Mapping[str, Any], ancestors: set[str]) -> Any:
    if isinstance(value, Mapping):
        children = ((key, child_name(name, key), child) for key, child in value.items())
        return {key: _project(child, path, fields, ancestors) for key, path, child in children
                if _kept(child, path, fields, ancestors)}  # fmt: skip
    if isinstance(value, list):
        element = f"{name}[]"
        kept = (child for child in value if _kept(child, element, fields, ancestors))
        return [_project(child, element, fields, ancestors) for child in kept]
    return value


def _kept(value: Any, name: str, fields: Mapping[str, Any], ancestors: set[str]) -> bool:
    return name in ancestors if isinstance(value, Mapping | list) else name in fields


def rewrite(body: Any, name: str, change: Callable[[str], Any], at: str = "$") -> Any:
    """`body` with `change` applied to the text at the JSON path `name`."""
    if isinstance(body, Mapping):
        return {key: rewrite(child, name, change, child_name(at, key)) for key, child in body.items()}
    if isinstance(body, list):
        return [rewrite(child, name, change, f"{at}[]") for child in body]
    return change(body) if at == name and isinstance(body, str) else body
