"""The page that people look at and listen to: one file, closed to the network, whatever the names in it say.

The second half runs in a headless Chromium, where there is one.
"""

from __future__ import annotations

import base64
import configparser
import hashlib
import io
import json
import os
import random
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import tunes

from leakscan import cli, repeats
from leakscan.exhibits import BANDS, COLUMNS, OUTLINE, Wanted
from leakscan.model import (
    Edge,
    Entry,
    Examined,
    Exhibit,
    Finding,
    LeakscanError,
    Match,
    Place,
    Report,
    Secret,
    Side,
    Unexamined,
)
from leakscan.reports import html

ROOT = Path(__file__).resolve().parent.parent
MARKUP = "</script><img src=x onerror=alert(1)><b>bold"
RELATIONS = ("identical-bytes", "same-recording", "excerpt", "partial", "speed-changed", "related")


def render(report: Report) -> str:
    out = io.StringIO()
    html.render(report, out)
    return out.getvalue()


def exhibit(row: Edge | Match, seed: int = 0, clip: bytes = b"") -> Exhibit:
    rng = random.Random(seed)
    a, b = (
        Side(
            60.0, (2.0 + late, 50.0), f"audio/{seed}.mp3", rng.randbytes(OUTLINE), rng.randbytes(COLUMNS),
            bytes(byte & 15 for byte in rng.randbytes(COLUMNS * BANDS)), clip, late,
        )
        for late in (0.0, 1.0)
    )  # fmt: skip
    errors = bytes(min(255, byte) for byte in rng.randbytes(COLUMNS))
    return Exhibit(row, a, b, 26.0, (0.0, 53.0), errors)


def edges(count: int, drawn: int = 5) -> Report:
    """Made-up pairs: numbers as good as random, names that sort otherwise than rows."""
    rng = random.Random(5)
    rows = []
    for number in range(count):
        relation = RELATIONS[number % len(RELATIONS)]
        group = 0 if relation == "related" else number // 3 + 1
        name = f"set/{rng.randrange(10**7):07d} Herons.mp3"
        rows.append(
            Edge(group, "", name, "", f"b/{number}.mp3", relation, round(rng.random(), 3),  # type: ignore[arg-type]
                 round(rng.uniform(-9, 9), 3), round(rng.uniform(5, 60), 3), 1.0, 0.5, 1.0, None, name,
                 reason="the longest")
        )  # fmt: skip
    shown = tuple(exhibit(row, number) for number, row in enumerate(rows[:drawn]))
    return Report(
        row=Edge, rows=tuple(rows), summary={"files": count}, examined=Examined(count, audio=count), exhibits=shown
    )


# --- the file --------------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """What a browser makes of the markup: elements with attributes, texts, and what scripts and styles hold."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, list[str]] = {}
        self.texts: list[str] = []
        self.within = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self.within = dict(attrs).get("id") or tag

    def handle_endtag(self, tag: str) -> None:
        self.within = ""

    def handle_data(self, data: str) -> None:
        if self.within:
            self.inside.setdefault(self.within, []).append(data)
        self.texts.append(data)

    def held(self, name: str) -> str:
        return "".join(self.inside[name])


def full(text: str = "name") -> Report:
    """A report with this text wherever text from outside can stand."""
    rows = (
        Edge(
            1,
            text,
            f"a/{text}",
            text,
            f"b/{text}",
            "partial",
            0.5,
            1.0,
            9.0,
            1.0,
            0.5,
            0.25,
            False,
            f"a/{text}",
            text,
            text,
            text,
        ),
        Edge(0, text, f"a/{text}", text, f"c/{text}", "related", 0.5, 1.0, 9.0, 1.0, 0.5, 0.25, None, f"a/{text}"),
    )
    made = exhibit(rows[0])
    return Report(
        row=Edge, rows=rows, exhibits=(made,), summary={text: text}, examined=Examined(2), notes=(text,),
        noted=(text,), unexamined=(Unexamined(text, text),), root=text, config=text,
    )  # fmt: skip


def test_the_policy_lets_in_the_page_s_own_script_and_nothing_else() -> None:
    page = Page(render(full()))
    (policy,) = [one["content"] for tag, one in page.elements if tag == "meta" and "http-equiv" in one]
    assert policy is not None
    rules = dict(part.split(" ", 1) for part in policy.split("; "))
    assert rules["default-src"] == "'none'"
    for name, tag in (("script-src", "script"), ("style-src", "style")):
        digest = base64.b64encode(hashlib.sha256(page.held(tag).encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"
    assert rules["media-src"] == "'self' file: data:"
    assert (rules["base-uri"], rules["form-action"]) == ("'none'", "'none'")
    assert rules["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in policy


@pytest.mark.parametrize("report", [full(), full(MARKUP), edges(50), Report(findings=()), Report(row=Match)])
def test_the_page_is_one_file_without_inline_handlers_and_styles(report: Report) -> None:
    text = render(report)
    assert text.isascii()
    page = Page(text)
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "src", "href", "action")]
        assert tag not in ("img", "link", "iframe", "object", "embed", "base", "b" if report.row is None else "i")
    assert set(re.findall(r"\w+://[^\s\"']*", text)) <= {"http://www.w3.org/2000/svg"}  # a name, never fetched
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "XMLHttpRequest"):
        assert way not in text


@pytest.mark.parametrize("text", [MARKUP, "<!--<script>", "]]>&amp;&lt;", "{{ 7*7 }}{% if %}", "\"'`\\"])
def test_text_from_outside_stays_text(text: str) -> None:
    shown = render(full(text))
    page, plain = Page(shown), Page(render(full()))
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in plain.elements]
    data = json.loads(page.held("data"))
    assert [name[0] for name in data["names"]] == [f"{letter}/{text}" for letter in "abc"]
    assert (data["rows"][0][1], data["rows"][0][-2]) == (text, text)
    assert page.texts.count(text) >= 4  # summary, notes, noted: decoded, it is what it was
    assert not set("<>&") & set(page.held("data") + page.held("exhibit-0"))


def test_names_are_shown_without_steering_characters_and_kept_for_the_review() -> None:
    name = "gpj\u202egpj.3pm\udcff"
    row = Edge(1, "", f"a/{name}", "", "b", "partial", 0.5, 0.0, 9.0, 1.0, 1.0, 1.0)
    data = json.loads(Page(render(Report(row=Edge, rows=(row,), examined=Examined(1)))).held("data"))
    assert data["names"][0][:2] == ["a/gpj\\u202egpj.3pm\\udcff", f"a/{name}"]
    assert data["names"][1][:2] == ["b", None]


def test_the_numbers_are_those_of_the_rows() -> None:
    report = edges(7, drawn=2)
    page = Page(render(report))
    data = json.loads(page.held("data"))
    assert data["kind"] == "edge"
    for line, row in zip(data["rows"], report.rows, strict=True):
        assert isinstance(row, Edge)
        group, _, a, _, b, relation, score, offset, overlap, speed, cover_a, cover_b, flag, keep = line[:14]
        assert (group, data["names"][a][0], data["names"][b][0], relation) == (row.group, row.a, row.b, row.relation)
        assert (score, offset, overlap, speed) == (row.score, row.offset_s, row.overlap_s, row.speed)
        assert (cover_a, cover_b, flag, data["names"][keep][0]) == (row.coverage_a, row.coverage_b, None, row.keep)
    assert [line[14:] for line in data["rows"][:3]] == [*[[[26.0, 2.0, 50.0, 3.0, 50.0], "the longest", 1]] * 2, []]
    held, made = json.loads(page.held("exhibit-1")), report.exhibits[1]
    assert held["window"] == [0, 53]
    assert base64.b64decode(held["errors"]) == made.errors
    assert base64.b64decode(held["b"]["wave"]) == made.b.wave
    halves = base64.b64decode(held["a"]["spectrum"])
    assert bytes(level for byte in halves for level in (byte & 15, byte >> 4)) == made.a.spectrum
    assert "exhibit-2" not in page.inside


def test_matches_have_the_shape_of_edges() -> None:
    rows = (
        Match("x.mp3", "X", "matched", True, 0.99, -0.1, 30.0, 1.0, 1.0, 0.5),
        Match("y.mp3", "", "absent"),
        Match("", "Y", "not-found"),
    )
    data = json.loads(Page(render(Report(row=Match, rows=rows, examined=Examined(2)))).held("data"))
    assert data["kind"] == "match"
    assert data["rows"][0] == [None, "", 0, "", 1, "matched", 0.99, -0.1, 30.0, 1.0, 1.0, 0.5, True, None]
    assert [line[2:6:2] for line in data["rows"][1:]] == [[2, None], [None, 3]]


def test_digests_are_the_keys_of_a_review_where_rows_have_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "_key", lambda row, side: f"sha256:{side}")
    data = json.loads(Page(render(edges(1))).held("data"))
    assert [name[1] for name in data["names"]] == ["sha256:a", "sha256:b"]


def test_findings_of_a_scan_are_listed() -> None:
    finding = Finding(
        "stray-hash",
        "error",
        "proven",
        MARKUP,
        Place(MARKUP, 1, name="$.hash"),
        3,
        evidence=Secret("hex", 16, "digits"),
    )
    page = Page(render(Report(findings=(finding,), examined=Examined(1, 3))))
    assert page.texts.count(MARKUP) == 2
    assert {"stray-hash", "$.hash", "3", "hex, 16 digits"} <= set(page.texts)
    assert "script" not in {tag for tag, _ in page.elements}


def test_the_same_report_gives_the_same_bytes() -> None:
    assert render(edges(40)) == render(edges(40))


def test_without_jinja2_it_says_what_to_install_before_the_work(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(LeakscanError, match=r"pip install 'leakscan-audio\[html\]'"):
        render(Report())
    monkeypatch.setattr(repeats, "duplicate_paths", None)
    with pytest.raises(SystemExit) as ended:
        cli.main(["duplicates", str(tmp_path), "--cache", "none", "--format", "html"])
    assert ended.value.code == 2
    assert "leakscan-audio[html]" in capsys.readouterr().err


def test_the_parts_of_the_page_are_in_the_package() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    assert config["options.package_data"]["leakscan.reports"] == "page/*"
    extras = config["options.extras_require"]
    assert "jinja2>=3.1" in extras["html"]
    assert "leakscan-audio[html]" in extras["all"]
    assert {"template.html", "style.css", "script.js"} == {
        one.name for one in (Path(html.__file__).parent / "page").iterdir()
    }


def test_the_command_line_asks_for_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def listed(paths: list[Path], memory: object, wanted: Wanted | None, **rest: object) -> Report:
        asked.append(wanted)
        return edges(3)

    monkeypatch.setattr(repeats, "duplicate_paths", listed)
    out = tmp_path / "report.html"
    for arguments, wanted in (
        (["--format", "csv"], None),
        (["--format", "html"], Wanted(200, False, Path())),
        (["-o", str(out)], Wanted(200, False, tmp_path)),
        (["-o", f"html:{out}", "--embed-audio", "--exhibits", "7"], Wanted(7, True, tmp_path)),
    ):
        with pytest.raises(SystemExit) as ended:
            cli.main(["duplicates", str(tmp_path), "--cache", "none", *arguments])
        assert ended.value.code == 0
        assert asked.pop() == wanted
    assert out.read_text("ascii") == render(edges(3))
    assert capsys.readouterr().out.count("<!doctype html>") == 1


# --- in a browser ----------------------------------------------------------------------------------------------------

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PHONE = {"width": 1440, "height": 900}
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine (apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (the dev extra)")
    with playwright.sync_playwright() as tool:
        started = tool.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--autoplay-policy=no-user-gesture-required"]
        )
        yield started
        started.close()


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens a report from a file; at the end nothing may have been complained of, and nothing but files asked for."""
    said: list[str] = []
    asked: list[str] = []
    contexts = []

    def opened(report: Report | str, expected: str = "", **context: Any) -> Any:
        file = tmp_path / "report.html"
        file.write_text(report if isinstance(report, str) else render(report), "ascii")
        contexts.append(browser.new_context(viewport=PHONE, accept_downloads=True, **context))
        page = contexts[-1].new_page()
        page.on("console", lambda message: (expected and expected in message.text) or said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert said == []
    assert [url for url in asked if not url.startswith((tmp_path.as_uri(), "data:", "blob:"))] == []


def column(page: Any, name: str) -> list[str]:
    return [text.strip() for text in page.locator(f"#body td.{name}").all_inner_texts()]


def chosen(page: Any) -> str:
    return str(
        page.locator("#body tr[aria-selected=true] .b + bdi, #body tr[aria-selected=true] .b ~ .base").last.inner_text()
    )


def test_it_opens_with_the_first_pair_and_asks_for_nothing(show: Open, tmp_path: Path) -> None:
    page = show(full())
    assert page.locator("h1").inner_text() == "Audio shared between sets"
    assert page.locator("#body tr:not(.space)").count() == 2
    assert page.locator("#exhibit h2").inner_text() == "partial"
    assert page.locator("#timelines svg.whole rect.bar").count() == 2
    assert page.locator("#shared canvas").count() == 2
    assert page.locator("#shared svg.errors path.differs").get_attribute("d").count("M") > 100
    entries = page.evaluate("performance.getEntriesByType('resource').map((one) => one.name)")
    assert entries == []


def test_nothing_to_show_is_said(show: Open) -> None:
    page = show(Report(row=Edge, examined=Examined(1)))
    assert page.locator("#none").is_visible()
    assert page.locator("#exhibit").inner_text() == "There are no pairs."


def test_columns_sort_up_down_and_back(show: Open) -> None:
    report = edges(12)
    page = show(report)
    plain = column(page, "score")
    head = page.locator("#columns th.score button")
    head.click()
    assert column(page, "score") == sorted(plain)
    assert page.locator("#columns th.score").get_attribute("aria-sort") == "ascending"
    head.click()
    assert column(page, "score") == sorted(plain, reverse=True)
    head.click()
    assert column(page, "score") == plain
    page.locator("#columns th.names button").click()
    names = [text.split()[1] for text in column(page, "names")]
    assert names == sorted(names)
    page.locator("#columns th.group button").click()
    groups = column(page, "group")
    assert groups[-2:] == ["\u2013", "\u2013"]  # what belongs to no group stands last


def test_search_kinds_and_review_narrow_the_table(show: Open) -> None:
    page = show(edges(60))
    count = page.locator("#count")
    assert count.inner_text() == "60 of 60 pairs"
    page.locator("#search").fill("b/17.MP3 herons")
    assert count.inner_text() == "1 of 60 pairs"
    page.locator("#search").fill("#3")
    assert set(column(page, "group")) == {"#3"}
    page.locator("#search").fill("nowhere")
    assert page.locator("#none").is_visible()
    page.locator("#search").fill("")
    page.locator("#chips button", has_text="related").click()
    assert count.inner_text() == "50 of 60 pairs"
    assert "related" not in column(page, "relation")
    page.locator("#chips button", has_text="related").click()
    page.keyboard.press("s")
    page.locator("#review").select_option("open")
    assert count.inner_text() == "59 of 60 pairs"
    page.locator("#review").select_option("same")
    assert count.inner_text() == "1 of 60 pairs"
    page.evaluate("window.onbeforeunload = null")


def test_keys_move_open_and_leave(show: Open) -> None:
    page = show(edges(300))
    assert chosen(page) == "0.mp3"
    for key in ("j", "ArrowDown", "j", "k"):
        page.keyboard.press(key)
    assert chosen(page) == "2.mp3"
    assert page.evaluate("document.activeElement.getAttribute('aria-rowindex')") == "4"
    page.keyboard.press("End")
    assert chosen(page) == "299.mp3"
    assert page.locator("#body tr[aria-selected=true]").is_visible()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "exhibit"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.getAttribute('aria-rowindex')") == "2"
    page.keyboard.press("/")
    page.keyboard.type("jks")
    assert (page.locator("#search").input_value(), page.locator("#export").is_disabled()) == ("jks", True)
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#help").is_visible()


def test_a_narrow_window_keeps_room_for_names(show: Open) -> None:
    page = show(edges(5))
    page.set_viewport_size({"width": 420, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    assert page.locator("#body td.names").first.bounding_box()["width"] > 160
    assert [page.locator(f"#body td.{name}").first.is_visible() for name in ("relation", "score")] == [True, False]


def test_every_control_has_a_name(show: Open) -> None:
    page = show(edges(5))
    nameless = page.evaluate(
        """[...document.querySelectorAll('button, input, select, [role=img], [role=grid]')].filter((one) => !(
           one.getAttribute('aria-label') || one.textContent.trim() || one.closest('label'))).map((one) => one.id)"""
    )
    assert nameless == []


def test_names_with_markup_stay_text(show: Open) -> None:
    page = show(full(MARKUP))
    page.wait_for_timeout(100)
    assert page.locator("img").count() == 0
    assert page.locator("#body tr").nth(1).locator(".name .base").first.inner_text() == MARKUP.rpartition("/")[2]
    assert page.locator("#body tr").nth(1).locator(".name").first.get_attribute("title") == f"a/{MARKUP}"
    assert MARKUP in page.locator(".facts").inner_text()
    assert page.locator(".lists li bdi").first.text_content() == f"{MARKUP}: {MARKUP}"


def test_text_has_contrast(show: Open) -> None:
    """WCAG AA, 4.5 to 1, on paper and on raised surfaces, by day and by night."""
    for scheme in ("light", "dark"):
        page = show(edges(3), color_scheme=scheme)
        colours = page.evaluate(
            """Object.fromEntries(
               ['paper', 'raised', 'tint', 'chosen', 'ink', 'soft', 'a', 'b', 'same', 'different', 'alarm'].map(
               (name) => [name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()]))"""
        )
        assert (luminance(colours["paper"]) > 0.5) is (scheme == "light")
        for surface in ("paper", "raised", "tint", "chosen"):
            for name in ("ink", "soft", "a", "b", "same", "different", "alarm"):
                dark, light = sorted((luminance(colours[surface]), luminance(colours[name])))
                assert (light + 0.05) / (dark + 0.05) >= 4.5, (scheme, surface, name)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_a_review_is_exported_loaded_and_changed(show: Open, tmp_path: Path) -> None:
    report = edges(9)
    page = show(report)
    page.keyboard.press("s")
    page.locator("#why").fill('heard it: "same" <take>')
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.locator(".judge button.different").click()
    page.keyboard.press("j")
    page.keyboard.press("d")
    page.keyboard.press("u")
    assert page.locator("#export").inner_text() == "Export review (2)"
    with page.expect_download() as download:
        page.locator("#export").click()
    assert download.value.suggested_filename == "reviewed-pairs.json"
    download.value.save_as(tmp_path / "reviewed.json")
    first, second = report.rows[:2]
    assert isinstance(first, Edge)
    assert isinstance(second, Edge)
    assert json.loads((tmp_path / "reviewed.json").read_text("utf-8")) == {
        "leakscan_reviewed": 1,
        "pairs": [
            {"a": first.a, "b": first.b, "verdict": "same", "reason": 'heard it: "same" <take>'},
            {"a": second.a, "b": second.b, "verdict": "different", "reason": ""},
        ],
    }

    again = show(report)
    again.locator("#import").set_input_files(tmp_path / "reviewed.json")
    again.locator("#export", has_text="(2)").wait_for()
    assert "2 of 2 verdicts loaded" in again.locator("#count").inner_text()
    assert again.locator("#why").input_value() == 'heard it: "same" <take>'
    assert column(again, "verdict")[:3] == ["=", "\u2260", ""]
    (tmp_path / "other.json").write_text('{"pairs": 7}')
    again.locator("#import").set_input_files(tmp_path / "other.json")
    again.locator("#count", has_text="no review").wait_for()


# --- sound -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> list[Entry]:
    """A song, and 15 s of it from 12 s on, in a file whose name is not a URL."""
    folder = tmp_path_factory.mktemp("shelf")
    song = tunes.write(folder / "song #1 50% off.wav", tunes.music(1, 40))
    part = tunes.encode(song, folder / "part?.ogg", "-ss", "12", "-t", "15", "-c:a", "libvorbis")
    return [Entry(path.name, path, path.stat().st_size) for path in (part, song)]


def times(page: Any) -> tuple[float, float]:
    a, b = page.evaluate("[...document.querySelectorAll('audio')].map((one) => one.currentTime)")
    return a, b


def playing(page: Any) -> None:
    page.wait_for_function(
        "() => [...document.querySelectorAll('audio')].every((one) => !one.paused && !one.seeking && one.currentTime)"
    )


def muted(page: Any) -> list[bool]:
    return list(page.evaluate("[...document.querySelectorAll('audio')].map((one) => one.muted)"))


def test_both_sides_play_from_the_same_moment_of_the_music(show: Open, tmp_path: Path, shelf: list[Entry]) -> None:
    files = []
    for one in shelf:  # beside the report, which may ask for nothing outside of its folder here
        copied = tmp_path / "audio" / one.path
        copied.parent.mkdir(exist_ok=True)
        shutil.copy(one.file, copied)
        files.append(replace(one, file=copied))
    page = show(repeats.duplicates(files, None, Wanted(base=tmp_path)))
    assert page.evaluate("[...document.querySelectorAll('audio')].map((one) => one.networkState)") == [0, 0]  # no load
    page.keyboard.press(" ")
    playing(page)
    a, b = times(page)
    assert b - a == pytest.approx(12, abs=0.25)
    assert a < 5
    assert muted(page) == [False, True]
    page.keyboard.press("b")
    assert muted(page) == [True, False]
    page.keyboard.press("ArrowRight")
    playing(page)
    later, _ = times(page)
    assert later > a + 1.5
    page.keyboard.press(" ")
    assert page.evaluate("[...document.querySelectorAll('audio')].every((one) => one.paused)")
    assert page.locator("#play").inner_text() == "Play"

    box = page.locator("#timelines .stage").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + 20)  # the middle of the longer one: 20 s of B
    assert page.locator("#clock").inner_text() == "A 0:08.0, B 0:20.0"
    page.keyboard.press(" ")
    playing(page)
    a, b = times(page)
    assert 7.9 <= a < 12
    assert b - a == pytest.approx(12, abs=0.25)
    page.locator("#play", has_text="Pause").click()


def test_of_a_match_the_file_is_heard(show: Open, tmp_path: Path) -> None:
    row = Match("x.wav", "REF-1", "matched", False, 0.99, -12.0, 15.0, 1.0, 1.0, 0.4)
    made = Exhibit(row, Side(15.0, (0.0, 15.0), "x.wav"), Side(40.0, (12.0, 27.0)), 7.5, (0.0, 16.0), bytes(COLUMNS))
    tunes.write(tmp_path / "x.wav", tunes.music(2, 15))
    other = Match("", "REF-2", "not-found")
    page = show(Report(row=Match, rows=(row, other), examined=Examined(1), exhibits=(made,)))
    assert page.locator("#exhibit h2").inner_text() == "matched"
    assert page.locator(".switch button").nth(1).is_disabled()
    page.keyboard.press("b")
    page.keyboard.press(" ")
    page.wait_for_function("() => document.querySelector('audio').currentTime > 0.2")
    assert muted(page)[0] is False
    page.keyboard.press("j")
    assert page.locator("#exhibit h2").inner_text() == "not found"
    assert page.evaluate("document.querySelector('audio').paused")
    assert page.locator("#play").count() == 0


def test_embedded_clips_play_without_any_file(show: Open, tmp_path: Path, shelf: list[Entry]) -> None:
    report = repeats.duplicates(shelf, None, Wanted(embed=True))
    page = show(report)
    assert page.locator("#clock").inner_text() == "A 0:00.0, B 0:12.0"
    page.locator("#play").click()
    playing(page)
    a, b = times(page)
    assert abs(a - b) < 0.25  # the clip of B starts at 12 s
    assert page.evaluate("document.querySelector('audio').src.slice(0, 23)") == "data:audio/mpeg;base64,"
    page.locator("#play").click()


def test_a_file_that_is_not_there_is_said(show: Open) -> None:
    page = show(edges(1), expected="ERR_FILE_NOT_FOUND")
    page.locator("#play").click()
    page.locator("#problem", has_text="cannot be played").wait_for()
    assert page.locator("#play").inner_text() == "Play"


# --- many pairs, night, paper ----------------------------------------------------------------------------------------

_SCROLL = """async () => {
  const place = document.getElementById('scroller'), end = place.scrollHeight;
  let worked = 0, most = 0;
  for (let step = 1; step <= 20; step++) {
    const start = performance.now();
    place.scrollTop = (end * step * 7 / 20) % end;
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    worked += performance.now() - start;
    most = Math.max(most, document.querySelectorAll('#body tr').length);
  }
  return [worked, most];
}"""


def test_ten_thousand_pairs_stay_smooth(show: Open) -> None:
    def measured(count: int) -> tuple[float, float, float]:
        first, scroll, rows = [], [], 0.0
        text = render(edges(count))
        for _ in range(2):
            page = show(text)
            first.append(page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"))
            worked, rows = page.evaluate(_SCROLL)
            scroll.append(worked)
            page.keyboard.press("End")
            assert chosen(page) == f"{count - 1}.mp3"
        return min(first), min(scroll), rows

    few, many = measured(200), measured(10_000)
    assert many[2] == few[2] < 60  # rows that exist at a time
    assert many[0] < 20 * few[0], (few, many)  # until the table is there
    assert many[1] < 3 * few[1], (few, many)  # scrolling


def darkness(page: Any) -> float:
    """How dark the page is, 0 to 1, as a picture of it has it."""
    colour = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    parts = [int(part) for part in re.findall(r"\d+", colour)[:3]]
    return 1 - sum(parts) / 765


def test_by_night_and_on_paper(show: Open, tmp_path: Path) -> None:
    day, night = show(edges(80)), show(edges(80), color_scheme="dark")
    assert darkness(day) < 0.1 < 0.8 < darkness(night)
    pictures = [page.screenshot() for page in (day, night)]
    assert pictures[0] != pictures[1]
    ink = "getComputedStyle(document.documentElement).getPropertyValue('--a').trim()"
    by_night = night.evaluate(ink)
    night.emulate_media(media="print")
    night.wait_for_function(
        "() => document.querySelectorAll('#body tr:not(.space)').length === 80"
    )  # all, not those in sight
    assert darkness(night) == 0
    assert night.evaluate(ink) != by_night
    assert not night.locator(".tools").is_visible()
    assert not night.locator("#play").is_visible()
    assert night.locator("#shared canvas").first.is_visible()
    assert len(day.pdf()) > 20_000
    keep = os.environ.get("LEAKSCAN_SCREENSHOTS")
    if keep:
        night.screenshot(path=Path(keep) / "print.png", full_page=True)
