"""The README is held against the program: what it shows is what users get."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from leakscan import config, evaluator, rulebook, scanning
from leakscan.cli import cli

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_every_command_is_documented(name: str) -> None:
    assert re.search(rf"leakscan(?:`)? {name}\b|`{name}\b", README)
    assert cli.commands[name].help


def test_every_option_has_help() -> None:
    silent = [
        f"{name} {option.opts[0]}"
        for name, command in cli.commands.items()
        for option in command.params
        if option.param_type_name == "option" and not getattr(option, "help", None)
    ]

    assert silent == []


def test_configuration_example() -> None:
    settings = config.parse(tomllib.loads(BLOCKS[0]), Path("leakscan.toml"))

    assert settings.profile == "mub"
    rules = {rule.id for rule in rulebook.load()}
    assert {waiver.rule for waiver in settings.waivers} <= rules


def test_table_of_field_keys_is_complete() -> None:
    table = README[README.index("| key of a field |") :].partition("\n\n")[0]
    named = {key for line in table.splitlines()[2:] for key in re.findall(r"`(\w+)`", line.split("|")[1])}

    assert named == set(config.FieldSpec.__dataclass_fields__)


def test_evaluator_example(tmp_path: Path) -> None:
    (tmp_path / "evaluator.toml").write_text(BLOCKS[1])
    (tmp_path / "gold.csv").write_text("id,tempo,key,metre\n1,120,C,4/4\n")
    (tmp_path / "catalogue.csv").write_text("id,title,artist,album,isrc\n1,a,b,c,d\n")
    (tmp_path / "audio").mkdir()
    (tmp_path / "leakscan.key").write_bytes(bytes(32))

    private = evaluator.load(tmp_path / "evaluator.toml")

    assert private.gold == {"1": {"tempo": "120", "key": "C", "metre": "4/4"}}


def test_rule_example(tmp_path: Path) -> None:
    file = tmp_path / "take-number.toml"
    file.write_text(BLOCKS[2])

    rule = rulebook.read_rule(file)

    assert [finding.rule for finding in scanning.try_example(rule.bad[0], [rule]).findings] == ["take-number"]
    assert scanning.try_example(rule.good[0], [rule]).findings == ()


def test_shown_finding_is_a_real_one() -> None:
    golden = (ROOT / "fixtures" / "releases" / "mub-leaky.golden.text").read_text()
    shown = re.search(r"<!-- golden -->\n\n((?:    .*\n)+)", README)

    assert shown is not None
    assert re.sub("^    ", "", shown[1], flags=re.MULTILINE).strip() in golden
