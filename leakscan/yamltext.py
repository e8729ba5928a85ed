"""YAML text -> documents in which every scalar is the text that stands there: `No` stays `No`, `1.10` stays `1.10`.

Documents are put together from the parser's events: without recursion, and with aliases counted before they multiply.
PyYAML (the extra `yaml`) is imported when it is used.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from leakscan.model import Malformed

DEPTH = 200
"""How deep lists and objects may be nested."""

EXPANSION = 16 << 20
"""Characters that all aliases of a text may stand for together."""


def is_available() -> bool:
    """Whether PyYAML is installed."""
    return importlib.util.find_spec("yaml") is not None


@dataclass
class _Node:
    """A list or object that is not complete yet; an object's keys and values alternate."""

    children: list[Any] = field(default_factory=list)
    size: int = 0
    anchor: str | None = None


def documents(text: str) -> Iterator[Any]:
    """The documents of a text, or `Malformed` for one that is not valid; what follows it may then be lost."""
    import yaml

    broken: Malformed | None = None
    stack: list[_Node] = []
    anchors: dict[str, tuple[Any, int]] = {}
    expanded = 0
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader)):
            value: Any = None
            size, anchor = 1, getattr(event, "anchor", None)
            if isinstance(event, yaml.DocumentStartEvent):
                broken, stack, anchors = None, [_Node()], {}
                continue
            elif isinstance(event, yaml.DocumentEndEvent):
                yield broken or stack[0].children[0]
                continue
            elif isinstance(event, yaml.CollectionStartEvent):
                stack.append(_Node(anchor=anchor))
                if len(stack) > DEPTH:
                    yield Malformed("nested too deeply", _offset(text, event.start_mark))
                    return
                continue
            elif isinstance(event, yaml.CollectionEndEvent):
                node = stack.pop()
                value, size, anchor = node.children, node.size + 1, node.anchor
                if isinstance(event, yaml.MappingEndEvent):
                    value = {str(key): child for key, child in zip(value[::2], value[1::2], strict=True)}
                    if len(value) < len(node.children) // 2:
                        offset = _offset(text, event.start_mark)
                        broken = broken or Malformed("an object that ends here names the same key twice", offset)
            elif isinstance(event, yaml.ScalarEvent):
                value, size = event.value, len(event.value) + 1
            elif isinstance(event, yaml.AliasEvent):
                if anchor not in anchors:
                    broken = broken or Malformed("an alias of nothing", _offset(text, event.start_mark))
                value, size = anchors.get(str(anchor), (None, 1))
                expanded += size
                if expanded > EXPANSION:
                    yield Malformed("aliases stand for too much", _offset(text, event.start_mark))
                    return
            else:
                continue
            stack[-1].children.append(value)
            stack[-1].size += size
            if anchor is not None and not isinstance(event, yaml.AliasEvent):
                anchors[anchor] = value, size
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        yield Malformed("not YAML", _offset(text, mark) if mark is not None else None)


def _offset(text: str, mark: Any) -> int:
    """Where a mark lies in bytes."""
    return len(text[: mark.index].encode())
