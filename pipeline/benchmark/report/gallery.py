"""Make the gallery of the report.

The gallery shows random unanswerable questions (UQs) of every subset, with everything that the pipeline knows
about them.
"""

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

# With a fixed seed the same run always shows the same items.
SEED = 20231001
# Maximum number of items per subset. It keeps the page below 10 MB.
MAX_CARDS = 25
# Maximum length of the longer side in pixels and maximum size in bytes, for the image of an item and for the
# image of its paired question. A gallery with 4 x 25 items has at most (40,000 + 12,000) x 100 x 4/3 (Base64)
# = 6.9 MB of images.
LARGE_IMAGE, SMALL_IMAGE = (400, 40_000), (180, 12_000)
Highlight = Literal["", "edit", "agreement"]
TOKEN_PATTERN = re.compile(r"\w+(?:['-]\w+)*|[^\w\s]")


class TextSpan(Record):
    """A part of a text.

    Attributes:
        text: The part.
        highlight: "edit" for an edit, "agreement" for a change that follows from an edit (a/an, is/are,
            capitals), or "" for unchanged text.
    """

    text: str
    highlight: Highlight = ""


class Vote(Record):
    """The vote of one annotator about a candidate.

    Attributes:
        annotator: The pseudonym of the annotator.
        choice: The choice of the annotator.
        reason: The reason that the annotator gave, or "".
        exclusion_reason: Why the vote does not count, or "" if it counts.
    """

    annotator: str
    choice: str
    reason: str = ""
    exclusion_reason: str = ""


class HighlightedObjects(Record):
    """The objects that a question mentions.

    Attributes:
        boxes: Objects that are shown with a box.
        edited_ids: Ids of the objects whose name or description was edited in the question.
        unlisted_names: Names in the question that no object of the graph has. The image may still show such
            an object.
    """

    boxes: tuple[SceneObject, ...] = ()
    edited_ids: frozenset[str] = frozenset()
    unlisted_names: tuple[str, ...] = ()


class GalleryCard(Record):
    """One UQ of the gallery.

    Attributes:
        item: The UQ.
        image: The image as a data URI.
        objects: The objects that the UQ mentions.
        text, source: The text of the UQ and of its source question, with highlighted edits.
        known_facts: Facts stated by other questions about the image, if the verifier used them.
        votes: The votes about the UQ.
        paired_question: The answerable question (AQ) that is paired with the UQ, or None if it is not known.
        paired_image: The image of the AQ as a data URI, or "" if it is the same image.
    """

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
    """Return `count` random UQs, sorted by id. If there are fewer UQs, return all of them."""
    uqs = sorted((item for item in items if item.unanswerable), key=lambda item: item.item_id)
    chosen = make_generator(SEED, "report", subset).permutation(len(uqs))[:count]
    return [uqs[i] for i in sorted(chosen)]


def make_gallery(run: PipelineRun, count: int) -> dict[Subset, list[GalleryCard]]:
    """Return `count` cards of every subset."""
    lexicon = Lexicon(run.vocabulary.categories, run.vocabulary.attribute_types)
    chosen = [item for subset, items in run.items.items() for item in sample_uqs(items, count, subset)]
    cards: dict[Subset, list[GalleryCard]] = {subset: [] for subset in run.items}
    for item in track(chosen, "report: gallery", unit="item"):
        cards[item.subset].append(make_card(item, run, lexicon))
    return cards


def make_card(item: Item, run: PipelineRun, lexicon: Lexicon) -> GalleryCard:
    """Return the card of one UQ."""
    source, verified = run.questions[item.question_id], run.verified[item.item_id]
    before, after = highlight_edits(source.text, item.text, item.edits)
    paired = run.questions.get(item.pair_id.partition("+")[2])
    has_other_image = paired is not None and paired.image_id != item.image_id
    uses_questions = verified.verifier_result.evidence_source == "other questions"
    return GalleryCard(
        item=item,
        image=make_image_data_uri(run.images[item.image_id].path, LARGE_IMAGE),
        objects=find_objects(item, source, run.scenes.get(item.image_id), lexicon),
        text=after,
        source=before,
        known_facts=cite_facts(verified.candidate.program, run.reconstructed[item.image_id], lexicon)
        if uses_questions
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
        paired_question=paired,
        paired_image=make_image_data_uri(run.images[paired.image_id].path, SMALL_IMAGE)
        if paired and has_other_image
        else "",
    )


def make_vote(task: Task, verdict: Verdict, candidate_id: str, exclusion_reason: str) -> Vote:
    """Return the verdict of an annotator on one candidate of a task."""
    choice, reason = next(
        (choice, reason)
        for question, choice, reason in split_verdict(task, verdict)
        if question.candidate_id == candidate_id
    )
    text = "unsure (counts as valid)" if choice == "unsure" else choice
    return Vote(annotator=verdict.annotator, choice=text, reason=reason, exclusion_reason=exclusion_reason)


def find_objects(
    item: Item, source: Question, scene: SceneGraph | None, lexicon: Lexicon
) -> HighlightedObjects:
    """Return the objects of the published scene graph that a question mentions, sorted from left to right.

    For a question about its own image (a PT item), these are the objects in the program of its source
    question. For a question of another image (a CLIP item), these are all objects with the names in the
    question. Without a scene graph (None) there are no boxes.
    """
    if scene is None or not source.program:
        return HighlightedObjects()
    program = parse_program(source.program, source.question_id)
    edited: set[str] = set()
    unlisted: list[str] = []
    if source.image_id == item.image_id:
        named = {key for operation in program for key in operation.object_ids}
        # An edited attribute belongs to the object that it describes.
        edited_steps = {
            find_root_step(program, edit.step_index) for edit in item.edits if edit.step_index >= 0
        }
        edited = {key for step in edited_steps for key in program[step].object_ids}
    else:
        facts = build_scene_evidence(scene, lexicon)
        selections = [op for op in program if op.verb in ("select", "relate")]
        names = dict.fromkeys(
            op.name
            for op in selections
            if op.name not in (SCENE, "") and lexicon.get_hyponym_closure(op.name) is not None
        )
        objects_by_name = {name: facts.select_objects(name).certain for name in names}
        named = {obj.object_id for objects in objects_by_name.values() for obj in objects}
        unlisted = [name for name, objects in objects_by_name.items() if not objects]
    boxes = [obj for obj in scene.objects if obj.object_id in named]
    boxes.sort(key=lambda obj: (obj.x, obj.y, obj.object_id))
    return HighlightedObjects(
        boxes=tuple(boxes), edited_ids=frozenset(edited), unlisted_names=tuple(unlisted)
    )


def highlight_edits(source: str, edited: str, edits: Sequence[Edit]) -> tuple[list[TextSpan], list[TextSpan]]:
    """Return the source text and the edited text as spans with highlighted changes.

    The words of both texts are aligned. A word of the source that differs is part of an edit if the edit
    covers its characters. A word of the edited text is part of an edit if the edit inserted it. All other
    differences are agreement changes.
    """
    old, new = list(TOKEN_PATTERN.finditer(source)), list(TOKEN_PATTERN.finditer(edited))
    old_marks: list[Highlight] = [""] * len(old)
    new_marks: list[Highlight] = [""] * len(new)
    aligned = SequenceMatcher(None, [word[0] for word in old], [word[0] for word in new], autojunk=False)
    for kind, i, j, k, m in aligned.get_opcodes():
        if kind != "equal":
            named = [any(edit.start < w.end() and w.start() < edit.end for edit in edits) for w in old[i:j]]
            inserted = _is_inserted([word[0].lower() for word in new[k:m]], edits)
            # The form of an inserted word may differ from the form in the edit.
            if any(named) and not any(inserted):
                inserted = [True] * (m - k)
            old_marks[i:j] = ["edit" if by_edit else "agreement" for by_edit in named]
            new_marks[k:m] = ["edit" if by_edit else "agreement" for by_edit in inserted]
    return _make_spans(source, old, old_marks), _make_spans(edited, new, new_marks)


def _is_inserted(words: Sequence[str], edits: Sequence[Edit]) -> list[bool]:
    """Return for each word whether an edit inserted it.

    An edit inserted the longest run of words that occurs in the new text of the edit.
    """
    inserted = [False] * len(words)
    for edit in edits:
        new_words = [word[0].lower() for word in TOKEN_PATTERN.finditer(edit.new)]
        match = SequenceMatcher(None, words, new_words, autojunk=False).find_longest_match()
        inserted[match.a : match.a + match.size] = [True] * match.size
    return inserted


def _make_spans(text: str, words: Sequence[re.Match[str]], marks: Sequence[Highlight]) -> list[TextSpan]:
    """Return the spans of a text. Neighbouring words with the same highlight form one span."""
    highlights: list[Highlight] = [""] * len(text)
    for mark, neighbours in groupby(zip(words, marks, strict=True), key=itemgetter(1)):
        positions = [word.span() for word, _ in neighbours]
        start, end = positions[0][0], positions[-1][1]
        highlights[start:end] = [mark] * (end - start)
    runs = groupby(zip(text, highlights, strict=True), key=itemgetter(1))
    return [TextSpan(text="".join(character for character, _ in run), highlight=mark) for mark, run in runs]
