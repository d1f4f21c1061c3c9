"""Parameters: types, files in YAML, and renamed parameters, commands and options."""

import importlib
import math
import re
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import msgspec
import pytest
import typer
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from typer.testing import CliRunner

from annotation.study.assignment_params import AnnotateParams
from pipeline.cli.main import app
from pipeline.core.errors import UserError
from pipeline.core.params import (
    SECTION_NAMES,
    Params,
    convert_params,
    load_params,
    read_dataset_name,
    read_params_file,
    read_release_version,
)
from pipeline.core.release_params import Licence, ReleaseParams, check_release_params
from pipeline.core.renames import (
    RENAMED_COMMANDS,
    RENAMED_OPTIONS,
    RENAMED_PARAMETERS,
    explain_renamed_command,
    explain_renamed_options,
)
from pipeline.core.stage_graph import stage_module
from pipeline.core.strict_yaml import parse_yaml
from pipeline.inference.argument_parser import make_parser
from pipeline.scoring.cli_options import build_parser
from tests.closure import ROOT

# Params


class ExampleParams(Params):
    size: Annotated[int, msgspec.Meta(ge=1)]
    share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.5


def write(tmp_path, text):
    path = tmp_path / "params.yaml"
    path.write_text(text)
    return path


def test_the_section_of_the_data_set_in_use_is_read(tmp_path):
    path = write(tmp_path, "dataset: b\na: {rank: {size: 1}}\nb: {rank: {size: 2}}\n")
    assert (read_dataset_name(path), load_params("rank", ExampleParams, path)) == (
        "b",
        ExampleParams(size=2, share=0.5),
    )


def test_all_problems_of_a_section_are_reported_together(tmp_path):
    path = write(tmp_path, "dataset: a\na: {rank: {sise: 3, share: 1.5}}\n")
    with pytest.raises(UserError) as caught:
        load_params("rank", ExampleParams, path)
    assert caught.value.problems[0].endswith("a.rank: 3 problems")
    assert caught.value.problems[1] == "sise: no such parameter; the parameters are share, size"
    assert caught.value.problems[2] == "size: missing"
    assert caught.value.problems[3].startswith("share: Expected `float` <= 1")


class Choosing(Params):
    simulate: bool | Literal["rehearsal"] = False
    kinds: tuple[Literal["n", "v"], ...] = ()


def test_allowed_values_are_listed(tmp_path):
    path = write(tmp_path, "dataset: a\na: {collect: {simulate: rehearse, kinds: [x]}}\n")
    with pytest.raises(UserError) as caught:
        load_params("collect", Choosing, path)
    assert (
        caught.value.problems[1]
        == "simulate: Invalid enum value 'rehearse' (got 'rehearse'); choose from true, false, \"rehearsal\""
    )
    assert caught.value.problems[2].endswith('; choose from "n", "v"')


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dataset: c\na: {}\n", "there are a"),
        ("a: 1\n", "a key `dataset`"),
        ("dataset: a\na: {tag: {}}\n", "a.rank: the section is missing"),
        ("dataset: [a\n", "not valid YAML"),
        ("dataset: a\na: {rank: 3}\n", "expected a mapping"),
    ],
)
def test_an_invalid_file_is_reported_with_what_is_expected(tmp_path, text, expected):
    with pytest.raises(UserError, match=expected):
        load_params("rank", ExampleParams, write(tmp_path, text))


@pytest.mark.parametrize(
    ("value", "good"), [('"1.0.0"', True), ('"1.2.3-rc.1"', True), ("1.0", False), ('"../x"', False)]
)
def test_a_version_has_three_numbers_and_cannot_leave_its_folder(tmp_path, value, good):
    path = write(tmp_path, f"dataset: a\nversion: {value}\na: {{}}\n")
    if good:
        assert f'"{read_release_version(path)}"' == value
    else:
        with pytest.raises(UserError, match="version"):
            read_release_version(path)


class Shrunk(Params):
    removed_parameters: ClassVar = {"twice": "this parameter was removed; delete the line"}
    size: int = 1


def test_a_removed_parameter_has_its_own_message(tmp_path):
    path = write(tmp_path, "dataset: a\na: {rank: {twice: 1}}\n")
    with pytest.raises(UserError) as caught:
        load_params("rank", Shrunk, path)
    assert caught.value.problems[1:] == ["twice: this parameter was removed; delete the line"]


def test_sections_are_those_of_the_stages():
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    assert {*stages} <= {*SECTION_NAMES}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("sampel: {rank: {}}", {"sampel": "sample"}),
        ("samples: {rank: {}}", {"samples": "sample"}),
        ("versoin: '1.0.0'", {"versoin": "version"}),
        ("Dataset: b", {"Dataset": "dataset"}),
        ("bird: {rank: {}}", {"bird": "birds"}),
        ("seed: 3", {"seed": ""}),
        ("gqa: {rank: {}}", {}),
        ("birds: {rank: {}}", {}),
        ("sampel: {rank: {}}\nseed: 3", {"sampel": "sample", "seed": ""}),
    ],
)
def test_an_unknown_key_is_reported_with_the_probable_one(tmp_path, text, told):
    (tmp_path / "data/birds").mkdir(parents=True)
    path = write(tmp_path, f"dataset: sample\nsample: {{rank: {{size: 1}}}}\n{text}\n")
    if not told:
        assert read_params_file(path)["dataset"] == "sample"
        return
    with pytest.raises(UserError) as caught:
        read_params_file(path)
    lines = caught.value.problems[1:]
    assert len(lines) == len(told)
    assert all(
        line.startswith(f"{key}: ") and meant in line
        for line, (key, meant) in zip(lines, told.items(), strict=True)
    )


def test_an_unknown_section_is_reported(tmp_path):
    path = write(tmp_path, "dataset: a\na: {rank: {size: 1}, pertub: {}}\n")
    with pytest.raises(UserError, match=r"a\.pertub: .*perturb"):
        load_params("rank", ExampleParams, path)


# Release params


LEAST = {
    "title": "T",
    "data_source": "o",
    "licence": "l",
    "licence_url": "https://l.org/",
    "release_date": "2026-01-01",
}


def test_the_section_is_read():
    given = LEAST | {
        "licence_overrides": {"images": {"name": "X", "url": "http://x.org"}},
        "derived_from": {"GQA": "https://g.org"},
        "annotation_dates": ["2026-02-03", "2026-02-04"],
    }
    p = convert_params(given, ReleaseParams, "release")
    assert (
        p.licence_overrides == {"images": Licence(name="X", url="http://x.org")}
        and p.annotation_dates[1].day == 4
    )
    assert p.creators == () and p.url == ""


def test_all_problems_of_release_params_are_reported_together():
    with pytest.raises(UserError) as caught:
        convert_params(
            LEAST | {"licence_overrides": {"songs": {}}, "annotated_by": "robots"}, ReleaseParams, "release"
        )
    assert [line.split(":")[0] for line in caught.value.problems[1:]] == ["licence_overrides", "annotated_by"]


def test_links_must_be_http_urls():
    bad = {
        "licence_url": "javascript:alert(1)",
        "licence_overrides": {"images": {"name": "X", "url": "x"}},
        "url": "not a url",
        "derived_from": {"GQA": "data:text/html,x"},
    }
    with pytest.raises(UserError) as caught:
        convert_params(LEAST | bad, ReleaseParams, "release")
    assert {line.split(":")[0] for line in caught.value.problems[1:]} == bad.keys()


def test_days_in_the_wrong_order_are_refused(tmp_path):
    path = tmp_path / "params.yaml"
    text = "dataset: a\na:\n  release: {title: T, annotation_dates: [%s, %s]}\n"
    path.write_text(text % ('"2026-04-09"', '"2026-03-01"'))
    with pytest.raises(UserError, match="annotation_dates"):
        check_release_params(path)
    path.write_text(text % ('"2026-03-01"', '"2026-03-01"'))
    assert "data_source, licence, licence_url, release_date are empty" in check_release_params(path)


# Renames
# Old names of parameters, commands and options get one message that has the new name.


PARSERS = {"run": make_parser, "score": build_parser}
PARAMETERS = [
    (section, old, new) for section, names in RENAMED_PARAMETERS.items() for old, new in names.items()
]
OPTIONS = [(command, old, new) for command, names in RENAMED_OPTIONS.items() for old, new in names.items()]


def params_type(section):
    if section == "annotate":
        return AnnotateParams
    return getattr(importlib.import_module(stage_module(section, ROOT)), f"{section.capitalize()}Params")


def find_command(words):
    command = typer.main.get_command(app)
    for word in words.split():
        command = getattr(command, "commands", {}).get(word)
    return command


def options_of(command):
    if command in PARSERS:
        return {option for action in PARSERS[command]()._actions for option in action.option_strings}
    return {
        option
        for parameter in find_command(command).params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }


def message_of(output):
    """The text of an error without its frame and line breaks."""
    return re.sub(r"[\s│]+", " ", output)


@pytest.mark.parametrize(("section", "old", "new"), PARAMETERS)
def test_an_old_parameter_gets_one_message_with_the_new_name(section, old, new):
    kind = params_type(section)
    required = {field.encode_name for field in msgspec.structs.fields(kind) if field.required}
    with pytest.raises(UserError) as caught:
        convert_params({old: 1}, kind, f"params.yaml, sample.{section}")
    about = [line for line in caught.value.problems[1:] if old in line.split(":")[0].split() or new in line]
    assert len(about) == 1 and re.search(rf"\b{new}\b", about[0])
    assert len(caught.value.problems) == 1 + 1 + len(required - {new})


# The keys that the section `gqa` of params.yaml had in version 0.14.
KEYS_OF_VERSION_0_14 = {
    "vocabulary": "min_count min_members listed_at_most",
    "embed": "model pretrained picture_batch text_batch",
    "rank": "preset hard_draw hard_pool easy_last easy_pool cap dev_share seed",
    "perturb": "seed preset even_words weak_share same_category",
    "batch": "seed template_share filter_share foreign_tries",
    "annotate": "votes sure overlap wave budget most_tasks training test test_share seed pictures",
    "collect": "simulate rule min_posterior min_sensitivity min_specificity window max_fallen excluding "
    "fast_seconds max_fast",
    "balance": "rule word_slack most_uneven seed",
    "paper": "hard_draw hard_pool easy_last seed",
    "audit": "limits folds repetitions seed",
    "release": "title origin licence licence_url published pictures fetch_recipe url creators languages "
    "derived_from annotated_by annotator_demographics personal_information limits uses social_impact "
    "maintenance folds seed",
    "leaderboard": "against repetitions seed",
}


@pytest.mark.parametrize("section", KEYS_OF_VERSION_0_14)
def test_every_key_of_version_0_14_is_still_known_or_has_a_new_name(section):
    current = {field.encode_name for field in msgspec.structs.fields(params_type(section))}
    old = set(KEYS_OF_VERSION_0_14[section].split())
    assert old - current == old & RENAMED_PARAMETERS.get(section, {}).keys() - current


def test_keys_of_the_projects_own_files_are_new_names():
    for file in ("params.yaml", "tests/tiny/params.yaml"):
        text = Path(ROOT, file).read_text()
        for section, old, _ in PARAMETERS:
            block = re.search(rf"(?m)^  {section}:\n((?:    .*\n)*)", text)
            assert not block or not re.search(rf"(?m)^    {old}:", block[1]), (file, section, old)


@pytest.mark.parametrize(("old", "new"), RENAMED_COMMANDS.items())
def test_an_old_command_gets_one_message_with_the_new_name(old, new):
    assert find_command(old) is None and find_command(new) is not None
    ended = CliRunner().invoke(app, [*old.split(), "x"])
    assert ended.exit_code == 2 and f"`rgqa {old}` is now `rgqa {new}`" in message_of(ended.output)


@pytest.mark.parametrize(("command", "old", "new"), OPTIONS)
def test_an_old_option_gets_one_message_with_the_new_name(command, old, new):
    options = options_of(command)
    assert new in options and old not in options
    for words in ([old, "1"], [f"{old}=1"]):
        ended = CliRunner().invoke(app, [*command.split(), *words])
        assert ended.exit_code == 2 and f"{old} is now {new}" in message_of(ended.output)


def test_a_renamed_command_is_reported_with_its_renamed_options():
    assert explain_renamed_command(["annotate", "study", "draw", "--each", "3"]) == (
        "`rgqa annotate study draw` is now `rgqa annotate human-baseline sample`, --each is now --items-per-label"
    )
    assert explain_renamed_command(["attribute", "--grids"]) is None


def test_other_words_are_not_reported():
    assert explain_renamed_options("run", ["--", "--part"]) is None
    assert explain_renamed_options("run", ["--part"], known={"--part"}) is None
    assert explain_renamed_options("init", ["--part"]) is None


# Strict YAML
# YAML is read like by DVC, and refused if readers differ: PyYAML (YAML 1.1) and ruamel.yaml (1.2), which DVC uses.


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


def test_all_problems_of_a_yaml_file_are_reported_together():
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
