"""The command `rgqa-score` and its options."""

import json
import math
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.scoring.cli import format_json, load_inputs
from pipeline.scoring.cli_options import OPTION_GROUPS, VALUE_CHECKS, build_parser, parse_options
from pipeline.scoring.joined_predictions import FILE_OPTIONS, ScoringOptions
from pipeline.scoring.model_report import SCORE_GROUPS, score_models
from pipeline.scoring.version import VERSION
from tests.scoring.conftest import predictions, refused, run, scored, write

# Command line
# Files in, table and JSON out, and every fault at once.


def test_table_and_json_are_printed_and_written(release, tmp_path, capsys):
    model = write(tmp_path / "m.json", predictions())
    words = "--bootstrap", 50, "--json", tmp_path / "s.json", "--out", tmp_path / "out"
    run(release, model, *words, "--full")
    assert (tmp_path / "out" / "scores.json").read_text() == (tmp_path / "s.json").read_text()
    assert capsys.readouterr().out == (tmp_path / "out" / "scores.txt").read_text()
    run(release, model, *words)
    assert "dual accuracy" in (screen := capsys.readouterr().out) and "risk-coverage AUC" not in screen
    assert "risk-coverage AUC" in (tmp_path / "out" / "scores.txt").read_text()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["scores.json", "scores.txt"]


def test_every_fault_of_options_and_files_is_said_at_once(release, tmp_path, capsys):
    bad = write(tmp_path / "m.json", [{"questionId": "a1", "prediction": "red", "confidence": math.nan}])
    words = [
        "--mode",
        "loose",
        "--match",
        "fuzzy",
        "--scores",
        "nope",
        "--group-by",
        "weather",
        "--bootstrap",
        -1,
        "--seed",
        -2,
    ]
    study = write(tmp_path / "h.json", [{"question_id": "a1", "accepted": "yes"}])
    text = refused(
        capsys,
        release,
        bad,
        tmp_path / "none.json",
        "--subset",
        "x",
        "--resource",
        f"human-judgments={study}",
        "--resource",
        f"wordnet={tmp_path}",
        "--resource",
        "nothing=x",
        "--plots",
        tmp_path / "plots",
        *words,
    )
    for expected in (
        "--mode is 'loose', expected strict or published",
        "--match is 'fuzzy', expected exact, vqa or squad",
        "--bootstrap is -1, expected 0 to 1,000,000",
        "--seed is -2, expected 0 to 4,294,967,295",
        "--scores: no nope; there are abstention, answerability",
        "--group-by: no weather; there are category, difficulty, edit, structural, semantic, detailed",
        "--resource nothing=x: expected NAME=FILE, NAME one of word-vectors, wordnet",
        "--plots: not available in rgqa-score",
        "no subset x; there are clip-easy, pt-hard",
        "none.json: no such file",
        "m.json: 1 fault",
        "(a1): confidence is nan",
        "human study, judgment 1: expected an object",
        "no data.noun in it",
    ):
        assert expected in text


def test_of_many_problems_of_a_kind_five_are_shown(release, tmp_path, capsys):
    rows = [{"prediction": "x"}] * 150
    text = refused(capsys, release, write(tmp_path / "m.json", rows)).splitlines()
    # how many there are, five rows, 145 more, and 6 items without a prediction
    assert text[0].startswith("error: cannot score") and "m.json: 150 faults" in text[1]
    assert [line.strip()[:6] for line in text[2:7]] == [f"row {n}:" for n in range(1, 6)]
    assert text[7] == "  ... and 145 more like these" and len(text) < 12


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), {"realistic", "pairs", "reasons"}),
        (("--group-by", "category"), {"subgroups"}),
        (("--scores", "pairs,selective"), {"pairs", "selective"}),
        (("--scores", "pairs", "--group-by", "category"), {"pairs", "subgroups"}),
        (("--resource", "human-judgments=h.json"), {"realistic", "pairs", "reasons", "human"}),
        (("--full",), {name for name, (_, kinds) in SCORE_GROUPS.items() if "rgqa" in kinds}),
    ],
)
def test_only_what_is_shown_is_computed(release, tmp_path, monkeypatch, words, expected):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "h.json", [{"question_id": "a1", "accepted": True}])
    arguments = build_parser().parse_args(
        [str(release), str(write(tmp_path / "m.json", predictions())), *words]
    )
    groups = score_models(*load_inputs(arguments)).models[0].subsets["clip-easy"]
    assert set(groups) - {"counts", "intervals"} == expected


def test_a_grouping_is_printed_alone(release, tmp_path, capsys):
    run(
        release, write(tmp_path / "m.json", predictions()), "--group-by", "structural,edit", "--bootstrap", 20
    )
    text = capsys.readouterr().out
    assert "by structural" in text and "by edit" in text and "by category" not in text and "FF95" in text
    assert "dual accuracy" not in text
    # Of split test two AQs and two UQs of one edit: an interval instead of one number.
    assert "[" in next(line for line in text.splitlines() if line.split()[:1] == ["object"])


@pytest.mark.usefixtures("few_pairs_are_enough")
def test_groups_that_are_named_are_printed_in_full(release, tmp_path, capsys):
    words = "--scores", "pairs", "--group-by", "category", "--bootstrap", 0
    run(release, write(tmp_path / "m.json", predictions()), *words)
    text = capsys.readouterr().out
    assert "threshold source" in text and "by category" in text and "AUPR" not in text


def test_subgroups_of_a_benchmark_of_answers_are_refused(tmp_path, capsys):
    people = [{"question_id": 1, "answers": [{"answer": "red"}] * 4}]
    files = (
        write(tmp_path / "vqa.json", {"annotations": people}),
        write(tmp_path / "m.json", [{"id": 1, "answer": "red"}]),
    )
    assert "scores `subgroups` do not apply to such a benchmark" in refused(
        capsys, *files, "--group-by", "category"
    )


def test_optional_modules_are_imported_only_when_needed(release, tmp_path):
    code = (
        "import sys; from pipeline.scoring.cli import main; main(sys.argv[1:]);"
        "print(*sorted(name.rpartition('.')[2] for name in sys.modules if name.startswith('pipeline.scoring.')))"
    )
    far = {"masses", "wups", "human", "efficiency", "gqa_diagnostics"}
    (tmp_path / "log.jsonl").write_text('{"seconds": 2}\n')
    for words, expected in (
        ((), set()),
        (("--resource", f"run-log={tmp_path / 'log.jsonl'}"), {"efficiency"}),
    ):
        words = [sys.executable, "-c", code, release, write(tmp_path / "m.json", predictions()), *words]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        assert far & set(done.stdout.splitlines()[-1].split()) == expected


def test_json_has_null_for_undefined_and_a_word_for_infinite():
    report = {"b": math.nan, "a": [np.float64(0.1), np.int64(3)], "c": (math.inf,), 4: "x"}
    assert json.loads(format_json(report)) == {"b": None, "a": [0.1, 3], "c": ["infinity"], "4": "x"}


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_the_command_says_what_it_is(option, capsys):
    with pytest.raises(SystemExit) as caught:
        run(option)
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert "rgqa_scorers 1" in text if option == "--version" else "Example: rgqa-score" in text


def test_predictions_of_one_subset_are_recognised(release, tmp_path, capsys):
    rows = json.loads((release / "rgqa" / "pt-hard.json").read_text())
    for number, row in enumerate(rows):
        row["question_id"] = f"pt{number}"
    (release / "rgqa" / "pt-hard.json").write_text(json.dumps(rows))
    (release / "provenance.jsonl").unlink()
    text = refused(capsys, release, write(tmp_path / "m.json", predictions()))
    assert "6 of 12 items have no prediction" in text and "Did you mean --subset clip-easy?" in text


def test_two_files_of_one_name_are_distinguished_by_their_folders(release, tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / "m.json", predictions())
    report = scored(tmp_path, release, tmp_path / "a/m.json", tmp_path / "b/m.json", "--bootstrap", 0)
    assert [model["name"] for model in report["models"]] == ["a/m", "b/m"]


def test_what_is_written_cannot_take_the_place_of_a_folder(release, tmp_path, capsys):
    path = write(tmp_path / "m.json", predictions())
    text = refused(capsys, release, path, "--json", tmp_path, "--out", path)
    assert f"--json {tmp_path}: " in text and f"--out {path}: " in text


def test_a_list_of_choices_is_refused(release, tmp_path, capsys):
    text = refused(
        capsys,
        release,
        write(tmp_path / "m.json", predictions()),
        "--resource",
        f"choices={write(tmp_path / 'c.json', [])}",
    )
    assert "expected an object by id, got a list" in text


def test_published_mode_compares_exactly_and_says_so(release, tmp_path, capsys):
    report = scored(tmp_path, release, write(tmp_path / "m.json", predictions()), "--mode", "published")
    assert report["options"]["match"] == "exact"
    assert "mode published, answers compared with --match exact" in capsys.readouterr().out


def test_thresholds_come_from_predictions_for_other_items(tmp_path):
    # VQA has no splits: two people; validation 1 right (0.9), 2 wrong (0.5): at cost 10 the threshold is 0.9.
    people = [{"question_id": i, "answers": [{"answer": "red"}] * 4} for i in range(4)]
    benchmark = write(tmp_path / "vqa.json", {"annotations": people})
    rows = [
        {"question_id": i, "answer": said, "confidence": c}
        for i, said, c in [(0, "red", 0.9), (1, "blue", 0.5), (2, "red", 0.95), (3, "red", 0.6)]
    ]
    validation, test = write(tmp_path / "validation.json", rows[:2]), write(tmp_path / "test.json", rows[2:])
    report = scored(tmp_path, benchmark, test, "--validation", validation, "--costs", 10, "--bootstrap", 0)
    (at_ten,) = report["models"][0]["subsets"]["vqa"]["selective"]["effective_reliability"].values()
    # Of the two that are scored one is above 0.9, and right: 1/2.
    assert at_ten["threshold"] == 0.9 and at_ten["phi"] == 0.5


def test_each_file_of_predictions_has_its_own_validation_file(release, tmp_path, capsys):
    path = write(tmp_path / "m.json", predictions())
    text = refused(capsys, release, path, path, "--validation", path)
    assert "--validation is given 1 time for 2 predictions files" in text


def test_files_may_stand_before_and_after_options(release, tmp_path):
    first, second = write(tmp_path / "m.json", predictions()), write(tmp_path / "n.json", predictions())
    found = scored(tmp_path, release, first, "--bootstrap", 0, second)
    assert [model["name"] for model in found["models"]] == ["m", "n"]


def test_files_are_written_even_if_the_output_is_closed(release, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert scored(tmp_path, release, write(tmp_path / "m.json", predictions()), "--bootstrap", 0)["models"]


def test_a_name_cannot_steer_the_terminal(release, tmp_path, capsys):
    run(release, write(tmp_path / "m\x1b[2J.json", predictions()), "--bootstrap", 0)
    assert "m?[2J" in (text := capsys.readouterr().out) and "\x1b" not in text


def test_synonyms_are_read_from_a_file_of_strings(release, tmp_path, capsys):
    # a2 (yes) is answered "no": with a table that calls the two the same, all three AQs are right.
    path, words = (
        write(tmp_path / "m.json", predictions()),
        ("--bootstrap", 0, "--split", "all", "--subset", "clip-easy"),
    )
    same = write(tmp_path / "same.json", {"no": "yes"})
    scores = scored(tmp_path, release, path, *words, "--synonyms", same)["models"][0]["subsets"]["clip-easy"]
    assert scores["realistic"]["facc"] == 1.0
    text = refused(capsys, release, path, "--synonyms", write(tmp_path / "bad.json", {"no": ["yes"]}))
    assert "expected a string for each answer. Invalid: no" in text


def test_the_version_is_one_that_can_be_compared():
    assert re.fullmatch(r"\d+\.\d+\.\d+(-[a-z]+\.\d+)?", VERSION)


# Command line options


EVERY = [option for group in OPTION_GROUPS.values() for option in group]


@pytest.mark.parametrize("option", ["--synonyms", "--json"])
def test_the_help_says_which_options_take_a_file(option):
    assert re.search(rf"{option} FILE\b", build_parser("any").format_help())


def test_the_help_has_every_option_once_with_its_default_and_an_example(monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")  # nothing is wrapped
    shown = build_parser("any").format_help()
    for option in EVERY:
        example = r"; example: --\S" if option.example else r"\)"
        assert option.help and re.search(rf"\(default: [^;]+{example}", option.help_text), option.name
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
