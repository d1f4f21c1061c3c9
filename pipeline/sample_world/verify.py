"""Check every question of the sample against the complete truth, by a program executor that shares no code with the
generator of the questions.

    python -m pipeline.sample_world.verify        lists everything that is wrong and exits with 1

Reads   data/sample/source (questions, published graphs), data/sample/truth; the truth of train and val, which is not
        committed, is drawn again from the seed.

Checked: each answer is right and the only right one; the object ids in a program exist, have the name that stands
beside them and are among the things its steps find; `-` stands only where nothing is found; annotations point to
words that name their object; entailed and equivalent questions exist, are of the same picture and follow from the
answer; semanticStr says what the program says; published graphs state nothing that is not so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from pipeline.core.errors import Problems, UserError, run
from pipeline.core.files import read_json
from pipeline.core.paths import Folders
from pipeline.core.progress import done, track
from pipeline.core.records import Scene, Split, Step
from pipeline.judge.execute import Outcome, execute
from pipeline.judge.facts import Facts, facts_of
from pipeline.judge.names import ANYTHING, Lexicon, same_answer, singular, spoken
from pipeline.judge.programs import FINDS, SCENE, Operation, parse
from pipeline.judge.reconstruct import Notes
from pipeline.sample_world.ontology import ATTRIBUTE_TYPES, CATEGORIES
from pipeline.sources.gqa import scenes as read_scenes

SPLITS: tuple[Split, ...] = ("testdev", "train", "val")
LEXICON = Lexicon(CATEGORIES, ATTRIBUTE_TYPES)


class Words(msgspec.Struct, frozen=True, rename="camel"):
    """GQA's annotations: positions of words ("3", or "2:4" for words 2 and 3) -> object id."""

    question: dict[str, str]
    answer: dict[str, str]
    full_answer: dict[str, str]


class Entry(msgspec.Struct, frozen=True, rename="camel"):
    """What is checked of an entry of a question file."""

    image_id: str
    question: str
    answer: str
    full_answer: str
    semantic: tuple[Step, ...]
    semantic_str: str
    annotations: Words
    entailed: tuple[str, ...]
    equivalent: tuple[str, ...]


def faults(entries: Mapping[str, Entry], truths: Mapping[str, Scene]) -> Iterator[tuple[str, str]]:
    """(where, what) of everything wrong with the questions of one split."""
    known = {picture_id: facts_of(scene, LEXICON) for picture_id, scene in truths.items()}
    for question_id, entry in sorted(entries.items()):
        where = f"question {question_id} ({entry.question})"
        if entry.image_id not in known:
            yield where, f"its picture {entry.image_id} has no true scene graph"
            continue
        try:
            program = parse(entry.semantic, question_id)
        except UserError as error:
            yield from ((where, line) for line in error.problems[1:])
            continue
        facts = known[entry.image_id]
        outcome = execute(program, facts)
        for fault in (
            *_answer(entry, outcome), *_ids(program, entry.answer, outcome, facts), *_annotations(entry, program, facts),
            *_others(question_id, entry, entries), *_spelling(entry),
        ):
            yield where, fault


def graph_faults(published: Mapping[str, Scene], truths: Mapping[str, Scene]) -> Iterator[tuple[str, str]]:
    """Facts of published graphs that do not hold."""
    for picture_id, scene in sorted(published.items()):
        if picture_id not in truths:
            yield f"picture {picture_id}", "published, but not among the true scene graphs"
            continue
        truth, true = truths[picture_id], {thing.object_id: thing for thing in truths[picture_id].objects}
        if (scene.location, scene.weather) != (truth.location, truth.weather):
            yield f"picture {picture_id}", f"is a {truth.location} {truth.weather}, not a {scene.location} {scene.weather}"
        for thing in scene.objects:
            real = true.get(thing.object_id)
            wrong = [thing.name] if not real or _box(thing) != _box(real) else [
                *(set(thing.attributes) - set(real.attributes)), *(f"{r.name} {r.object_id}" for r in set(thing.relations) - set(real.relations))
            ]
            for what in sorted(wrong):
                yield f"picture {picture_id}, object {thing.object_id}", f"published as {what}, which it is not"


def _box(thing) -> tuple:
    return thing.name, thing.x, thing.y, thing.w, thing.h


def _answer(entry: Entry, outcome: Outcome) -> Iterator[str]:
    if outcome.answerability != "answerable":
        yield f"has no single answer: {outcome.category or outcome.answerability}: {outcome.detail}"
    elif outcome.answers != (entry.answer,):
        yield f"the answer is {' or '.join(outcome.answers or outcome.possible)}, not {entry.answer}"


def _ids(program: tuple[Operation, ...], answer: str, outcome: Outcome, facts: Facts) -> Iterator[str]:
    """Ids must be of things that the program finds, and stay among them to its end; `-` means that it finds none."""
    things = {thing.object_id: thing for thing in facts.things}
    meant: list[tuple[str, ...]] = []
    for index, operation in enumerate(program):
        meant.append(meant[operation.inputs[0]] if operation.verb == "filter" else operation.object_ids)
        found = {thing.object_id for thing in outcome.found[index]} if index < len(outcome.found) else set()
        wrong = [i for i in operation.object_ids if i not in things or singular(operation.name) not in ANYTHING
                 and LEXICON.kinds(operation.name).isdisjoint(things[i].names) and operation.name not in ANYTHING]
        for object_id in wrong:
            yield f"step {index}: {object_id} is {'a ' + things[object_id].label if object_id in things else 'no object'}, not a {operation.name}"
        needs_id = operation.verb in ("select", "relate") or operation.type == "rel"
        if needs_id and operation.name != SCENE and not operation.object_ids and not operation.absent:
            yield f"step {index}: {operation.name} has no object id"
        if operation.absent and (found or operation.verb in ("verify", "choose")):
            yield f"step {index}: - for {operation.name}, but there is one"
        if operation.verb in ("select", "filter", "relate") and not operation.asserted and not wrong:
            for object_id in meant[index]:
                if operation.name != SCENE and object_id not in found:
                    yield f"step {index}: {object_id} is not among what {operation.verb} finds"
        anchors = [i for i in operation.inputs[:1] for i in meant[i]]
        if operation.values and operation.object_ids and not wrong and (operation.type == "rel" or not operation.asserted):
            yield from _pairs(index, operation, answer if index == len(program) - 1 else "", anchors, things, facts)


def _pairs(index: int, operation: Operation, answer: str, anchors: list[str], things: dict, facts: Facts) -> Iterator[str]:
    """The relation must hold (or not, as the answer says) between the very objects that the ids name."""
    for mine in operation.object_ids:
        for theirs in anchors:
            if theirs in things:
                pair = (things[mine], things[theirs]) if operation.subject else (things[theirs], things[mine])
                held = [name for name in operation.values if facts.holds(pair[0], name, pair[1])]
                right = bool(held) if operation.verb == "relate" else (
                    [spoken(name) for name in held] == [answer] if operation.verb == "choose" else bool(held) == (answer == "yes"))
                if not right and (answer or operation.verb == "relate"):
                    yield f"step {index}: {pair[0].object_id} is {' and '.join(held) or 'not ' + operation.values[0]} {pair[1].object_id}"


def _annotations(entry: Entry, program: tuple[Operation, ...], facts: Facts) -> Iterator[str]:
    things = {thing.object_id: thing for thing in facts.things}
    spoken_of = {i for operation in program for i in operation.object_ids}
    for kind, text, marks in (
        ("question", entry.question, entry.annotations.question), ("answer", entry.answer, entry.annotations.answer),
        ("full answer", entry.full_answer, entry.annotations.full_answer),
    ):
        words = text.split()
        for position, object_id in marks.items():
            start, _, end = position.partition(":")
            span = words[int(start):int(end or int(start) + 1)]
            if object_id not in things:
                yield f"the {kind} is annotated with {object_id}, which is no object of the picture"
            elif not _names(span, things[object_id].names):
                yield f"the {kind}'s words {position} ({' '.join(span)}) do not name {object_id}, a {things[object_id].label}"
            elif kind != "full answer" and object_id not in spoken_of:
                yield f"the {kind} is annotated with {object_id}, which its program does not name"
        if not text:
            yield f"the {kind} is empty"
    said = " ".join(singular(word.strip("?,")) for word in entry.question.lower().split())
    marked = set(entry.annotations.question.values())
    for operation in program:
        if operation.object_ids and marked.isdisjoint(operation.object_ids) and f" {singular(operation.name)} " in f" {said} ":
            yield f"the question names {' '.join(operation.object_ids)}, a {operation.name}, but no word is annotated with it"


def _names(words: list[str], names: tuple[str, ...]) -> bool:
    """Whether some of the words, in a row, are a name or a category of the object."""
    plain = [word.lower().strip("?.,'") for word in words]
    for start in range(len(plain)):
        for end in range(start + 1, len(plain) + 1):
            kinds = LEXICON.kinds(" ".join(plain[start:end]))
            if kinds and not kinds.isdisjoint(names):
                return True
    return False


def _others(question_id: str, entry: Entry, entries: Mapping[str, Entry]) -> Iterator[str]:
    if question_id not in entry.equivalent:
        yield "is not among its own equivalent questions"
    for kind, ids in (("entailed", entry.entailed), ("equivalent", entry.equivalent)):
        for other_id in ids:
            other = entries.get(other_id)
            if other is None or other.image_id != entry.image_id:
                yield f"{kind} {other_id}: no question of this picture"
            elif other_id != question_id:
                if kind == "equivalent" and not same_answer(other.answer, entry.answer):
                    yield f"equivalent {other_id} has another answer: {other.answer}"
                told = _told(entry, other_id, other)
                if told.possible != (other.answer,):
                    yield f"{kind} {other_id} ({other.question} {other.answer}): does not follow: {told.detail or ' or '.join(told.possible)}"


def _told(entry: Entry, other_id: str, other: Entry) -> Outcome:
    """What the answer to one question tells of another about the same objects, told apart by their ids. What the
    other presupposes is granted: it is a question with an answer."""
    notes = Notes(LEXICON)
    notes.read(parse(entry.semantic), entry.answer)
    program: list[Operation] = []
    steps = parse(other.semantic, other_id)
    for operation in steps:
        ids = program[operation.inputs[0]].object_ids if operation.verb == "filter" else operation.object_ids
        bare = operation.verb == "select" and operation.asserted and not any(step.verb == "filter" for step in steps)
        if ids and not bare:
            alias = "#" + ",".join(ids)
            notes.name(alias, ids)
            notes.used_alone.add(alias)
            if operation.verb == "select" or operation.verb in FINDS and not operation.asserted:
                operation = Operation(verb="select", name=alias, object_ids=ids)
            else:
                operation = msgspec.structs.replace(operation, name=alias, object_ids=ids)
        program.append(operation)
    return execute(program, notes.facts())


def _spelling(entry: Entry) -> Iterator[str]:
    said = "->".join(
        f"{step.operation}: {step.argument}" + (f" [{', '.join(map(str, step.dependencies))}]" if step.dependencies else "")
        for step in entry.semantic
    )
    if said != entry.semantic_str:
        yield f"semanticStr is not the program: {said}"
    if entry.answer not in ("yes", "no") and entry.answer not in entry.full_answer.lower():
        yield f"the full answer does not say {entry.answer}: {entry.full_answer}"
    if entry.answer in ("yes", "no") and not entry.full_answer.lower().startswith(entry.answer):
        yield f"the full answer does not say {entry.answer}: {entry.full_answer}"


def load(home: Path, problems: Problems) -> tuple[dict[Split, dict[str, Entry]], dict[Split, dict[str, Scene]], dict[str, Scene]]:
    """Questions, true scenes (by split) and published graphs of the sample in a folder."""
    entries = {split: read_json(home / f"source/questions1.2/{split}_balanced_questions.json", dict[str, Entry]) for split in SPLITS}
    truths = {"testdev": read_scenes(home / "truth", ("testdev",), problems, complete=True)} | {split: _drawn_again(split) for split in SPLITS[1:]}
    published = read_scenes(home / "source/sceneGraphs", ("train", "val"), problems)
    by_id = {split: {scene.picture_id: scene for scene in scenes} for split, scenes in truths.items()}
    return entries, by_id, {scene.picture_id: scene for scene in published}


def _drawn_again(split: Split) -> list[Scene]:
    from pipeline.sample_world.build import SEED
    from pipeline.sample_world.graphs import truth
    from pipeline.sample_world.scenes import SPLIT_SIZES, worlds

    return [truth(world) for world in worlds(SEED, split, SPLIT_SIZES[split])]


def main() -> None:
    home = Folders("sample").home
    problems = Problems(f"{home} is not true to its scenes")
    entries, truths, published = load(home, problems)
    for split in track(SPLITS, "verifying", unit="split"):
        for where, what in faults(entries[split], truths[split]):
            problems.add(f"{split}, {where}", what)
    for where, what in graph_faults(published, truths["train"] | truths["val"]):
        problems.add(where, what)
    problems.raise_if_any()
    asked = sum(map(len, entries.values()))
    done("verify", f"{asked:,} questions, each with the one right answer; {len(published)} published graphs, all true", home)


if __name__ == "__main__":
    run(main)
