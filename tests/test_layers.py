"""Layers, enforced by reading imports: a module imports only from strictly lower layers, so siblings never meet.

Imports inside functions and under TYPE_CHECKING count too.  Foreign modules with a price (a licence, a process, a
user interface) have one home each.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

LAYERS = """
literals dresses scores text
model
workers cues rows libchromaprint transcripts
discover config media blocks decoders ebml fills mpegframes opus outputs packets redaction questions sealing
legible pictures vorbis embedded jsontext layouts prose
yamltext
tags oggpages chance phrases wavpackblocks flacframes ac3frames ac3bits mpegbits owners recipes tables
mpeginfo comments
tagreaders frames wavpackframes
ledgers oggpackets boxes sources codecprivate
rebuilding boxwalk clusters
waves boxindexes boxpayload elements
boxfragments elementindexes
accounts crew dsse extraction inventory linking mapping naming projection
walk formats checks reports fingerprints
chroma
store sketches alignment grouping index baseline exhibits identities reviewing splits
rulebook evaluator engines hearing claims
likenesses speeds
scanning matching repeats
query sets
overlapping
workplace stripping
cleaning sent drafting
certificates
verification
doctor
__init__
cli
__main__
"""

# foreign module: the only modules of leakscan that may import it
HOMES = {
    "chromaprint": {"libchromaprint"},
    "click": {"cli", "__main__"},
    "cryptography": {"dsse"},
    "mutagen": {"tagreaders", "tags"},
    "pyrage": {"sealing"},
    "sqlite3": {"store"},
    "subprocess": {"media", "workers"},
}

LEVEL = {name: level for level, line in enumerate(LAYERS.split("\n")) for name in line.split()}
PACKAGE = ROOT / "leakscan"
MODULES = sorted(PACKAGE.rglob("*.py"))


def part(path: Path) -> str:
    """Which part of leakscan a file belongs to: a module, or the folder of plug-ins that holds it."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


PARTS = {part(path) for path in MODULES}


def imported(source: str, package: str = "leakscan") -> Iterator[tuple[int, str]]:
    """Every module that a source imports, as (line, dotted name); `package` is what relative imports start from."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node.lineno, f"{base}.{alias.name}"
        elif (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) in ("import_module", "importlib.import_module", "__import__")
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            yield node.lineno, str(node.args[0].value)


def target(name: str) -> str | None:
    """The part of leakscan that an imported name belongs to; None for foreign modules."""
    top, _, rest = name.partition(".")
    if top != "leakscan":
        return None
    first = rest.partition(".")[0]
    # `import leakscan` and `from leakscan import scan` mean the package itself, `from leakscan import model` a module
    return first if first in LEVEL or first in PARTS else "__init__"


def faults(part_name: str, source: str, package: str = "leakscan") -> list[str]:
    """What is wrong with the imports of one module."""
    found = []
    for line, name in imported(source, package):
        other = target(name)
        if other is None:
            if part_name not in HOMES.get(name.partition(".")[0], {part_name}):
                homes = ", ".join(sorted(HOMES[name.partition(".")[0]]))
                found.append(f"line {line}: {name} may be imported by {homes} only")
        elif other not in LEVEL:
            found.append(f"line {line}: {name} is in no layer; add {other} to LAYERS in tests/test_layers.py")
        elif LEVEL[other] >= LEVEL[part_name]:
            found.append(f"line {line}: {name} is not below {part_name}; move what both need to a lower layer")
    return found


@pytest.mark.parametrize("path", MODULES, ids=[str(path.relative_to(PACKAGE)) for path in MODULES])
def test_imports_only_from_lower_layers(path: Path) -> None:
    name = part(path)
    assert name in LEVEL, (
        f"{path.relative_to(ROOT)} is in no layer; add {name!r} to LAYERS in tests/test_layers.py, "
        "above everything it imports and below everything that imports it"
    )
    assert faults(name, path.read_text("utf-8"), ".".join(path.relative_to(ROOT).parent.parts)) == []


def test_plain_modules_and_plug_in_folders_all_have_a_layer() -> None:
    assert {"model", "discover", "formats", "checks", "reports"} <= PARTS
    assert set(LEVEL) >= PARTS


@pytest.mark.parametrize(
    ("part_name", "source", "package"),
    [
        ("model", "import leakscan.rows", "leakscan"),
        ("text", "from leakscan import media", "leakscan"),
        ("formats", "from leakscan.formats import json", "leakscan.formats"),
        ("formats", "from . import json", "leakscan.formats"),
        ("formats", "from .json import read", "leakscan.formats"),
        ("formats", "from ..walk import walk", "leakscan.formats"),
        ("checks", "def check():\n    from leakscan import checks", "leakscan.checks"),
        ("walk", "if TYPE_CHECKING:\n    from leakscan.scanning import scan", "leakscan"),
        ("scanning", "from leakscan import match", "leakscan"),
        ("scanning", "import leakscan", "leakscan"),
        ("reports", "from leakscan import __version__", "leakscan.reports"),
        ("scanning", "importlib.import_module('leakscan.cli')", "leakscan"),
        ("scanning", "import leakscan.somewhere_new", "leakscan"),
        ("scanning", "import click.testing", "leakscan"),
        ("formats", "from mutagen.mp3 import MP3", "leakscan.formats"),
        ("doctor", "import subprocess", "leakscan"),
    ],
)
def test_what_breaks_the_layers_is_seen(part_name: str, source: str, package: str) -> None:
    assert len(faults(part_name, source, package)) == 1


@pytest.mark.parametrize(
    ("part_name", "source", "package"),
    [
        ("formats", "from ..model import Item\nfrom leakscan import blocks, tags", "leakscan.formats"),
        ("tags", "import mutagen.id3", "leakscan"),
        ("media", "def run():\n    import subprocess", "leakscan"),
        ("cli", "import click\nfrom leakscan import scan, scanning", "leakscan"),
        ("walk", "import json\nfrom collections import abc", "leakscan"),
    ],
)
def test_what_keeps_the_layers_passes(part_name: str, source: str, package: str) -> None:
    assert faults(part_name, source, package) == []


def test_no_process_is_started_past_media() -> None:
    """`os` starts processes too."""
    starters = ("os.system", "os.popen", "os.exec", "os.spawn", "os.posix_spawn", "pty.", "create_subprocess")
    calls = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in MODULES
        if part(path) not in HOMES["subprocess"]
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and ast.unparse(node).startswith(starters)
    ]
    assert calls == []
