"""Stages, graphs, parameters, modules and tests have consistent names, and the architecture holds."""

import importlib
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

from annotation.study.assignment_params import AnnotateParams
from pipeline.core.params import SECTION_NAMES, Params, convert_params
from pipeline.core.project import PACKAGED_GRAPH
from pipeline.core.stage_graph import BUILD_GRAPH, DVC_LOCK_FILES, RESEARCH_GRAPH, read_stages, stage_module
from tests.closure import (
    BY_MODULE,
    PACKAGES,
    ROOT,
    TABLES_OF,
    closure,
    code_deps,
    dvc_targets,
    module_of,
    modules,
)

DVC = read_stages(root=ROOT)
PARAMS = yaml.safe_load((ROOT / "params.yaml").read_text())
DATASETS = sorted(name for name, value in PARAMS.items() if isinstance(value, dict))
CODE = [path for package in PACKAGES for path in modules(Path(package))]


def params_type(stage: str) -> type[Params] | None:
    module = importlib.import_module(stage_module(stage, ROOT))
    return getattr(module, f"{stage.capitalize()}Params", None)


def test_there_is_one_module_and_one_test_for_each_stage():
    modules = {
        path.stem for path in [*ROOT.glob("pipeline/stages/*.py"), *ROOT.glob("research/stages/*.py")]
    } - {"__init__", "__main__"}
    tests = {
        path.stem.removeprefix("test_")
        for path in [*ROOT.glob("tests/stages/*.py"), *ROOT.glob("tests/research/stages/*.py")]
    }
    assert modules == set(DVC)
    assert set(DVC) <= tests


def test_params_yaml_may_have_a_section_for_each_stage_and_for_the_annotation():
    assert sorted(SECTION_NAMES) == sorted([*DVC, "annotate"])


def test_the_build_graph_ends_with_the_release_and_does_not_depend_on_the_research_graph():
    build, research = (list(read_stages(graph, root=ROOT)) for graph in (BUILD_GRAPH, RESEARCH_GRAPH))
    assert build[-1] == "release" and not set(build) & set(research)
    assert research == ["paper", "comparison", "answer", "leaderboard"]
    written = {out for stage in research for out in DVC[stage]["outs"]}
    assert not [dep for stage in build for dep in DVC[stage]["deps"] if dep in written]


def test_both_graphs_run_in_the_root_and_targets_name_the_graph_of_a_stage():
    assert {stage for stage in DVC if DVC[stage].get("wdir") == ".."} == {
        *read_stages(RESEARCH_GRAPH, root=ROOT)
    }
    targets = dvc_targets()
    assert (targets["rank"], targets["answer"]) == ("rank", "research/dvc.yaml:answer")
    assert [lock.as_posix() for lock in DVC_LOCK_FILES] == ["dvc.lock", "research/dvc.lock"]


@pytest.mark.parametrize(
    "file, readers",
    [
        ("pipeline/language/object_taxonomy.py", {"ingest", "perturb", "batch", "paper"}),
        (
            "pipeline/language/kinds.tsv",
            {
                *("ingest", "vocabulary", "tag", "perturb", "screen", "estimate", "batch"),
                *("collect", "audit", "release"),
                *("paper", "comparison", "leaderboard"),
            },
        ),
    ],
)
def test_word_lists_are_dependencies_only_of_the_stages_that_use_them(file, readers):
    assert {stage for stage in DVC if file in DVC[stage]["deps"]} == readers
    assert not [stage for stage in DVC if "pipeline/language" in DVC[stage]["deps"]]


def test_data_files_of_packages_watched_by_module_are_watched():
    data = {
        path.relative_to(ROOT)
        for package in BY_MODULE
        for path in (ROOT / package).iterdir()
        if path.suffix not in ("", ".py")
    }
    assert data == set(TABLES_OF.values())


@pytest.mark.parametrize("stage", DVC)
def test_a_stage_runs_its_module_and_has_a_one_line_description(stage):
    assert DVC[stage]["cmd"] == f"python -m {module_of(stage).with_suffix('').as_posix().replace('/', '.')}"
    assert re.fullmatch(r"[A-Z][^\n]{10,110}", DVC[stage]["desc"])


@pytest.mark.parametrize("stage", DVC)
def test_the_declared_code_is_the_code_that_can_run(stage):
    """`python -m tests.closure` writes this list."""
    assert [dep for dep in DVC[stage]["deps"] if not dep.startswith("data/")] == code_deps(stage), (
        "run python -m tests.closure"
    )


def test_the_installed_graph_is_the_graph_of_the_clone():
    """`python -m tests.closure` writes this copy. dvc.yaml of projects of one's own is made from it."""
    assert PACKAGED_GRAPH.read_bytes() == (ROOT / BUILD_GRAPH).read_bytes(), "run python -m tests.closure"


def test_the_wheel_contains_every_file_of_the_packages():
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["*"]
    # Training data of a study, which only a clone has.
    replies = Path("research/studies/replies")
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*"):
            file = path.relative_to(ROOT)
            if (
                path.is_file()
                and file.suffix != ".py"
                and not {"__pycache__"} & {*file.parts}
                and replies not in file.parents
            ):
                within = [Path(*file.parts[depth:]).as_posix() for depth in (-1, -2)]
                assert file == RESEARCH_GRAPH or any(
                    fnmatch(name, pattern) for name in within for pattern in patterns
                ), file


@pytest.mark.parametrize("stage", DVC)
def test_data_flows_one_way(stage):
    order = list(DVC)
    read = {dep.split("/")[3] for dep in DVC[stage]["deps"] if dep.startswith("data/${dataset}/interim/")}
    assert all(order.index(earlier) < order.index(stage) for earlier in read)


@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize("stage", DVC)
def test_every_data_set_has_a_valid_section_for_each_stage_and_dvc_watches_it(stage, dataset):
    kind = params_type(stage)
    watched = "${dataset}." + stage in DVC[stage].get("params", [])
    assert watched == (kind is not None)
    if kind:
        convert_params(PARAMS[dataset][stage], kind, f"{dataset}.{stage}")


@pytest.mark.parametrize("dataset", DATASETS)
def test_no_section_is_unused(dataset):
    assert set(PARAMS[dataset]) == {stage for stage in DVC if params_type(stage)} | {"annotate"}


@pytest.mark.parametrize("dataset", DATASETS)
def test_section_annotate_is_valid(dataset):
    convert_params(PARAMS[dataset]["annotate"], AnnotateParams, f"{dataset}.annotate")


def test_only_simulated_annotators_the_audit_and_a_reference_row_read_the_truth():
    """Stage `answer` runs after the release. One of its reference rows has perfect perception."""
    assert {stage for stage in DVC if "data/${dataset}/truth" in DVC[stage]["deps"]} == {
        "collect",
        "paper",
        "audit",
        "answer",
    }
    opening = {
        p
        for p in CODE
        if re.search(r"\.truth\b", (ROOT / p).read_text()) and "synthetic_world" not in p.parts
    }
    assert opening <= {
        Path(p)
        for p in (
            "pipeline/core/paths.py",
            "research/simulated_annotators/simulated_verdicts.py",
            "research/stages/paper.py",
            "pipeline/stages/audit.py",
            "research/stages/answer.py",
            "pipeline/benchmark/auditing/verifier_agreement.py",
            "pipeline/benchmark/auditing/screening_accuracy.py",
            "research/studies/attribution_study.py",
            "research/studies/crowd_robustness.py",
            "research/studies/label_error_coverage.py",
            "research/studies/panel_study.py",
        )
    }


def test_the_sample_world_is_not_used_by_any_stage():
    for stage in DVC:
        assert not [p for p in closure(module_of(stage)) if "synthetic_world" in p.parts]


def test_the_checker_of_the_sample_shares_no_code_with_its_generator():
    generator = closure(Path("research/synthetic_world/questions.py"))
    executor = closure(Path("pipeline/verifier/verification.py"))
    assert {p for p in generator & executor if "core" not in p.parts} == set()


@pytest.mark.parametrize("library", ["spacy", "torch", "open_clip"])
def test_heavy_libraries_are_imported_in_few_packages(library):
    allowed = {
        # pipeline/scoring uses word vectors, an optional extra.
        "spacy": {"pipeline/language", "pipeline/scoring"},
        # pipeline/inference runs models of transformers. pipeline/candidates/ranking multiplies in bfloat16.
        "torch": {
            "pipeline/candidates/encoders",
            "pipeline/candidates/ranking",
            "pipeline/inference",
            "pipeline/inference/attribution",
        },
        "open_clip": {"pipeline/candidates/encoders"},
    }
    users = [
        p for p in CODE if re.search(rf"^\s*(import|from) {library}\b", (ROOT / p).read_text(), re.MULTILINE)
    ]
    assert {p.parent.as_posix() for p in users if p.parts[0] != "research"} <= allowed[library]


def test_importing_the_scorers_loads_only_numpy():
    script = "import sys, pipeline.scoring; print(sorted({'torch', 'pandas', 'scipy', 'sklearn', 'spacy', 'msgspec', 'yaml'} & set(sys.modules)))"
    assert (
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
        ).stdout
        == "[]\n"
    )


def test_nothing_reads_the_clock_in_a_stage():
    # Stage `release` packs this package into the wheel, but no stage runs it.
    packed = Path("pipeline/inference")
    for stage in DVC:
        for path in closure(module_of(stage)):
            assert packed in path.parents or not re.search(
                r"datetime\.(now|today|utcnow)|time\.time\(|date\.today", (ROOT / path).read_text()
            ), path


def test_nothing_is_unpickled_or_evaluated():
    for path in CODE:
        text = (ROOT / path).read_text()
        assert not re.search(
            r"^\s*(import|from) (pickle|joblib|marshal|shelve)\b|(?<![\w.])(eval|exec)\(|allow_pickle=True",
            text,
            re.MULTILINE,
        ), path


def test_lock_and_settings_name_no_index():
    for name in ("requirements.lock", "pyproject.toml", "Makefile"):
        # [project.urls] has the URL of the paper.
        text = (ROOT / name).read_text().replace("https://arxiv.org/", "")
        assert not re.search(r"(?<!no-emit-)(index-url|find-links)|https?://", text)
