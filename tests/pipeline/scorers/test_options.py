import math
import re

import pytest

from pipeline.scorers.answered import FILES, Options
from pipeline.scorers.options import OPTIONS, WANTED, options_of, parser
from pipeline.scorers.validation import InputError

EVERY = [option for group in OPTIONS.values() for option in group]


def test_the_help_has_every_option_once_with_its_default_and_an_example(monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")  # nothing is wrapped
    shown = parser("any").format_help()
    for option in EVERY:
        assert option.help and re.search(r"\(default: [^;]+; example: --\S", option.shown), option.name
        assert shown.count(option.shown) == 1, option.name


@pytest.mark.parametrize("option", EVERY, ids=lambda option: option.name)
def test_its_example_is_taken(option):
    words = option.example.split(",") if option.name == "--dev" else option.example.split()
    parsed = vars(parser().parse_args(["b.json", "m.json", option.name, *words]))
    assert (
        options_of(parsed) != options_of({})
        or option.name[2:] not in Options._fields
        or option.name[2:] in FILES
    )


def test_each_option_of_scoring_can_be_given():
    given = {option.name[2:].replace("-", "_") for option in EVERY}
    assert set(Options._fields) - set(FILES) <= given


def test_what_is_not_given_is_as_the_options_have_it():
    assert options_of({}) == options_of(vars(parser().parse_args(["b.json", "m.json"]))) == Options()
    words = {
        "scores": "realistic, pairs",
        "by": "edit,category",
        "mode": "parity",
        "match": "exact",
        "bootstrap": 0,
    }
    assert options_of(words) == Options(
        ("realistic", "pairs"), ("edit", "category"), mode="parity", match="exact", bootstrap=0
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"threshold": math.nan}, "--threshold is nan, wanted a number"),
        ({"bootstrap": 99_999_999_999_999}, "--bootstrap is 99999999999999, wanted 0 to 1,000,000"),
        ({"by": "weather"}, "--by: no weather; there are category, difficulty, edit"),
        ({"by": ","}, "--by: no name given; there are category, difficulty, edit"),
        ({"scores": ""}, "--scores: no name given; there are abstention"),
        ({"costs": [math.inf]}, "--costs is (inf,), wanted numbers from 0 to 1,000,000"),
    ],
)
def test_what_cannot_be_is_refused(words, expected):
    with pytest.raises(InputError) as caught:
        options_of(words)
    (problem,) = caught.value.problems
    assert problem.startswith(expected)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("mode", ("strict", "parity")),
        ("part", ("test", "dev", "all")),
        ("match", ("exact", "vqa", "squad")),
        ("missing", ("refuse", "wrong", "drop")),
    ],
)
def test_what_a_message_offers_is_taken_and_nothing_else(name, values):
    wanted, fits = WANTED[name]
    assert wanted == " or ".join((", ".join(values[:-1]), values[-1]))
    assert all(fits(value) for value in values) and not any(fits(value.upper()) for value in values)
