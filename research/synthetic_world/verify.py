"""Check each question of the sample against the complete truth by a program executor that shares no code with
the generator of the questions, and the published graphs against it: `rgqa sample verify`.

Reads   data/sample/source (questions, published graphs) and data/sample/truth; the truth of train and val is
        not committed: it is drawn again from the seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from pipeline.core.errors import Problems, counted
from pipeline.core.json_files import read_json
from pipeline.core.paths import Folders
from pipeline.core.progress import done, track
from pipeline.core.records import Scene, SceneObject, Split
from pipeline.sources.gqa_files import scenes as read_scenes
from pipeline.verifier.evidence import facts_of
from research.synthetic_world.question_checks import LEXICON, CheckedQuestion, faults_of

PUBLISHED: tuple[Split, ...] = ("train", "val")
SPLITS: tuple[Split, ...] = ("testdev", *PUBLISHED)


def question_faults(
    entries: Mapping[str, CheckedQuestion], truths: Mapping[str, Scene]
) -> Iterator[tuple[str, str]]:
    """(where, what) of everything wrong with the questions of one split; `truths` are its complete scenes."""
    known = {picture_id: facts_of(scene, LEXICON) for picture_id, scene in truths.items()}
    for question_id, entry in sorted(entries.items()):
        where = f"question {question_id} ({entry.question})"
        if entry.image_id not in known:
            yield where, f"its picture {entry.image_id} has no complete scene graph"
            continue
        for fault in faults_of(question_id, entry, entries, known[entry.image_id]):
            yield where, fault


def graph_faults(published: Mapping[str, Scene], truths: Mapping[str, Scene]) -> Iterator[tuple[str, str]]:
    """(where, what) of everything that published graphs state and that is not so."""
    for picture_id, scene in sorted(published.items()):
        where, truth = f"picture {picture_id}", truths.get(picture_id)
        if truth is None:
            yield where, "published, but it has no complete scene graph"
            continue
        if (scene.location, scene.weather) != (truth.location, truth.weather):
            yield where, f"is a {truth.location} {truth.weather}, not a {scene.location} {scene.weather}"
        true = {thing.object_id: thing for thing in truth.objects}
        for thing in scene.objects:
            for what in _untrue(thing, true.get(thing.object_id)):
                yield f"{where}, object {thing.object_id} ({thing.name})", f"published, but not so: {what}"


def _untrue(thing: SceneObject, real: SceneObject | None) -> list[str]:
    box = (thing.name, thing.x, thing.y, thing.w, thing.h)
    if real is None or box != (real.name, real.x, real.y, real.w, real.h):
        return [" ".join(map(str, box))]
    relations = {f"{edge.name} {edge.object_id}" for edge in {*thing.relations} - {*real.relations}}
    return sorted({*thing.attributes} - {*real.attributes} | relations)


def drawn_again(split: Split) -> list[Scene]:
    """The complete scenes of a split, from the sample's seed."""
    from research.synthetic_world.build import SEED
    from research.synthetic_world.scene_graphs import truth
    from research.synthetic_world.scenes import SPLIT_SIZES, worlds

    return [truth(world) for world in worlds(SEED, split, SPLIT_SIZES[split])]


def load(
    home: Path,
) -> tuple[dict[Split, dict[str, CheckedQuestion]], dict[Split, dict[str, Scene]], dict[str, Scene]]:
    """Of the sample in a folder: questions and complete scenes by split and id, and the published graphs."""
    problems = Problems(f"{home}: files that cannot be read")
    entries: dict[Split, dict[str, CheckedQuestion]] = {
        split: read_json(
            home / f"source/questions1.2/{split}_balanced_questions.json", dict[str, CheckedQuestion]
        )
        for split in SPLITS
    }
    truths: dict[Split, list[Scene]] = {
        "testdev": list(read_scenes(home / "truth", ("testdev",), problems, complete=True))
    }
    published = list(read_scenes(home / "source/sceneGraphs", PUBLISHED, problems))
    problems.raise_if_any()
    truths |= {split: drawn_again(split) for split in PUBLISHED}
    return entries, {split: _by_picture(scenes) for split, scenes in truths.items()}, _by_picture(published)


def _by_picture(scenes: list[Scene]) -> dict[str, Scene]:
    return {scene.picture_id: scene for scene in scenes}


def verify_sample() -> None:
    """Check the sample as it lies in data/sample.

    Raises:
        UserError: lists everything that is wrong.
    """
    home = Folders("sample").home
    entries, truths, published = load(home)
    problems = Problems(f"{home} is not true to its scenes")
    for split in track(SPLITS, "verifying", unit="split"):
        for where, what in question_faults(entries[split], truths[split]):
            problems.add(f"{split}, {where}", what)
    for where, what in graph_faults(published, truths["train"] | truths["val"]):
        problems.add(where, what)
    problems.raise_if_any()
    asked = sum(map(len, entries.values()))
    done(
        "verify",
        f"{counted(asked, 'question')} with one right answer each, {len(published):,} true graphs",
        home,
    )
