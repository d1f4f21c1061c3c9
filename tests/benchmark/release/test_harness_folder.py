"""What a release contains for evaluation harnesses: tasks, tables and the wheel."""

import base64
import configparser
import importlib.util
import io
import os
import subprocess
import sys
import zipfile
from hashlib import sha256
from pathlib import Path

import datasets
import pandas as pd
import pytest
import yaml
from datasets import load_dataset
from PIL import Image

import pipeline.core.images
import pipeline.scoring  # noqa: F401
from pipeline.benchmark.release.harness_folder import write_harness_folder
from pipeline.benchmark.release.lmms_eval_tasks import write_lmms_eval_tasks
from pipeline.benchmark.release.rgqa_tasks import (
    deduplicate_items,
    expected_response,
    load_images,
    make_prompt,
    process_results,
)
from pipeline.benchmark.release.vlmevalkit_table import write_table
from pipeline.benchmark.release.wheel import build_wheel
from pipeline.core.records import Item

# Harness folder


def test_the_tables_for_vlmevalkit_have_the_items_of_a_split(release):
    for split, name in (("test", "rgqa"), ("validation", "rgqa_validation")):
        table = pd.read_csv(release / f"harness/vlmevalkit/{name}.tsv", sep="\t", dtype=str)
        tables = [str(path) for path in (release / "data").glob(f"*-{split}.parquet")]
        rows = load_dataset("parquet", data_files=tables, split="train")
        expected = {row["item_id"]: row for row in rows}
        assert len(table) == len(expected) > 0 and set(table["index"]) == set(expected)
        for row in table.itertuples(index=False):
            item = expected[row[0]]
            assert row.question.startswith(item["question"] + "\n") and "unanswerable" in row.question
            assert row.answer == (item["answer"] or "unanswerable")
            assert row.image_path.split(".")[0] == item["image_id"]


def test_the_folder_has_a_task_for_inspect_and_instructions_for_all_harnesses(release):
    text = (release / "harness/README.md").read_text()
    assert "harness/lmms_eval --tasks rgqa" in text and "harness/vlmevalkit/rgqa.tsv" in text
    assert "inspect eval RELEASE/harness/inspect/rgqa.py" in text and "RGQA_IMAGES" not in text
    sums = (release / "CHECKSUMS.sha256").read_text()
    files = [path for path in (release / "harness").rglob("*") if path.is_file()]
    assert len(files) == 13 and all(f"  {path.relative_to(release)}" in sums for path in files)
    compile((release / "harness/inspect/rgqa.py").read_text(), "rgqa.py", "exec")


def test_without_images_the_instructions_state_where_each_harness_looks_for_them(tmp_path):
    (tmp_path / "data").mkdir()
    write_harness_folder(tmp_path, [], {}, "1.0.0", has_images=False)
    text = (tmp_path / "harness/README.md").read_text()
    assert "RGQA_IMAGES" in text and "images/rgqa_openended" in text and "-T images=FOLDER" in text
    assert not (tmp_path / "harness/vlmevalkit").exists()
    assert "no items of split `test`" in text and "no items of split `validation`" in text


MOCK = """
import sys
from inspect_ai import eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model

def say(*_):
    return ModelOutput.from_content("mock", "red").model_copy(update={"usage": ModelUsage()})

model = get_model("mockllm/model", custom_outputs=say)
(log,) = eval(sys.argv[1], model=model, limit=4, display="plain", task_args={"split": sys.argv[2]})
print(log.status, len(log.samples))
"""


@pytest.mark.parametrize("split", ["test", "train"])
def test_inspect_runs_the_task_and_reports_errors_without_traceback(release, tmp_path, split):
    pytest.importorskip("inspect_ai")
    (tmp_path / "release").symlink_to(release)  # inspect_ai does not find files by absolute paths.
    words = [sys.executable, "-c", MOCK, "release/harness/inspect/rgqa.py", split]
    path = {"PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])}
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=os.environ | path)
    if split == "test":
        assert done.stdout.splitlines()[-1] == "success 4", done.stderr
    else:
        assert "train" in done.stderr + done.stdout and "Traceback" not in done.stderr + done.stdout


def test_without_the_scorers_the_task_states_what_to_install(release, tmp_path):
    pytest.importorskip("inspect_ai")
    code = "import runpy, sys; sys.modules['pipeline'] = sys.modules['rgqa_scorers'] = None; runpy.run_path(sys.argv[1])"
    words = [sys.executable, "-c", code, str(release / "harness/inspect/rgqa.py")]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert "PrerequisiteError" in done.stderr and "RELEASE/scorers/*.whl" in done.stderr


# Lmms eval tasks


class Loader(yaml.SafeLoader):
    """Load a task like lmms-eval: `!function module.name` names a function of a module in the same folder, or of Python."""


Loader.add_constructor("!function", lambda loader, node: node.value)


def task(folder, name):
    settings = yaml.load((folder / f"{name}.yaml").read_text(), Loader)
    return yaml.load((folder / settings.pop("include")).read_text(), Loader) | settings


def test_the_tasks_refer_to_existing_tables_and_functions(release):
    folder = release / "harness/lmms_eval"
    spec = importlib.util.spec_from_file_location("rgqa_tasks", folder / "rgqa_tasks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    subsets = sorted(path.stem for path in (release / "rgqa").glob("*.json"))
    names = {path.stem for path in folder.glob("*.yaml")}
    assert names == {"rgqa", "rgqa_validation", *(f"rgqa_{subset.replace('-', '_')}" for subset in subsets)}
    for name in names:
        settings = task(folder, name)
        split = settings["test_split"]
        assert settings["task"] == name and split == ("validation" if name == "rgqa_validation" else "test")
        tables = [(folder / table).resolve() for table in settings["dataset_kwargs"]["data_files"][split]]
        expected = (
            subsets if name in ("rgqa", "rgqa_validation") else [name.removeprefix("rgqa_").replace("_", "-")]
        )
        assert tables == [(release / f"data/{subset}-{split}.parquet").resolve() for subset in expected]
        assert all(table.is_file() for table in tables)
        functions = [value for value in settings.values() if str(value).startswith("rgqa_tasks.")]
        assert len(functions) == 5 and all(hasattr(module, value.split(".")[1]) for value in functions)
        assert settings["generation_kwargs"]["max_new_tokens"] == module.MAX_NEW_TOKENS
        assert settings["metadata"]["version"] == "0.1.0" and settings["output_type"] == "generate_until"
    sums = (release / "CHECKSUMS.sha256").read_text()
    assert all(
        f"  harness/lmms_eval/{name}" in sums for name in ("rgqa.yaml", "rgqa_common", "rgqa_tasks.py")
    )
    assert "`harness/`" in (release / "README.md").read_text()


def test_a_split_without_tables_has_no_task(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/pt-hard-test.parquet").touch()
    assert write_lmms_eval_tasks(tmp_path, "1.0.0") == ["rgqa", "rgqa_pt_hard"]
    assert not Path(tmp_path / "harness/lmms_eval/rgqa_validation.yaml").exists()


# RGQA tasks


def place(name):
    return sha256(name.encode()).hexdigest()


def test_each_item_is_asked_once_in_an_order_that_does_not_depend_on_its_subset():
    # Two subsets share the AQ "c", each with its own UQ.
    pairs = {"p": ["a", "b"], "q": ["c", "d"], "r": ["c", "e"]}
    rows = [{"item_id": item, "pair_id": pair} for pair, items in pairs.items() for item in items]
    asked = list(deduplicate_items(datasets.Dataset.from_list(rows))["item_id"])
    assert asked == list(deduplicate_items(datasets.Dataset.from_list(rows[::-1]))["item_id"])
    expected = [item for pair in sorted(pairs, key=place) for item in sorted(pairs[pair], key=place)]
    assert asked == [*dict.fromkeys(expected)] and sorted(asked) == [*"abcde"]


def test_without_the_package_the_message_states_what_to_install(tmp_path):
    with pytest.raises(ImportError, match=r"pip install RELEASE/scorers/\*.whl"):
        load_images({"image_id": "n1"})


def test_the_image_comes_from_the_row_or_from_a_folder(tmp_path, monkeypatch):
    # The wheel contains `core` in the package of the scorers.
    for name, here in {"": "scoring", ".core": "core", ".core.images": "core.images"}.items():
        monkeypatch.setitem(sys.modules, f"rgqa_scorers{name}", sys.modules[f"pipeline.{here}"])
    assert [p.mode for p in load_images({"image": Image.new("L", (2, 3)), "image_id": "n1"})] == ["RGB"]
    Image.new("L", (2, 3)).save(tmp_path / "n1.png")
    monkeypatch.setenv("RGQA_IMAGES", str(tmp_path))
    (image,) = load_images({"image_id": "n1"})
    assert (image.mode, image.size) == ("RGB", (2, 3))
    with pytest.raises(FileNotFoundError, match="no image n2 in .*set RGQA_IMAGES"):
        load_images({"image_id": "n2"})


def test_prompt_target_and_log_of_a_row():
    row = {"item_id": "pthard_n1+2", "question": "What is red?", "answer": ""}
    assert make_prompt(row) == "What is red?"
    assert (
        make_prompt(row, {"pre_prompt": "Look. ", "post_prompt": "\nOne word."})
        == "Look. What is red?\nOne word."
    )
    assert (expected_response(row), expected_response(row | {"answer": "cup"})) == ("unanswerable", "cup")
    assert process_results(row, ["cup"]) == {"item_id": "pthard_n1+2", "max_new_tokens": 64}


# VLMEvalKit table


# id, subset, image_id, question, answer
ITEMS = [
    ("02930152", "clip-hard", "n2", 'Is it "red"\tor blue?', "red"),
    ("pthard_n1+7", "pt-hard", "n1", "Where is the cat?", ""),
    ("02930152", "pt-easy", "n2", 'Is it "red"\tor blue?', "red"),
    ("0405", "pt-hard", "n1", "Which animal is it?", "dog"),
    ("0406", "pt-hard", "n1", "Is there anything?", "none"),
]


@pytest.fixture
def given(tmp_path):
    """Return the items and the paths of their images."""
    paths = {name: tmp_path / f"{name}.png" for name in ("n1", "n2")}
    for number, path in enumerate(paths.values()):
        Image.effect_noise((8, 8), 50 + number).save(path)
    items = [
        Item(item_id, subset, image_id, "7", text, not answer, answer, "p", "test")
        for item_id, subset, image_id, text, answer in ITEMS
    ]
    return items, {name: str(path) for name, path in paths.items()}


def load_like_vlmevalkit(path):
    """Load a table like VLMEvalKit (vlmeval/smp/file.py, vlmeval/dataset/image_base.py at 895762d).

    Ids are strings. An image with at most 64 characters is the index of the row that contains the image.
    """
    table = pd.read_csv(path, sep="\t")
    table["index"] = [str(name) for name in table["index"]]
    if "image" in table:
        images = dict(zip(table["index"], map(str, table["image"]), strict=True))
        for image in images.values():
            if len(image) <= 64:
                assert len(images[image]) > 64
        table["image"] = [
            images[images[name]] if len(images[name]) <= 64 else images[name] for name in images
        ]
    return table


def test_vlmevalkit_finds_each_item_once_with_its_image(given, tmp_path):
    items, paths = given
    write_table(tmp_path / "t.tsv", items, paths, True)
    table = load_like_vlmevalkit(tmp_path / "t.tsv")
    assert list(table["index"]) == ["02930152", "pthard_n1+7", "0405", "0406"]
    assert list(table["category"]) == ["clip-hard, pt-easy", "pt-hard", "pt-hard", "pt-hard"]
    question, instruction = table["question"][0].split("\n")
    assert question == 'Is it "red"\tor blue?' and instruction.endswith("answer: unanswerable")
    assert list(table["answer"][:3]) == ["red", "unanswerable", "dog"]
    assert list(table["image_path"]) == ["n2.png", "n1.png", "n1.png", "n1.png"]
    for image, name in zip(table["image"], ("n2", "n1", "n1", "n1"), strict=True):
        data = base64.b64decode(image, validate=True)
        assert data == (tmp_path / f"{name}.png").read_bytes()
        assert Image.open(io.BytesIO(data)).size == (8, 8)


def test_an_image_is_stored_once_and_the_bytes_are_reproducible(given, tmp_path):
    items, paths = given
    for name in ("a.tsv", "b.tsv"):
        write_table(tmp_path / name, items, paths, True)
    raw = pd.read_csv(tmp_path / "a.tsv", sep="\t")
    assert list(raw["image"].str.len() > 64) == [True, True, False, False]
    assert (tmp_path / "a.tsv").read_bytes() == (tmp_path / "b.tsv").read_bytes()


def test_without_images_the_table_has_only_their_names(given, tmp_path):
    items, paths = given
    write_table(tmp_path / "t.tsv", items, {name: f"elsewhere/{name}.jpg" for name in paths}, False)
    table = load_like_vlmevalkit(tmp_path / "t.tsv")
    assert list(table.columns) == ["index", "question", "answer", "category", "image_path"]
    assert list(table["image_path"]) == ["n2.jpg", "n1.jpg", "n1.jpg", "n1.jpg"]


# Wheel


def test_the_same_sources_give_the_same_wheel(tmp_path):
    first, second = build_wheel(tmp_path / "a", "1.2.0"), build_wheel(tmp_path / "b", "1.2.0")
    assert first.name == "rgqa_scorers-1.2.0-py3-none-any.whl" and first.read_bytes() == second.read_bytes()


def test_the_wheel_works_alone_with_numpy(tmp_path):
    # Importing the scorers must load only numpy, and nothing of this project.
    wheel = build_wheel(tmp_path, "1.2.0")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
        names = archive.namelist()
    record = (tmp_path / "site" / "rgqa_scorers-1.2.0.dist-info" / "RECORD").read_text().splitlines()
    assert sorted(line.split(",")[0] for line in record) == sorted(names)
    code = (
        "import sys, rgqa_scorers.scoring.cli, rgqa_scorers.inference.confidence_methods; from rgqa_scorers import *;"
        "heavy = {'torch', 'pandas', 'scipy', 'sklearn', 'msgspec', 'pyarrow', 'spacy', 'PIL', 'inspect_ai', 'pipeline'} & set(sys.modules);"
        "from rgqa_scorers.scoring.reason_reader import Fault, read_reason;"
        "reason = read_reason('What color is the couch?', 'There is no sofa.', True, [Fault('object', 'couch')]);"
        "print(sorted(heavy), auaf([0.9, 0.1], [1, 0], [True, False]), reason.names_fault, rgqa_scorers.scoring.cli_options.VERSION)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "site", capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["[]", "1.0", "True", "1.2.0"]


def test_every_entry_point_is_a_module_of_the_wheel(tmp_path):
    with zipfile.ZipFile(build_wheel(tmp_path, "1.2.0")) as archive:
        names = set(archive.namelist())
        points = configparser.ConfigParser()
        points.read_string(archive.read("rgqa_scorers-1.2.0.dist-info/entry_points.txt").decode())
    modules = [value.split(":")[0] for group in points.sections() for value in points[group].values()]
    assert len(modules) >= 2
    assert {module.replace(".", "/") + ".py" for module in modules} <= names
