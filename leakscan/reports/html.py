"""For people who look and listen: one file that needs no network, with all pairs, their exhibits and a player.

The page may load nothing but sound beside it (a policy in its head says so to the browser), and nothing in it is made
of text from outside: figures and names travel as JSON and become text nodes.

What its buttons export is a file of reviewed pairs::

    {"leakscan_reviewed": 1,
     "pairs": [{"a": "...", "b": "...", "verdict": "same" or "different", "reason": "..."}]}

`a` and `b` are the keys of the two recordings (`key_a`, `key_b` of the rows: digests of how they sound), so that
verdicts survive new names; where rows have none, as those of `match`, their names.  Pairs are in the order of the rows,
`reason` is what the reviewer wrote and may be empty.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Any, TextIO

from leakscan.model import VERSION, Edge, Exhibit, LeakscanError, Match, Report, Side
from leakscan.text import printable

SUFFIX = ".html"
OWN = re.compile(rb"\A<!doctype html>[\s\S]*?&middot; leakscan</title>")
_Row = Match | Edge


def ready() -> None:
    """Raise `LeakscanError` when what this format needs is not installed."""
    try:
        import jinja2  # noqa: F401
    except ImportError as error:
        raise LeakscanError("HTML reports need jinja2; pip install 'leakscan-audio[html]'") from error


def render(report: Report, out: TextIO) -> None:
    """Write `report` to `out`.  Raises `LeakscanError` without jinja2."""
    ready()
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_shown
    )
    style, script = _part("style.css"), _part("script.js")
    exhibits = {exhibit.row: exhibit for exhibit in report.exhibits}
    page = environment.from_string(_part("template.html"))
    text = page.render(
        report=report,
        title=_title(report),
        facts=_facts(report),
        lists=_lists(report),
        version=VERSION,
        policy=Markup(_policy(style, script)),
        style=Markup(style),
        script=Markup(script),
        data=Markup(_island(_table(report, exhibits))) if report.row is not None else None,
        exhibits=[
            (number, Markup(_island(_pictures(exhibits[row]))))
            for number, row in enumerate(report.rows)
            if row in exhibits and _is_drawn(exhibits[row])
        ],
    )
    out.write(text.encode("ascii", "xmlcharrefreplace").decode("ascii") + "\n")  # style and script are ASCII anyway


def _part(name: str) -> str:
    return resources.files("leakscan.reports").joinpath("page", name).read_text("utf-8")


def _shown(value: Any) -> Any:
    """Text in the page's own markup, where attributes stand in double quotes: an apostrophe stays one."""
    from markupsafe import Markup, escape

    return Markup(str(escape(printable(value))).replace("&#39;", "'")) if type(value) is str else value


def _policy(style: str, script: str) -> str:
    """What the page may do: run its own script, use its own style, and play sound from beside it or from inside it."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_digest(script)}'",
            f"style-src '{_digest(style)}'",
            "media-src 'self' file: data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _island(value: Any) -> str:
    """JSON that cannot end the element it stands in, nor be a command to a CI service."""
    text = json.dumps(value, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text.replace("##", "#\\u0023")


# --- what stands above the table -------------------------------------------------------------------------------------


def _title(report: Report) -> str:
    if report.row is Match:
        return "Recordings found"
    if report.row is Edge:
        between = any(isinstance(row, Edge) and (row.set_a or row.set_b) for row in report.rows)
        return "Audio shared between sets" if between else "Repeated audio"
    return "Findings"


def _facts(report: Report) -> Iterator[tuple[str, str]]:
    for key, value in report.summary.items():
        if not isinstance(value, dict):  # matrices are for the other reports
            yield str(key).replace("_", " "), f"{value:,}" if isinstance(value, int) else str(value)
    seen = report.examined
    if report.row is None:
        for key in ("files", "records", "fields", "audio"):
            if count := getattr(seen, key):
                yield key, f"{count:,}"
    if report.suppressed:
        yield "accepted before", f"{report.suppressed:,}"
    yield "read", f"{seen.bytes / 1e9:,.1f} GB" if seen.bytes >= 1e9 else f"{seen.bytes / 1e6:,.1f} MB"


def _lists(report: Report) -> Iterator[tuple[str, Sequence[str]]]:
    if report.unexamined:
        yield "Not read", [f"{entry.path}: {entry.reason}" for entry in report.unexamined]
    if report.notes:
        yield "Notes", report.notes
    if report.noted:
        yield "Neither judged nor declared", report.noted


# --- the table -------------------------------------------------------------------------------------------------------


class _Names:
    """Names by number: a recording stands in many rows.  An entry is [shown, key, link, seconds]; key null: as shown.

    A name that is shown has no characters that steer; the key is what the reviewed-pairs file says.
    """

    def __init__(self) -> None:
        self.entries: list[list[Any]] = []
        self._numbers: dict[tuple[str, str], int] = {}

    def number(self, role: str, name: str, digest: str, side: Side | None) -> int | None:
        if not name:
            return None
        number = self._numbers.setdefault((role, name), len(self.entries))
        if number == len(self.entries):
            shown, key = printable(name), digest or name
            self.entries.append([shown, None if key == shown else key, "", 0])
        if side is not None:
            self.entries[number][2:] = [side.link, _rounded(side.duration)]
        return number


def _table(report: Report, exhibits: dict[_Row, Exhibit]) -> dict[str, Any]:
    names = _Names()
    rows = [_line(row, exhibits.get(row), names) for row in report.rows]
    return {"kind": "match" if report.row is Match else "edge", "names": names.entries, "rows": rows}


def _line(row: _Row, exhibit: Exhibit | None, names: _Names) -> list[Any]:
    """A row as the script takes it apart; matches have the shape of edges."""
    a, b = (exhibit.a, exhibit.b) if exhibit is not None else (None, None)
    if isinstance(row, Match):
        first: list[Any] = [
            None, "", names.number("a", row.file, _key(row, "a"), a), "",
            names.number("b", row.id, _key(row, "b"), b), row.state,
        ]  # fmt: skip
        covered, flag, keep = (row.coverage_file, row.coverage_reference), row.same_timeline, None
    else:
        first = [
            row.group, printable(row.set_a), names.number("", row.a, _key(row, "a"), a), printable(row.set_b),
            names.number("", row.b, _key(row, "b"), b), row.relation,
        ]  # fmt: skip
        covered, flag = (row.coverage_a, row.coverage_b), row.title_artist_agree
        keep = names.number("", row.keep, "", None)
    figures = (row.score, row.offset_s, row.overlap_s, row.speed, *covered)
    line = [*first, *map(_rounded, figures), flag, keep]
    if exhibit is not None:
        times = (exhibit.pivot, *exhibit.a.span, *exhibit.b.span)
        reason = printable(exhibit.row.reason) if isinstance(exhibit.row, Edge) else ""
        line += [[_rounded(time) for time in times], reason, int(_is_drawn(exhibit))]
    return line


def _key(row: _Row, side: str) -> str:
    return str(getattr(row, f"key_{side}", "") or "")


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3) + 0.0  # no -0.0


# --- exhibits --------------------------------------------------------------------------------------------------------


def _is_drawn(exhibit: Exhibit) -> bool:
    return bool(exhibit.errors or exhibit.a.wave or exhibit.b.wave or exhibit.a.clip or exhibit.b.clip)


def _pictures(exhibit: Exhibit) -> dict[str, Any]:
    return {
        "window": [_rounded(moment) for moment in exhibit.window],
        "errors": _text(exhibit.errors),
        "a": _side(exhibit.a),
        "b": _side(exhibit.b),
    }


def _side(side: Side) -> dict[str, Any]:
    low, high = (int.from_bytes(side.spectrum[first::2]) for first in (0, 1))  # of levels up to 15, four bits suffice
    halves = (low | high << 4).to_bytes(len(side.spectrum) // 2)
    return {
        "outline": _text(side.outline),
        "wave": _text(side.wave),
        "spectrum": _text(halves),
        "clip": _text(side.clip),
        "start": _rounded(side.clip_start),
    }


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
