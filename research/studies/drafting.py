"""Measure what becomes of a vision model's errors: `rgqa study drafting`.

For each error rate, a simulated vision model (`research.synthetic_world.vision_model`) drafts questions and scene graphs of images of a
synthetic world. The drafts, with the programs of their questions, go through all stages to a release, with simulated annotators who see the truth. The study counts, by the
complete scene graphs:

- wrong questions: those whose drafted answer is not the only correct one
- answerable candidates: those that have an answer after all, so that they would be wrong as UQs
- lost candidates: unanswerable ones that are dropped although they would have made good UQs
- wrong AQs: drafted questions that have no answer or another one, before annotators were asked whether they have an answer, and
  in the release
- lost AQs: drafted questions that have an answer, but that annotators did not confirm

The model misses and invents objects and takes one color for another, all at the same rate. So many of its JSON replies are damaged, too.
"""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any

import msgspec
import yaml

from pipeline.benchmark.balancing.drafted_questions import count_drafted_questions, get_aq_status
from pipeline.candidates.screening.screen_rules import ANSWERABLE_REASONS
from pipeline.cli.init_project import create_project, make_dataset_name
from pipeline.core.atomic_files import atomic_write, write_text
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_jsonl, write_json
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import track
from pipeline.core.records import (
    Candidate,
    CollectedCandidate,
    DroppedCandidate,
    GoldQuestionCheck,
    Item,
    Question,
    SceneGraph,
    ScreenedCandidate,
    Step,
    Verdict,
)
from pipeline.core.rendering import format_markdown_table
from pipeline.drafting.answer_comparison import is_agreed
from pipeline.drafting.drafter import Draft, DraftOptions, draft
from pipeline.language.functional_programs import parse_program
from pipeline.research_registry import make_truth_reader
from pipeline.verifier.evidence import build_scene_evidence
from pipeline.verifier.verification import ExecutionResult, execute_program
from research.synthetic_world.build import dump_compact_json, encode_jpeg, to_gqa_scene_graphs
from research.synthetic_world.model_server import run_in_thread
from research.synthetic_world.question_checks import LEXICON
from research.synthetic_world.scene_graphs import build_complete_graph
from research.synthetic_world.scenes import generate_scenes
from research.synthetic_world.vision_model import VLM_NAME, SimulatedVisionModel, VisionErrors

SPLIT = "testdev"
TRUTH_FILE = f"{SPLIT}_sceneGraphs.json"
RELEASE_SECTION = {
    "data_source": "Images of a synthetic world. A simulated vision model drafted the questions.",
    "licence": "CC0",
    "licence_url": "https://creativecommons.org/publicdomain/zero/1.0/",
    "release_date": "2026-01-01",
    "include_images": False,
}


def run_drafting_study(rates: Sequence[float], num_images: int, seed: int, out: Path) -> str:
    """Draft, build and count for each error rate.

    Args:
        rates: The error rates of the model.
        num_images: Number of images.
        seed: Seed of the world and of the errors.
        out: Folder for the images, the drafts and the projects. What is there is continued.

    Returns:
        The table, in Markdown. The counts are also written to results.json.
    """
    scenes = _write_world(out, num_images, seed)
    results: dict[str, dict[str, Any]] = {}
    for rate in rates:
        errors = VisionErrors(rate, rate, rate, rate, seed=seed)
        model = SimulatedVisionModel(out / "images", scenes, errors)
        name = f"errors-{round(1000 * rate):03d}"
        with run_in_thread(model) as server:
            found = draft(DraftOptions(out / "images", VLM_NAME, server.url, out / "drafts" / name))
        project = out / name
        if not project.is_dir():
            _make_project(project, out, found, model)
        _repro(project)
        with chdir(project):
            results[f"{rate:.0%}"] = count_errors(DatasetFolders(), scenes, found, model)
    write_json(out / "results.json", results)
    return format_results(results)


def _write_world(out: Path, num_images: int, seed: int) -> dict[str, SceneGraph]:
    """Write the images and their complete graphs. Return the graphs by image id."""
    worlds = [*generate_scenes(seed, SPLIT, num_images)]
    for world in track(worlds, "render", len(worlds), "image"):
        path = out / "images" / f"{world.image_id}.jpg"
        if not path.exists():
            with atomic_write(path) as file:
                file.write(encode_jpeg(world))
    scenes = [build_complete_graph(world) for world in worlds]
    with atomic_write(out / "truth" / TRUTH_FILE) as file:
        file.write(dump_compact_json(to_gqa_scene_graphs(scenes)))
    return {scene.image_id: scene for scene in scenes}


def _make_project(project: Path, out: Path, found: Draft, model: SimulatedVisionModel) -> None:
    """Make a project of the draft, with simulated annotators in place of people.

    The table of questions gets their programs, so that it can be computed whether an edited question has an answer.
    """
    table = found.folder / "questions_with_programs.csv"
    with (found.folder / "questions.csv").open() as file:
        rows = [*csv.DictReader(file)]
    text = io.StringIO()
    writer = csv.DictWriter(text, [*rows[0], "program"], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        program = model.find_program(Path(row["image"]).stem, row["question"])
        writer.writerow(row | {"program": msgspec.json.encode(program).decode() if program else ""})
    write_text(table, text.getvalue())
    create_project(
        project,
        str(project),
        out / "images",
        table,
        scene_graphs=found.folder / "sceneGraphs",
        without_clip=True,
    )
    name = make_dataset_name(project.name)
    truth = project / "data" / name / "truth"
    truth.mkdir(parents=True)
    (truth / TRUTH_FILE).write_bytes((out / "truth" / TRUTH_FILE).read_bytes())
    path = project / "params.yaml"
    params = yaml.safe_load(path.read_text())
    params[name]["collect"] = {"simulate": True}
    params[name]["release"] |= RELEASE_SECTION
    write_text(path, yaml.safe_dump(params, sort_keys=False))


def _repro(project: Path) -> None:
    """Run `dvc repro` in a project.

    Raises:
        UserError: A stage failed.
    """
    root = str(Path(__file__).resolve().parents[2])
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
    }
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
    command = [sys.executable, "-m", "dvc", "repro", "--quiet"]
    if subprocess.run(command, cwd=project, env=environment, check=False).returncode:
        raise UserError(
            f"{project}: dvc repro failed (see its message above). The same command continues there"
        )


def count_errors(
    folders: DatasetFolders, scenes: Mapping[str, SceneGraph], found: Draft, model: SimulatedVisionModel
) -> dict[str, Any]:
    """Count the errors of a draft and of the release that was made from it.

    Args:
        folders: The data set, whose stages have run.
        scenes: The complete graphs by image id.
        found: The draft.
        model: The model that drafted it, which knows the programs of its questions.
    """
    read = make_truth_reader(folders.read_vocabulary())

    def judge(rows: Iterable[Candidate]) -> Counter[str]:
        return Counter(read(row.program, scenes[row.image_id]) if row.program else "unknown" for row in rows)

    left_out = [
        (row.image_id, row.text, row.detail.partition(" / ")[0])
        for row in found.rejected
        if row.kind == "question" and row.detail
    ]
    kept = [(key, row.text, row.answer) for key, look in found.looks.items() for row in look.questions]
    proposed = [*read_jsonl(folders.stage_dir("perturb") / "candidates.jsonl", Candidate)]
    screened = [row.candidate for row in folders.read_records(ScreenedCandidate)]
    ids = {row.candidate_id for row in screened}
    known_answerable = {
        row.candidate_id
        for row in read_jsonl(folders.stage_dir("screen") / "dropped.jsonl", DroppedCandidate)
        if row.reason in ANSWERABLE_REASONS
    }
    collected = [*folders.read_records(CollectedCandidate)]
    items = [*folders.read_records(Item)]
    candidates = {row.candidate_id: row for row in proposed}
    uqs = [candidates[item.item_id] for item in items if item.unanswerable]
    questions = {row.question_id: row for row in folders.read_records(Question)}
    aqs = [questions[item.question_id] for item in items if not item.unanswerable]
    before, after = judge(screened), judge(uqs)
    # AQs before annotators judge them: the questions from which screened candidates were made.
    drafted = [questions[key] for key in sorted({row.question_id for row in screened})]
    checks = {row.question_id: row for row in folders.read_records(GoldQuestionCheck)}
    confirmed = [row for row in drafted if get_aq_status(checks.get(row.question_id)) == "confirmed"]

    def count_unanswerable(rows: Iterable[Question]) -> int:
        programs = ((row.image_id, model.find_program(row.image_id, row.text)) for row in rows)
        return sum(execute(scenes[key], program).answerability != "answerable" for key, program in programs)

    def count_other_answers(rows: Sequence[Question]) -> int:
        wrong = _count_wrong([(row.image_id, row.text, row.answer) for row in rows], scenes, model)
        return wrong - count_unanswerable(rows)

    num_unanswerable = count_unanswerable(drafted)
    answerable_confirmed = len(confirmed) - count_unanswerable(confirmed)
    lost = judge(candidates[key] for key in known_answerable - ids if key in candidates)
    lost_by_votes = judge(row.candidate for row in collected if row.status != "unanswerable")
    return {
        "questions written": len(left_out) + len(kept),
        "questions written, wrong": _count_wrong(left_out + kept, scenes, model),
        "questions kept": len(kept),
        "questions kept, wrong": _count_wrong(kept, scenes, model),
        "candidates": len(screened),
        "candidates, answerable": before["answerable"],
        "candidates, undecided": before["unknown"],
        "unanswerable, lost in screening": lost["unanswerable"],
        "unanswerable, lost by votes": lost_by_votes["unanswerable"],
        "UQs": len(uqs),
        "UQs, answerable": after["answerable"],
        "drafted AQs": len(drafted),
        "drafted AQs, unanswerable": num_unanswerable,
        "drafted AQs, another answer": count_other_answers(drafted),
        **{f"drafted AQs, {name}": count for name, count in count_drafted_questions(drafted, checks).items()},
        "answerable, not confirmed": len(drafted) - num_unanswerable - answerable_confirmed,
        "AQs": len(aqs),
        "AQs, unanswerable": count_unanswerable(aqs),
        "AQs, another answer": count_other_answers(aqs),
        "verdicts": sum(1 for _ in folders.read_records(Verdict)),
    }


def _count_wrong(
    rows: Iterable[tuple[str, str, str]],
    scenes: Mapping[str, SceneGraph],
    model: SimulatedVisionModel,
) -> int:
    """Count the questions whose answer is not the only correct one."""
    return sum(not is_right(scenes[key], model.find_program(key, text), answer) for key, text, answer in rows)


def execute(scene: SceneGraph, program: Sequence[Step]) -> ExecutionResult:
    """Return what a complete graph says about a question."""
    return execute_program(parse_program(program), build_scene_evidence(scene, LEXICON))


def is_right(scene: SceneGraph, program: Sequence[Step], answer: str) -> bool:
    """Return whether an answer is the only correct one by a complete graph.

    Args:
        scene: The complete graph.
        program: The program of the question.
        answer: The answer.
    """
    result = execute(scene, program)
    return result.answerability == "answerable" and any(is_agreed(answer, one) for one in result.answers)


def format_results(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the counts as a Markdown table, with a column for each error rate."""
    names = list(next(iter(results.values())))
    rows = [[name, *(f"{counts[name]:,}" for counts in results.values())] for name in names]
    return format_markdown_table([["count", *(f"{rate} errors" for rate in results)], *rows])
