"""Records keep their declared leaves and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from leakscan.projection import project, rewrite


@pytest.mark.parametrize(
    ("body", "fields", "projected"),
    [
        ({"a": 1, "b": 2}, ["$.a"], {"a": 1}),
        ({"a": {"b": 1, "c": 2}}, ["$.a.b"], {"a": {"b": 1}}),
        ({"a": {"b": 1}}, ["$.a"], {}),  # declared as a leaf
        ({"a": 1}, ["$.a.b"], {}),  # declared as an object
        ({"a": ["x", ["y"], {"z": 1}]}, ["$.a[]"], {"a": ["x"]}),
        ({"a": [{"b": 1, "c": 2}, "x"]}, ["$.a[].b"], {"a": [{"b": 1}]}),
        ({"a": "x"}, ["$.a[]"], {}),
        ({"a b": 1, "a": {"b": 2}}, ["$['a b']"], {"a b": 1}),
        ({"a.b": 1, "a": {"b": 2}}, ["$['a.b']"], {"a.b": 1}),
        ({"a.b": 1, "a": {"b": 2}}, ["$.a.b"], {"a": {"b": 2}}),
        ({"a": None}, ["$.a"], {"a": None}),
        ({"a": 1}, [], {}),
        ({}, ["$.a"], {}),
    ],
)
def test_only_declared_leaves_are_kept(body: Any, fields: list[str], projected: Any) -> None:
    assert project(body, dict.fromkeys(fields)) == projected


def test_rewriting_changes_the_texts_at_one_path_only() -> None:
    body = {"a": [{"b": "x", "c": "x"}, {"b": 1}], "b": "x"}
    assert rewrite(body, "$.a[].b", str.upper) == {"a": [{"b": "X", "c": "x"}, {"b": 1}], "b": "x"}
