import math
import os
import re

import pytest

from pipeline.core.errors import UserError
from pipeline.scoring.cli_options import OPTION_GROUPS, VALUE_CHECKS, build_parser, parse_options
from pipeline.scoring.joined_predictions import FILE_OPTIONS, ScoringOptions
from tests.scoring.conftest import predictions, refused, run, write

EVERY = [option for group in OPTION_GROUPS.values() for option in group]


def test_the_help_has_every_option_once_with_its_default_and_an_example(monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")  # nothing is wrapped
    shown = build_parser("any").format_help()
    for option in EVERY:
        assert option.help and re.search(r"\(default: [^;]+; example: --\S", option.help_text), option.name
        assert shown.count(option.help_text) == 1, option.name


@pytest.mark.parametrize("option", EVERY, ids=lambda option: option.name)
def test_its_example_is_taken(option):
    words = option.example.split(",") if option.name == "--validation" else option.example.split()
    parsed = vars(build_parser().parse_args(["b.json", "m.json", option.name, *words]))
    assert (
        parse_options(parsed) != parse_options({})
        or option.name[2:] not in ScoringOptions._fields
        or option.name[2:] in FILE_OPTIONS
    )


def test_each_option_of_scoring_can_be_given():
    given = {option.name[2:].replace("-", "_") for option in EVERY}
    assert set(ScoringOptions._fields) - set(FILE_OPTIONS) <= given


def test_what_is_not_given_is_as_the_options_have_it():
    assert (
        parse_options({})
        == parse_options(vars(build_parser().parse_args(["b.json", "m.json"])))
        == ScoringOptions()
    )
    words = {
        "scores": "realistic, pairs",
        "group_by": "edit,category",
        "mode": "published",
        "match": "exact",
        "bootstrap": 0,
    }
    assert parse_options(words) == ScoringOptions(
        ("realistic", "pairs"), ("edit", "category"), mode="published", match="exact", bootstrap=0
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"threshold": math.nan}, "--threshold is nan, expected a number"),
        ({"bootstrap": 99_999_999_999_999}, "--bootstrap is 99999999999999, expected 0 to 1,000,000"),
        ({"group_by": "weather"}, "--group-by: no weather; there are category, difficulty, edit"),
        ({"group_by": ","}, "--group-by: no name given; there are category, difficulty, edit"),
        ({"scores": ""}, "--scores: no name given; there are abstention"),
        ({"costs": [math.inf]}, "--costs is (inf,), expected numbers from 0 to 1,000,000"),
    ],
)
def test_what_cannot_be_is_refused(words, expected):
    with pytest.raises(UserError) as caught:
        parse_options(words)
    (problem,) = caught.value.problems
    assert problem.startswith(expected)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("mode", ("strict", "published")),
        ("split", ("test", "validation", "all")),
        ("match", ("exact", "vqa", "squad")),
        ("missing", ("error", "wrong", "drop")),
    ],
)
def test_only_what_a_message_suggests_is_accepted(name, values):
    wanted, fits = VALUE_CHECKS[name]
    assert wanted == " or ".join((", ".join(values[:-1]), values[-1]))
    assert all(fits(value) for value in values) and not any(fits(value.upper()) for value in values)


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("--bootstrap 0 --seed 3", "--seed"),
        ("--mode published --match squad", "--match"),
        ("--mode published --split validation", "--split"),
        ("--mode published --bootstrap 50", "--bootstrap"),
        ("--risks 0.3", "--risks"),
        ("--costs 5 --scores pairs", "--costs"),
        ("--threshold 0.3 --split test", "--threshold"),
        ("--threshold 0.3 --split all --scores realistic", "--threshold"),
        ("--resource all-questions=FILE", "--resource all-questions"),
    ],
)
def test_an_option_without_effect_is_refused_by_name(release, tmp_path, capsys, words, option):
    model = write(tmp_path / "m.json", predictions())
    (tmp_path / "q.json").write_text("{}")
    told = refused(capsys, release, model, *words.replace("FILE", str(tmp_path / "q.json")).split())
    assert f"{option} has no effect: " in told and len(told.splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [
        "--costs 5 --full",
        "--risks 0.3 --json s.json",
        "--threshold 0.3 --split all",
        "--threshold 0.3 --split validation",
        "--mode published",
    ],
)
def test_an_option_with_an_effect_is_taken(release, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    bootstrap = [] if "published" in words else ["--bootstrap", "0"]
    run(release, write(tmp_path / "m.json", predictions()), *words.split(), *bootstrap)


def test_a_benchmark_without_splits_has_none_to_choose(release, tmp_path, capsys):
    model = write(tmp_path / "m.json", predictions())
    told = refused(capsys, release / "rgqa/pt-hard.json", model, "--split", "test")
    assert "--split has no effect" in told


def everything(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "words",
    [
        "--json m.json",
        "--json ./1.0.0/../m.json",
        "--json link.json",
        "--json hard.json",
        "--json m.json/s.json",
        "--json 1.0.0/provenance.jsonl",
        "--json 1.0.0/rgqa/pt-hard.json",
        "--json validation.json --validation validation.json",
        "--json judge.json --abstention-labels judge.json",
        "--json same.json --synonyms same.json",
        "--json e.json --exclude-errata e.json",
        "--json 1.0.0/errata.json --exclude-errata auto",
        "--json log.json --resource run-log=log.json",
        "--out old --resource human-judgments=old/scores.json",
        "--json new/scores.json --out new",
        "--json new --out new",
        "--json new --table ./new",
        "--json p/a --plots p/a",
        "--table pipe/t.csv",
        "--out 1.0.0/params.json/a",
        "--json pipe",
        "--out pipe",
        "--json /dev/null",
    ],
)
def test_it_is_refused_before_anything_is_written(release, tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "m.json", predictions())
    (tmp_path / "link.json").symlink_to("m.json")
    os.link(tmp_path / "m.json", tmp_path / "hard.json")
    os.mkfifo(tmp_path / "pipe")
    before = everything(tmp_path)
    said = refused(capsys, "1.0.0", "m.json", *words.split())
    assert re.search(r"--(json|out|plots|table) \S+: ", said)
    assert everything(tmp_path) == before


def test_outputs_beside_inputs_are_written_and_replaced(release, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "m.json", predictions())
    for _ in range(2):
        run("1.0.0", "m.json", "--bootstrap", 0, "--json", "out/s.json", "--out", "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"s.json", "scores.json", "scores.txt"}
