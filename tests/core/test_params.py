from typing import Annotated, ClassVar, Literal

import msgspec
import pytest
import yaml

from pipeline.core.errors import UserError
from pipeline.core.params import (
    SECTION_NAMES,
    Params,
    load_params,
    read_dataset_name,
    read_params_file,
    read_release_version,
)
from tests.closure import ROOT


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
