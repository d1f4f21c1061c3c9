"""YAML is read like by DVC, and refused if readers differ: PyYAML (YAML 1.1) and ruamel.yaml (1.2), which DVC uses."""

import math
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from pipeline.core.errors import UserError
from pipeline.core.strict_yaml import parse_yaml

SCALARS = [
    "010",
    "08",
    "0o10",
    "1e3",
    "1.0e3",
    "-.5e-3",
    "1_000",
    "0b1",
    "yes",
    "on",
    "NO",
    "Off",
    "12:30",
    "1:30.5",
    "2023-10-01",
    "=",
    "<<",
]


@pytest.mark.parametrize("text", SCALARS)
def test_ambiguous_values_are_refused_with_their_line(text):
    with pytest.raises(UserError) as caught:
        parse_yaml(f"a: 1\nb: {text}\n", "params.yaml")
    assert caught.value.problems[1].startswith(f"line 2: {text} does not mean the same to all YAML readers")


def same(one: Any, other: Any) -> bool:
    both_nan = isinstance(one, float) and isinstance(other, float) and math.isnan(one) and math.isnan(other)
    return both_nan or (type(one) is type(other) and one == other)


@given(st.text("0123456789+-._xobeEnaif:~yYoNulTrFs ", max_size=8))
@example("1.5e+3")
@example(".inf")
@example("0x1F")
@example("~")
@example("")
@example("+5")
@example("5.")
@example("08_")
@example("-_1")
@example("+._")
@example("0o_")
def test_accepted_values_are_the_same_in_both_versions(text):
    try:
        read = parse_yaml(f"a: {text}", "x")["a"]
    except UserError:
        return
    assert same(read, yaml.safe_load(f"a: {text}")["a"])
    try:
        assert same(read, YAML(typ="safe", pure=True).load(f"a: {text}")["a"])
    # ruamel refuses more texts. Then DVC reports them.
    except YAMLError:
        return


def test_quoted_texts_and_plain_words_are_never_refused():
    text = "a: '010'\nb: \"yes\"\nc: maybe\nd: [1, 2.5, true, null]\ne: local-dir:data/x/clip\n"
    assert parse_yaml(text, "x") == {
        "a": "010",
        "b": "yes",
        "c": "maybe",
        "d": [1, 2.5, True, None],
        "e": "local-dir:data/x/clip",
    }


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a: 1\nb: 2\na: 3\n", "line 3: the key a occurs twice; keep one"),
        ("a: {b: 1, c: 2, b: 3}\n", "line 1: the key b occurs twice; keep one"),
        ("true: 1\n", "line 1: the key true is not a string; put it in quotes"),
        ("7: 1\n", "line 1: the key 7 is not a string; put it in quotes"),
        ("? [a, b]\n: 1\n", "line 1: the key in brackets is not a string"),
        ("{a: 1}: 1\n", "line 1: the key in brackets is not a string"),
    ],
)
def test_keys_are_strings_and_unique(text, fault):
    with pytest.raises(UserError) as caught:
        parse_yaml(text, "params.yaml")
    assert caught.value.problems[0] == "params.yaml: 1 problem"
    assert caught.value.problems[1].startswith(fault)


def test_all_problems_are_reported_together():
    with pytest.raises(UserError) as caught:
        parse_yaml("seed: 010\non: {x: 1, x: 2}\nlate: 1e3\n", "params.yaml")
    # `on` is a boolean in YAML 1.1 and a string in 1.2.
    assert caught.value.problems[0] == "params.yaml: 4 problems"
    assert [line.split(":")[0] for line in caught.value.problems] == [
        "params.yaml",
        "line 1",
        "line 2",
        "line 2",
        "line 3",
    ]


@pytest.mark.parametrize("text", ["[" * 3000, "a: \x00", "a: &b [*b]\n: :", "{"])
def test_invalid_yaml_is_reported(text):
    with pytest.raises(UserError, match="not valid YAML"):
        parse_yaml(text, "params.yaml")


def test_a_recursive_alias_is_checked_once():
    assert len(parse_yaml("a: &b [*b, 1]", "x")["a"]) == 2


def test_no_python_objects_are_constructed():
    with pytest.raises(UserError):
        parse_yaml("a: !!python/object/apply:os.getcwd []", "x")


@pytest.mark.parametrize("text", ['a: "x \\ud800"', '"\\udfff": 1', 'a: ["\\ud83d"]', 'a: {b: "\\uDC00"}'])
def test_half_a_character_is_refused_with_its_line(text):
    with pytest.raises(UserError, match="line 1: .*half of a character"):
        parse_yaml(text, "params.yaml")
