"""Prompt templates: Jinja files, and the strings that Python code makes prompts from.  Code is parsed, never run.

All come in one notation, `{{ expression }}` between literal text, so that checks need to know one only.
"""

from __future__ import annotations

import ast
import re
import string
import warnings
from collections.abc import Iterator

from leakscan.model import Entry, Item, Place, Unreadable

NAMES = (".jinja", ".jinja2", ".j2", ".py")
BY_NAME = True  # the content is text like any other
RECORDS = False
LIMIT = 1 << 20
"""The largest file that is read, in bytes."""

_PROMPT = re.compile(r"prompt|template|instruction|content|message|question|doc_to_text|(?:^|_)text$", re.IGNORECASE)
_NO_PROMPT = re.compile(r"target|gold|score|judge|grade|metric|log|error|expected|help|usage|path", re.IGNORECASE)


def sniff(head: bytes) -> bool:
    """Whether the content is text."""
    return b"\0" not in head


def read(entry: Entry) -> Iterator[Item]:
    """One item, whose body is a list of (what it is called, template).  Raises `Unreadable`."""
    with entry.open() as stream:
        data = stream.read(LIMIT + 1)
    if len(data) > LIMIT:
        raise Unreadable(f"{entry.path}: larger than {LIMIT:,} bytes; no template is")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"{entry.path}: not UTF-8 at byte {error.start}; convert it to UTF-8") from error
    is_code = entry.path.lower().endswith(".py")
    templates = _of_code(text) if is_code else None
    yield Item(Place(entry.path), "template", templates if templates is not None else [("template", text)])


def _of_code(text: str) -> list[tuple[str, str]] | None:
    """The prompts of a Python file; None when it cannot be parsed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return sorted(set(_prompts(ast.parse(text))))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _prompts(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Every expression that stands under the name of a prompt: assigned, returned, passed or as a value of a dict."""
    waiting: list[tuple[ast.AST, str]] = [(tree, "")]
    while waiting:
        node, function = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            function = getattr(node, "name", function)
        for name, value in _named(node, function):
            if _PROMPT.search(name) and not _NO_PROMPT.search(name) and not _NO_PROMPT.search(function):
                template = _notation(value)
                if "{{" in template:
                    yield name, template
        waiting.extend((child, function) for child in ast.iter_child_nodes(node))


def _named(node: ast.AST, function: str) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Name | ast.Attribute):
                yield (target.id if isinstance(target, ast.Name) else target.attr), node.value
    elif isinstance(node, ast.Return) and node.value is not None:
        yield function, node.value
    elif isinstance(node, ast.keyword) and node.arg is not None:
        yield node.arg, node.value
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, value


def _notation(value: ast.expr) -> str:
    """An expression as a template."""
    if isinstance(value, ast.Constant):
        return value.value.replace("{{", "{").replace("}}", "}") if isinstance(value.value, str) else ""
    if isinstance(value, ast.JoinedStr):
        return "".join(
            _notation(part.value) if isinstance(part, ast.FormattedValue) else _notation(part) for part in value.values
        )
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        return _notation(value.left) + _notation(value.right)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mod):
        right = value.right.elts if isinstance(value.right, ast.Tuple) else [value.right]
        return _notation(value.left) + "".join(map(_notation, right))
    if isinstance(value, ast.Dict | ast.List | ast.Tuple | ast.Set):
        return ""  # what is in it has names of its own
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        literal = value.func.value
        if value.func.attr in ("format", "format_map") and isinstance(literal, ast.Constant):
            arguments = [*value.args, *(one.value for one in value.keywords if one.arg is not None)]
            forwarded = [one.value for one in value.keywords if one.arg is None]
            if value.func.attr == "format_map" or forwarded:
                return _fields(str(literal.value))
            return "".join(map(_notation, arguments))
        if value.func.attr == "join":
            return "".join(map(_notation, value.args))
    return f"{{{{ {ast.unparse(value)} }}}}"


def _fields(text: str) -> str:
    """A format string whose fields are taken from a whole record: only those that it names are sent."""
    try:
        names = [name for _, name, _, _ in string.Formatter().parse(text) if name]
    except ValueError:
        return ""
    return "".join(f"{{{{ {name} }}}}" for name in names)
