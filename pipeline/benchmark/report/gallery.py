"""A gallery: some UQs of every subset, drawn by lot, each with all that the pipeline knows of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import groupby
from operator import itemgetter
from typing import Literal

from annotation.study.answers_table import split_verdict
from pipeline.benchmark.report.pipeline_run import PipelineRun
from pipeline.core.progress import track
from pipeline.core.randomness import make_generator
from pipeline.core.records import Edit, Item, Question, Record, SceneGraph, SceneObject, Subset, Task, Verdict
from pipeline.core.rendering import make_image_data_uri
from pipeline.language.functional_programs import SCENE, find_root_step, parse_program
from pipeline.language.lexicon import Lexicon
from pipeline.verifier.evidence import build_scene_evidence
from pipeline.verifier.partial_graphs import CitedFact, cite_facts

SEED = 20231001  # of the draw: the same run shows the same items
MAX_CARDS = 25  # items of a subset, so that the page stays below 10 MB
# Pixels of the longer side and most bytes: of an item's image, and of that of the question beside it. With the most
# items that a gallery may have, 4 x 25, all of them come to (40,000 + 12,000) x 100 x 4/3 (base64) = 6.9 MB.
LARGE_IMAGE, SMALL_IMAGE = (400, 40_000), (180, 12_000)
Highlight = Literal["", "edit", "agreement"]
TOKEN_PATTERN = re.compile(r"\w+(?:['-]\w+)*|[^\w\s]")


class TextSpan(Record):
    """Some characters of a text. `mark` is empty where nothing changed, "edit" for an edit, "agreement" for what had
    to follow it (a/an, is/are, capitals)."""

    text: str
    highlight: Highlight = ""


class Vote(Record):
    """What one annotator said of the candidate. `aside` is why it does not count, "" if it does."""

    annotator: str
    choice: str
    reason: str = ""
    exclusion_reason: str = ""


class HighlightedObjects(Record):
    """Objects that get a box, ids of those of them where the question was edited, and the names in the question of which
    the graph lists no object (which does not prove there is none)."""

    boxes: tuple[SceneObject, ...] = ()
    edited_ids: frozenset[str] = frozenset()
    unlisted_names: tuple[str, ...] = ()


class GalleryCard(Record):
    """What the page tells of one UQ beside the records of the run. `text` and `source` (the source question's text) are
    in pieces, so that edits can be marked. `known`: facts stated by the image's questions, where the judgement is by
    them. `beside` is the AQ of its pair. Images are `data:` addresses; `beside_image` is "" where the AQ is of the
    same image."""

    item: Item
    image: str
    objects: HighlightedObjects
    text: list[TextSpan]
    source: list[TextSpan]
    known_facts: list[CitedFact]
    votes: list[Vote]
    paired_question: Question | None
    paired_image: str


def sample_uqs(items: Sequence[Item], count: int, subset: Subset) -> list[Item]:
    """`count` of the UQs, or all if there are fewer, by lot; in the order of their ids."""
    uqs = sorted((item for item in items if item.unanswerable), key=lambda item: item.item_id)
    lot = make_generator(SEED, "report", subset).permutation(len(uqs))[:count]
    return [uqs[i] for i in sorted(lot)]


def make_gallery(run: PipelineRun, count: int) -> dict[Subset, list[GalleryCard]]:
    """`count` cards of every subset."""
    lexicon = Lexicon(run.vocabulary.categories, run.vocabulary.attribute_types)
    chosen = [item for subset, items in run.items.items() for item in sample_uqs(items, count, subset)]
    cards: dict[Subset, list[GalleryCard]] = {subset: [] for subset in run.items}
    for item in track(chosen, "report: gallery", unit="item"):
        cards[item.subset].append(make_card(item, run, lexicon))
    return cards


def make_card(item: Item, run: PipelineRun, lexicon: Lexicon) -> GalleryCard:
    """All that is shown of one UQ."""
    source, verified = run.questions[item.question_id], run.verified[item.item_id]
    before, after = highlight_edits(source.text, item.text, item.edits)
    beside = run.questions.get(item.pair_id.partition("+")[2])
    elsewhere = beside is not None and beside.image_id != item.image_id
    told = verified.verifier_result.evidence_source == "other questions"
    return GalleryCard(
        item=item,
        image=make_image_data_uri(run.images[item.image_id].path, LARGE_IMAGE),
        objects=find_objects(item, source, run.scenes.get(item.image_id), lexicon),
        text=after,
        source=before,
        known_facts=cite_facts(verified.candidate.program, run.reconstructed[item.image_id], lexicon)
        if told
        else [],
        votes=[
            make_vote(
                run.tasks[v.task_id],
                v,
                item.item_id,
                run.exclusion_reasons.get((v.verdict_id, item.item_id), ""),
            )
            for v in (run.verdicts[key] for key in verified.verdict_ids)
        ],
        paired_question=beside,
        paired_image=make_image_data_uri(run.images[beside.image_id].path, SMALL_IMAGE)
        if beside and elsewhere
        else "",
    )


def make_vote(task: Task, verdict: Verdict, candidate_id: str, exclusion_reason: str) -> Vote:
    """An annotator's word on one candidate of a task."""
    choice, why = next(
        (said, why) for asked, said, why in split_verdict(task, verdict) if asked.candidate_id == candidate_id
    )
    words = "unsure (counts as valid)" if choice == "unsure" else choice
    return Vote(annotator=verdict.annotator, choice=words, reason=why, exclusion_reason=exclusion_reason)


def find_objects(
    item: Item, source: Question, scene: SceneGraph | None, lexicon: Lexicon
) -> HighlightedObjects:
    """Boxes of the objects that a question speaks of, from the published scene graph of the image it is asked of, the
    evidence that the pipeline itself has: no graph, no boxes. They are sorted from the left.

    A question of the image's own (an AQ, a PT item) has object ids in its source's program; they are the boxes. Of
    a question of another image (a CLIP item) all objects that answer to the names in it are.
    """
    if scene is None or not source.program:
        return HighlightedObjects()
    program = parse_program(source.program, source.question_id)
    edited: set[str] = set()
    unlisted: list[str] = []
    if source.image_id == item.image_id:
        named = {key for operation in program for key in operation.object_ids}
        # An edited look belongs to the thing that it narrows.
        touched = {find_root_step(program, edit.step_index) for edit in item.edits if edit.step_index >= 0}
        edited = {key for step in touched for key in program[step].object_ids}
    else:
        facts, asked = (
            build_scene_evidence(scene, lexicon),
            [op for op in program if op.verb in ("select", "relate")],
        )
        names = dict.fromkeys(
            op.name
            for op in asked
            if op.name not in (SCENE, "") and lexicon.get_hyponym_closure(op.name) is not None
        )
        things = {name: facts.select_objects(name).certain for name in names}
        named = {thing.object_id for found in things.values() for thing in found}
        unlisted = [name for name, found in things.items() if not found]
    objects = [thing for thing in scene.objects if thing.object_id in named]
    objects.sort(key=lambda thing: (thing.x, thing.y, thing.object_id))
    return HighlightedObjects(
        boxes=tuple(objects), edited_ids=frozenset(edited), unlisted_names=tuple(unlisted)
    )


def highlight_edits(source: str, edited: str, edits: Sequence[Edit]) -> tuple[list[TextSpan], list[TextSpan]]:
    """The source text and the edited one in pieces; each list, joined, is the whole text again.

    The words of both texts are aligned. Of those that differ, the source's are an edit's if it names their
    characters, the edited text's if it put them in; the others follow from an edit.
    """
    old, new = list(TOKEN_PATTERN.finditer(source)), list(TOKEN_PATTERN.finditer(edited))
    old_marks: list[Highlight] = [""] * len(old)
    new_marks: list[Highlight] = [""] * len(new)
    aligned = SequenceMatcher(None, [word[0] for word in old], [word[0] for word in new], autojunk=False)
    for kind, i, j, k, m in aligned.get_opcodes():
        if kind != "equal":
            named = [any(edit.start < w.end() and w.start() < edit.end for edit in edits) for w in old[i:j]]
            put_in = _is_inserted([word[0].lower() for word in new[k:m]], edits)
            if any(named) and not any(put_in):
                put_in = [True] * (m - k)  # put in another form than the edit notes
            old_marks[i:j] = ["edit" if by_edit else "agreement" for by_edit in named]
            new_marks[k:m] = ["edit" if by_edit else "agreement" for by_edit in put_in]
    return _make_spans(source, old, old_marks), _make_spans(edited, new, new_marks)


def _is_inserted(words: Sequence[str], edits: Sequence[Edit]) -> list[bool]:
    """Which of the words an edit put in: any run of them that its new text has in a row."""
    put_in = [False] * len(words)
    for edit in edits:
        wanted = [word[0].lower() for word in TOKEN_PATTERN.finditer(edit.new)]
        same = SequenceMatcher(None, words, wanted, autojunk=False).find_longest_match()
        put_in[same.a : same.a + same.size] = [True] * same.size
    return put_in


def _make_spans(text: str, words: Sequence[re.Match[str]], marks: Sequence[Highlight]) -> list[TextSpan]:
    """Neighbours of one mark as one piece, and what lies between."""
    mark_of: list[Highlight] = [""] * len(text)
    for mark, neighbours in groupby(zip(words, marks, strict=True), key=itemgetter(1)):
        places = [word.span() for word, _ in neighbours]
        start, end = places[0][0], places[-1][1]
        mark_of[start:end] = [mark] * (end - start)
    runs = groupby(zip(text, mark_of, strict=True), key=itemgetter(1))
    return [TextSpan(text="".join(character for character, _ in run), highlight=mark) for mark, run in runs]
