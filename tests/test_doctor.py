"""`leakscan doctor` names what is there, what is missing and what to do; its verdict decides the exit status."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from leakscan import config, doctor, media
from leakscan.doctor import Row
from leakscan.model import LeakscanError


def rows(what: str) -> list[Row]:
    return [row for row in doctor.diagnose() if row.what == what]


def test_this_machine_is_usable() -> None:
    found = doctor.diagnose()
    assert [row for row in found if row.state == "missing"] == []
    assert doctor.status(found) == 0
    assert doctor.page(found).endswith("\nleakscan is ready\n")


def test_the_page_is_one_page_of_plain_lines() -> None:
    page = doctor.page(doctor.diagnose())
    assert len(page.splitlines()) < 50
    assert all(character.isprintable() for character in page.replace("\n", ""))


def test_every_hard_dependency_is_a_row_with_its_version() -> None:
    assert rows("mutagen") == [Row("mutagen", "ok", metadata.version("mutagen"))]
    assert rows("google-re2") == [Row("google-re2", "ok", metadata.version("google-re2"))]
    assert rows("pytest") == []  # dev is nobody's business here


def installed(monkeypatch: pytest.MonkeyPatch, versions: dict[str, str], requires: list[str]) -> None:
    """Pretend that exactly these distributions are installed."""

    def version(name: str) -> str:
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(metadata, "requires", lambda name: version(name) and requires)


def test_a_missing_dependency_makes_leakscan_unusable(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, {"leakscan-audio": "0.1.0"}, ["mutagen>=1.47"])
    found = doctor.diagnose()
    assert Row("mutagen", "missing", "pip install 'mutagen>=1.47'") in found
    assert doctor.status(found) == 3
    assert doctor.page(found).endswith("\nleakscan is not usable yet, missing: mutagen\n")


def test_an_extra_that_is_absent_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, {"leakscan-audio": "0.1.0"}, ['imageio-ffmpeg>=0.8; extra == "ffmpeg"'])
    found = doctor.diagnose()
    assert Row("imageio-ffmpeg", "absent", "optional; pip install 'leakscan-audio[ffmpeg]'") in found
    assert doctor.status(found) == 0


def test_a_checkout_that_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, {}, [])
    assert [row.state for row in rows("leakscan")] == ["warning"]


class Distribution:
    def __init__(self, name: str) -> None:
        self.metadata = {"Name": name}


def test_the_other_leakscan_is_warned_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "packages_distributions", dict)
    monkeypatch.setattr(metadata, "distributions", lambda: [Distribution("leakscan-audio")])
    assert rows("leakscan (other)") == []
    monkeypatch.setattr(metadata, "distributions", lambda: [Distribution("leakscan-audio"), Distribution("LeakScan")])
    (row,) = rows("leakscan (other)")
    assert row.state == "warning"
    assert "use leakscan-audio" in row.detail


def test_a_package_that_overwrites_another_is_warned_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "packages_distributions", lambda: {"ffmpeg": ["ffmpeg-python", "python_ffmpeg"]})
    (row,) = rows("python-ffmpeg")
    assert row.state == "warning"
    assert "pip uninstall python-ffmpeg" in row.detail


def test_without_a_suitable_ffmpeg_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing() -> media.Ffmpeg:
        raise LeakscanError("no ffmpeg with the chromaprint muxer found; install one")

    monkeypatch.setattr(media, "find_ffmpeg", nothing)
    monkeypatch.setattr(media, "candidates", lambda: [("system", "/usr/bin/ffmpeg", "no chromaprint muxer")])
    found = doctor.diagnose()
    assert Row("ffmpeg", "missing", "no ffmpeg with the chromaprint muxer found; install one") in found
    assert Row("ffmpeg (system)", "absent", "/usr/bin/ffmpeg: no chromaprint muxer; not in use") in found
    assert doctor.status(found) == 3


def test_the_ffmpeg_in_use_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(media, "find_ffmpeg", lambda: media.Ffmpeg("/b/ffmpeg", "9", "imageio-ffmpeg"))
    monkeypatch.setattr(
        media, "candidates", lambda: [("system", None, "not installed"), ("imageio-ffmpeg", "/b/ffmpeg", "version 9")]
    )
    assert rows("ffmpeg (imageio-ffmpeg)") == [Row("ffmpeg (imageio-ffmpeg)", "ok", "/b/ffmpeg: version 9; in use")]
    assert rows("ffmpeg (system)") == [Row("ffmpeg (system)", "absent", "not installed")]


def test_an_ffmpeg_that_needs_the_library_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = "version 9 was built without the chromaprint muxer"
    monkeypatch.setattr(media, "find_ffmpeg", lambda: media.Ffmpeg("/b/ffmpeg", "9", "system", muxer=False))
    monkeypatch.setattr(media, "candidates", lambda: [("system", "/b/ffmpeg", verdict)])
    detail = f"/b/ffmpeg: {verdict}; in use, its samples go into libchromaprint"
    assert rows("ffmpeg (system)") == [Row("ffmpeg (system)", "ok", detail)]


def test_no_rules_means_no_verdicts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(config, "rules_folder", lambda: tmp_path)
    assert [row.state for row in rows("rules")] == ["missing"]
    (tmp_path / "stray-hash.toml").write_text("")
    assert rows("rules") == [Row("rules", "ok", f"1 in {tmp_path}")]
