"""Check the sample against the complete ground truth: `rgqa sample verify`.

Each question is checked with a program executor that shares no code with the generator of the questions.
Published graphs must agree with the truth.

Reads   data/sample/source (questions, published graphs) and data/sample/truth. The truth of train and val is not committed;
        it is generated again from the seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from pipeline.core.errors import Problems, format_count
from pipeline.core.json_files import read_json
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import report_written, track
from pipeline.core.records import SceneGraph, SceneObject, Split
from pipeline.sources.gqa_files import read_scene_graphs
from pipeline.verifier.evidence import build_scene_evidence
from research.synthetic_world.question_checks import LEXICON, CheckedQuestion, find_faults

PUBLISHED_SPLITS: tuple[Split, ...] = ("train", "val")
SPLITS: tuple[Split, ...] = ("testdev", *PUBLISHED_SPLITS)


def find_question_faults(
    entries: Mapping[str, CheckedQuestion], truths: Mapping[str, SceneGraph]
) -> Iterator[tuple[str, str]]:
    """Yield (location, fault) for each fault of the questions of a split.

    `truths` are the complete scene graphs of the split.
    """
    known = {image_id: build_scene_evidence(scene, LEXICON) for image_id, scene in truths.items()}
    for question_id, entry in sorted(entries.items()):
        where = f"question {question_id} ({entry.question})"
        if entry.image_id not in known:
            yield where, f"its image {entry.image_id} has no complete scene graph"
            continue
        for fault in find_faults(question_id, entry, entries, known[entry.image_id]):
            yield where, fault


def find_graph_faults(
    published: Mapping[str, SceneGraph], truths: Mapping[str, SceneGraph]
) -> Iterator[tuple[str, str]]:
    """Yield (location, fault) for each wrong statement of published graphs."""
    for image_id, scene in sorted(published.items()):
        where, truth = f"image {image_id}", truths.get(image_id)
        if truth is None:
            yield where, "published, but it has no complete scene graph"
            continue
        if (scene.location, scene.weather) != (truth.location, truth.weather):
            yield where, f"is a {truth.location} {truth.weather}, not a {scene.location} {scene.weather}"
        true = {thing.object_id: thing for thing in truth.objects}
        for thing in scene.objects:
            for what in _find_untrue(thing, true.get(thing.object_id)):
                yield f"{where}, object {thing.object_id} ({thing.name})", f"published, but wrong: {what}"


def _find_untrue(thing: SceneObject, real: SceneObject | None) -> list[str]:
    box = (thing.name, thing.x, thing.y, thing.w, thing.h)
    if real is None or box != (real.name, real.x, real.y, real.w, real.h):
        return [" ".join(map(str, box))]
    relations = {f"{edge.name} {edge.object_id}" for edge in {*thing.relations} - {*real.relations}}
    return sorted({*thing.attributes} - {*real.attributes} | relations)


def regenerate_scenes(split: Split) -> list[SceneGraph]:
    """Generate the complete scenes of a split from the sample's seed."""
    from research.synthetic_world.build import SEED
    from research.synthetic_world.scene_graphs import build_complete_graph
    from research.synthetic_world.scenes import SPLIT_SIZES, generate_scenes

    return [build_complete_graph(world) for world in generate_scenes(SEED, split, SPLIT_SIZES[split])]


def load_sample(
    home: Path,
) -> tuple[
    dict[Split, dict[str, CheckedQuestion]], dict[Split, dict[str, SceneGraph]], dict[str, SceneGraph]
]:
    """Load questions and complete scenes by split and id, and the published graphs, of the sample in a
    folder.
    """
    problems = Problems(f"{home}: files that cannot be read")
    entries: dict[Split, dict[str, CheckedQuestion]] = {
        split: read_json(
            home / f"source/questions1.2/{split}_balanced_questions.json", dict[str, CheckedQuestion]
        )
        for split in SPLITS
    }
    truths: dict[Split, list[SceneGraph]] = {
        "testdev": list(read_scene_graphs(home / "truth", ("testdev",), problems, is_complete=True))
    }
    published = list(read_scene_graphs(home / "source/sceneGraphs", PUBLISHED_SPLITS, problems))
    problems.raise_if_any()
    truths |= {split: regenerate_scenes(split) for split in PUBLISHED_SPLITS}
    return entries, {split: _by_image(scenes) for split, scenes in truths.items()}, _by_image(published)


def _by_image(scenes: list[SceneGraph]) -> dict[str, SceneGraph]:
    return {scene.image_id: scene for scene in scenes}


def verify_sample() -> None:
    """Check the files in data/sample.

    Raises:
        UserError: There are faults. The message lists all of them.
    """
    home = DatasetFolders("sample").root
    entries, truths, published = load_sample(home)
    problems = Problems(f"{home} differs from its scenes")
    for split in track(SPLITS, "verify", unit="split"):
        for where, what in find_question_faults(entries[split], truths[split]):
            problems.add(f"{split}, {where}", what)
    for where, what in find_graph_faults(published, truths["train"] | truths["val"]):
        problems.add(where, what)
    problems.raise_if_any()
    asked = sum(map(len, entries.values()))
    report_written(
        "verify",
        f"{format_count(asked, 'question')} with one right answer each, {len(published):,} true graphs",
        home,
    )
