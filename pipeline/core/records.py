"""Records that stages write and read: the schema of every JSONL file in `data/`.

A *question* belongs to the source. A *candidate* is an image-question pair that may be unanswerable. An
annotator answers a task, which has two questions: a *choice* is the answer to one question (valid, invalid or
unsure), a *verdict* holds both choices, and a *vote* is a choice about a candidate that counts. An *item* is
a released row. The docstring of `pipeline` explains UQ, AQ, and the CLIP and PT subsets. All ids are strings,
because ids of GQA have leading zeros.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, dataclass_transform

import msgspec

# A split of the source. An `Item` has another kind of split, validation or test.
Split = Literal["testdev", "train", "val", "test"]
# clip-*: unedited questions of other images, chosen by CLIP similarity. clip-easy has questions with a low
# similarity to the image, clip-hard has questions with a high similarity. pt-*: edited (perturbed) questions
# of the image itself. pt-easy replaces objects; pt-hard replaces attributes and relations. Only `rgqa sample
# counterfactual-pairs` makes the subset "counterfactual"; the pipeline never does. drafted-aq is no subset of the
# benchmark: it has questions that a model wrote as answerable, which annotators judge before they can become AQs.
Subset = Literal["clip-easy", "clip-hard", "pt-easy", "pt-hard", "counterfactual", "drafted-aq"]
SUBSETS: tuple[Subset, ...] = ("clip-easy", "clip-hard", "pt-easy", "pt-hard")
DRAFTED_AQ: Subset = "drafted-aq"
CLIP_SUBSETS: tuple[Subset, ...] = SUBSETS[:2]
EditKind = Literal["object", "attribute", "relation"]
Category = Literal["missing object", "wrong attribute", "wrong relation", "no valid answer", "underspecified"]
Answerability = Literal["answerable", "unanswerable", "unknown"]
Choice = Literal["valid", "invalid", "unsure"]
# frame: words of the question frame, which name no object ("kind of", "photo").
WordClass = Literal["object", "attribute", "relation", "frame", "other"]
# random, popular, adversarial: see `CandidateEstimate`.
Difficulty = Literal["random", "popular", "adversarial"]
# drafted scene graph: a graph that a model drafted, which may also state what is false.
EvidenceSource = Literal["truth", "scene graph", "drafted scene graph", "other questions", "none"]


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base class of all records.

    Records are immutable, and reading a record with unknown fields is an error.
    """


class ImageRecord(Record):
    """An image file.

    Attributes:
        image_id: Id of the image.
        split: Split of the source.
        path: Path of the file, relative to the root of the project.
        width, height: Size in pixels, after rotation as EXIF says.
        sha256: SHA-256 of the file in hexadecimal digits.
    """

    image_id: str
    split: Split
    path: str
    width: int
    height: int
    sha256: str


class Step(Record):
    """A step of a functional program of GQA.

    An example is the operation `relate` with the argument `table,left of,s (123)` and the dependencies [0].

    Attributes:
        operation: Name of the operation.
        argument: Names as GQA writes them, then the object id in parentheses (`-` for an absent object).
        dependencies: Indices (from 0) of the earlier steps whose results are the inputs of this step.
    """

    operation: str
    argument: str
    dependencies: tuple[int, ...]


class Question(Record):
    """A question of the source, with its answer and program. Fields that are not explained are those of GQA.

    Attributes:
        question_id: Id of the question.
        image_id: Id of its image.
        split: Split of the source.
        text: Text of the question.
        answer: The correct answer.
        full_answer: The answer as a sentence.
        program: Steps of the functional program; empty if the program is not known.
        program_from_text: Whether the program was derived from the text
            (`pipeline/language/text_programs.py`), because the source has none.
        annotations: Word position in the question ("3" or "2:4") -> object id. Positions count from 0, and
            "2:4" means words 2 and 3.
        full_answer_annotations: Word position in the full answer -> object id.
        source_text: Text in the source if `text` is a paraphrase (`ingest.paraphrase`); "" otherwise.
        drafted_by: Name of the model that wrote question and answer (`rgqa draft`). The field is missing if no
            model is known to have written them.
    """

    question_id: str
    image_id: str
    split: Split
    text: str
    answer: str
    full_answer: str = ""
    balanced: bool = True
    structural: str = ""
    semantic: str = ""
    detailed: str = ""
    group_global: str = ""
    group_local: str = ""
    program: tuple[Step, ...] = ()
    program_from_text: bool = False
    annotations: dict[str, str] = {}
    full_answer_annotations: dict[str, str] = {}
    entailed: tuple[str, ...] = ()
    equivalent: tuple[str, ...] = ()
    source_text: str = ""
    drafted_by: str | msgspec.UnsetType = msgspec.UNSET


class Relation(Record):
    """A relation.

    Its subject is the `SceneObject` that contains this record; its object has id `object_id`.
    """

    name: str
    object_id: str


class UnusedQuestion(Record):
    """A question of the source that stage `ingest` does not use, with the reason."""

    question_id: str
    image_id: str
    split: Split
    text: str
    answer: str
    reason: str


class SceneObject(Record):
    """An object of a scene graph.

    Its box has the upper left corner (x, y), the width w and the height h, all in pixels.
    """

    object_id: str
    name: str
    x: int
    y: int
    w: int
    h: int
    attributes: tuple[str, ...] = ()
    relations: tuple[Relation, ...] = ()


class SceneGraph(Record):
    """A scene graph.

    Attributes:
        image_id: Id of the image.
        split: Split of the source.
        width, height: Size of the image in pixels.
        objects: Objects with their attributes and relations.
        location, weather: Place and weather as GQA writes them; "" if not known.
        is_complete: Whether the graph lists everything, so that everything else is false. True only for the
            complete graphs of the sample. False for published graphs, whose completeness is unknown.
        drafted_by: Name of the model that drafted the graph (`rgqa draft`). Such a graph may also state what is
            false. The field is missing if no model is known to have drafted it.
    """

    image_id: str
    split: Split
    width: int
    height: int
    objects: tuple[SceneObject, ...]
    location: str = ""
    weather: str = ""
    is_complete: bool = False
    drafted_by: str | msgspec.UnsetType = msgspec.UNSET


class ObjectEntry(Record):
    """Statistics of an object name in the scene graphs.

    Attributes:
        name: The object name.
        count: Number of objects with this name.
        number: Grammatical number of the name: singular, plural ("jeans") or mass noun ("grass").
        attributes: Attribute -> number of objects with this name that have the attribute.
        subject_of: Relation -> number of times that an object with this name is the subject of the relation.
        object_of: Relation -> number of times that an object with this name is the object of the relation.
    """

    name: str
    count: int
    number: Literal["singular", "plural", "mass"]
    attributes: dict[str, int]
    subject_of: dict[str, int] = {}
    object_of: dict[str, int] = {}


class ObjectCooccurrence(Record):
    """How often objects occur in the same image.

    Names are lemmatized, and an object counts under its name and its categories. For example, a couch also
    counts as furniture.

    Attributes:
        num_images: Number of images that were counted.
        from_questions: Whether objects were counted in questions instead of scene graphs.
        mean_names_per_image: Mean number of distinct names per image.
        image_counts: Name -> number of images that show an object with this name.
        pair_counts: First name -> second name -> number of images that show both. The second name follows the
            first in alphabetical order.
        min_pair_count: Pairs that occur in fewer images than this are omitted.
    """

    num_images: int = 0
    from_questions: bool = False
    mean_names_per_image: float = 0.0
    image_counts: dict[str, int] = {}
    pair_counts: dict[str, dict[str, int]] = {}
    min_pair_count: int = 1


class Vocabulary(Record):
    """Names of objects, attributes and relations with their frequencies, from scene graphs and questions.

    Attributes:
        objects: Object name -> its statistics.
        attributes: Attribute -> count.
        attribute_types: Attribute -> type of the attribute in GQA, if programs state the type. The step
            `filter color: red` gives {"red": "color"}.
        relations: Relation -> count.
        categories: Category -> names of the objects in the category.
        locations, weathers: Name -> count in the graphs.
        attribute_alternatives: Attribute without a type -> attributes that questions offer as alternatives to
            the attribute: {"open": ("closed",)}.
        presupposed_objects: Object name or category -> number of questions that presuppose such an object.
        presupposed_properties: Attribute, position or relation -> number of questions that presuppose the
            property.
        relation_counts: Rows (relation, name of the subject, name of the object, count), sorted. "Left of"
            and "right of" are omitted, because they say nothing about the objects.
        cooccurrence: Objects that occur in the same images.
        has_default: Whether the counts contain those of the default vocabulary.
        annotation_recall: "object", "attribute" or "relation" -> estimated proportion in [0, 1] that a scene
            graph lists of the objects in the image, of the attributes of listed objects, or of the relations
            between listed objects.
    """

    objects: dict[str, ObjectEntry]
    attributes: dict[str, int]
    attribute_types: dict[str, str]
    relations: dict[str, int]
    categories: dict[str, tuple[str, ...]]
    locations: dict[str, int]
    weathers: dict[str, int]
    attribute_alternatives: dict[str, tuple[str, ...]] = {}
    presupposed_objects: dict[str, int] = {}
    presupposed_properties: dict[str, int] = {}
    relation_counts: tuple[tuple[str, str, str, int], ...] = ()
    cooccurrence: ObjectCooccurrence = ObjectCooccurrence()
    annotation_recall: dict[str, float] = {}
    has_default: bool = False


class Word(Record):
    """A word of a question, or several words that form one expression ("traffic light", "in front of").

    Attributes:
        start, end: Characters [start, end) of the text.
        tag: Penn Treebank part-of-speech tag of the word, or of the last word of an expression.
        word_class: What the word denotes.
        name: Name of the word in the vocabulary; "" for class "other".
    """

    start: int
    end: int
    tag: str
    word_class: WordClass = "other"
    name: str = ""


class TaggedText(Record):
    """The words of a question text, without punctuation."""

    text: str
    words: tuple[Word, ...]


class SourceQuestionScore(Record):
    """CLIP cosine similarity of a source question and its own image, rounded to 6 decimal places.

    The score is None if no CLIP model is used (`ingest.subsets`).
    """

    question_id: str
    score: float | None


class EditedQuestionScore(Record):
    """CLIP cosine similarity of an edited question and its image, rounded to 6 decimal places.

    The score is None if the text is longer than the context of the model, or if no CLIP model is used (`ingest.subsets`).
    """

    candidate_id: str
    score: float | None


class Edit(Record):
    """A replacement in the text of a source question.

    Changes of agreement that the replacement requires (a/an, is/are) are not part of the record.

    Attributes:
        start, end: Characters [start, end) of the source text that were replaced.
        kind: What was replaced.
        old, new: The text before and after.
        step_index: Index of the edited program step; -1 if there is none.
    """

    start: int
    end: int
    kind: EditKind
    old: str
    new: str
    step_index: int = -1


class Candidate(Record):
    """An image-question pair that may be unanswerable.

    Attributes:
        candidate_id: Id of the candidate, made by `make_candidate_id`.
        subset: Subset of the benchmark.
        image_id: Id of the image. In PT subsets, this is the image of the source question.
        question_id: Id of the source question.
        text: Text of the question. In PT subsets, the text is edited.
        program: Program of the question. In PT subsets, the program is edited.
        edits: The edits; empty in CLIP subsets.
        score: CLIP cosine similarity of text and image, rounded to 6 decimal places; None in PT subsets,
            whose scores are separate records (`EditedQuestionScore`).
        rank: Rank by similarity among the questions that may be proposed for the image, 1 for the most
            similar question; None in PT subsets.
        query_only: Whether the edits change only what the question asks for. Then the edited question may
            have an answer after all ("What is behind the man?", edited from "in front of the man"), or the
            answer may be "nobody".
    """

    candidate_id: str
    subset: Subset
    image_id: str
    question_id: str
    text: str
    program: tuple[Step, ...] = ()
    edits: tuple[Edit, ...] = ()
    score: float | None = None
    rank: int | None = None
    query_only: bool = False

    def as_dropped(self, stage: str, reason: str, detail: str = "") -> DroppedCandidate:
        """Return this candidate as a record of a dropped candidate.

        Args:
            stage: Name of the stage that drops the candidate.
            reason: The reason, from a fixed list of the stage.
            detail: A further explanation.
        """
        ids = {name: getattr(self, name) for name in ("candidate_id", "image_id", "question_id", "text")}
        return DroppedCandidate(**ids, subset=self.subset, stage=stage, reason=reason, detail=detail)


class VerifierResult(Record):
    """What the verifier says about a question and an image, and from which evidence."""

    answerability: Answerability
    category: Category | None = None
    evidence_source: EvidenceSource = "none"
    detail: str = ""


class ScreenedCandidate(Record):
    """A candidate that stage `screen` keeps, with the result of the verifier."""

    candidate: Candidate
    verifier_result: VerifierResult


class CandidateEstimate(Record):
    """An estimate for a candidate.

    Attributes:
        candidate_id: Id of the candidate.
        p_answerable: Probability, in (0, 1), that the question has an answer after all.
        difficulty: How hard it is to notice that the object is missing, as in POPE (Li et al. 2023):
            "adversarial" objects often occur together with objects in the image, "popular" objects are
            frequent, and "random" objects are neither.
    """

    candidate_id: str
    p_answerable: float
    difficulty: Difficulty


class DroppedCandidate(Record):
    """A candidate that a stage removed, or a question from which stage `perturb` made no candidate.

    Attributes:
        candidate_id: Id of the candidate.
        subset: Subset of the candidate.
        image_id: Id of the image.
        question_id: Id of the source question. The name of this field in files is `source_question_id`.
        text: Text of the question.
        stage: The stage that removed it.
        reason: The reason, from a fixed list.
        detail: A further explanation.
    """

    candidate_id: str
    subset: Subset
    image_id: str
    question_id: str = msgspec.field(name="source_question_id")
    text: str
    stage: str
    reason: str
    detail: str = ""


# End of the sources of gold questions that count only after enough annotators have agreed.
UNCONFIRMED = ", to be confirmed"


class TaskQuestion(Record):
    """One of the two questions of a task. The browser of an annotator receives only its text.

    Attributes:
        key: Id of the question within the study.
        text: Text of the question.
        role: "candidate", "gold" (a gold question, whose correct choice is known) or "repeat" (the candidate
            of another task on the same image, asked again).
        candidate_id: Id of the candidate; None for a gold question.
        question_id: Id of the source question; None if there is none, as for a template.
        expected_choice: The correct choice for a gold question; None for other questions.
        gold_source: Where a gold question comes from; "" for other questions. If it ends in ", to be confirmed",
            the question counts only after enough annotators have agreed (`annotation.study.gold_agreement`).
        gold_explanation: Why the correct choice is known: the answer, or what is missing; "" for other
            questions.
        program: Program of the question, for simulated annotators.
    """

    key: str
    text: str
    role: Literal["candidate", "gold", "repeat"]
    candidate_id: str | None = None
    question_id: str | None = None
    expected_choice: Literal["valid", "invalid"] | None = None
    gold_source: str = ""
    gold_explanation: str = ""
    program: tuple[Step, ...] = ()


class Task(Record):
    """An annotation task: an image and two questions, in the order in which they are shown.

    Attributes:
        task_id: Id, a hash of the content.
        image_id: Id of the image.
        subset: Subset of the candidate.
        first, second: The questions.
        priority_block: Number of the block, from 0. Tasks of lower blocks are assigned first, because their
            candidates are more probably unanswerable.
    """

    task_id: str
    image_id: str
    subset: Subset
    first: TaskQuestion
    second: TaskQuestion
    priority_block: int = 0


class SpareGoldQuestion(Record):
    """A gold question of an image that no task contains, for the training and the qualification test.

    Attributes:
        image_id: Id of the image.
        question: The question. Its role is "gold".
    """

    image_id: str
    question: TaskQuestion


class FirstAnswer(Record):
    """The choices that an annotator corrected later, with their reasons, see `Verdict`."""

    first: Choice
    second: Choice
    first_reason: str = ""
    second_reason: str = ""


class Verdict(Record):
    """The choices of one annotator for the two questions of a task.

    Attributes:
        verdict_id: Id of the verdict.
        task_id: Id of the task.
        annotator: Pseudonym of the annotator.
        first, second: The choices.
        first_reason, second_reason: Reasons for the choice "invalid"; "" if no reason was given.
        first_answer: What the annotator chose at first, if the annotator corrected the verdict; None otherwise.
            For gold questions only this answer counts, for candidates the corrected one.
        sequence_index: Position of the task among the tasks of the annotator, from 0.
        duration_seconds: Time spent on the task as recorded by the annotation tool; None if not known.
        seconds_since_previous: Seconds since the previous submission of the annotator; None if not known.
        simulated: Whether the annotator is simulated.
        rehearsal: Whether the simulated annotator saw incomplete scene graphs instead of complete ones.
            Candidates and items with such a verdict are marked, too.
    """

    verdict_id: str
    task_id: str
    annotator: str
    first: Choice
    second: Choice
    first_reason: str = ""
    second_reason: str = ""
    first_answer: FirstAnswer | None = None
    sequence_index: int = 0
    duration_seconds: float | None = None
    seconds_since_previous: float | None = None
    simulated: bool = False
    rehearsal: bool = False


class CollectedCandidate(Record):
    """A candidate with its verdicts.

    Attributes:
        candidate: The candidate.
        verifier_result: Result of the verifier.
        status: "unanswerable" or "answerable" if the votes or an adjudicator decide, "doubtful" if the votes
            do not decide, and "no_votes" if there are too few votes. Only "unanswerable" candidates stay in
            the benchmark.
        votes_invalid, votes_valid: Numbers of votes that count.
        votes_excluded: Number of choices that do not count.
        verdict_ids: Ids of all verdicts on the candidate.
        simulated: Whether any of these verdicts is simulated.
        reason: The most frequent reason of the invalid votes; None if no reason was given.
        rehearsal: Whether any of these verdicts is from a rehearsal.
        decided_by: "votes", or "adjudicator" if an adjudicator decided, who overrules the votes, or "panel" if only models decided
            (`collect.min_people: 0`).
    """

    candidate: Candidate
    verifier_result: VerifierResult
    status: Literal["unanswerable", "answerable", "doubtful", "no_votes"]
    votes_invalid: int
    votes_valid: int
    votes_excluded: int
    verdict_ids: tuple[str, ...]
    simulated: bool
    reason: Category | None = None
    rehearsal: bool = False
    decided_by: Literal["votes", "adjudicator", "panel"] = "votes"


class GoldQuestionCheck(Record):
    """Votes of annotators on a question of the source that was used as a gold question, or that a model drafted.

    Attributes:
        question_id: Id of the question.
        image_id: Id of the image.
        text: Text of the question.
        votes_valid, votes_invalid: Numbers of votes.
        status: "verified" if most votes say valid, "refuted" if most votes say invalid, and "open" if there
            are fewer than two votes or equally many of both. A drafted question that had a task of its own is
            decided as candidates are.
    """

    question_id: str
    image_id: str
    text: str
    votes_valid: int
    votes_invalid: int
    status: Literal["verified", "refuted", "open"]


class Item(Record):
    """A released row: an unanswerable question (UQ) or an answerable question (AQ).

    In an AQ, the fields category, category_confirmed, difficulty, edits, rank, query_only and verdict_ids
    have their defaults.

    Attributes:
        item_id: Id of the candidate for a UQ, id of the source question for an AQ.
        subset: Subset of the benchmark.
        image_id: Id of the image.
        question_id: Id of the source question. The name of this field in files is `source_question_id`,
            because `question_id` is the id of an item in RGQA's format.
        text: Text of the question.
        unanswerable: True for a UQ, False for an AQ.
        answer: The correct answer; "" for a UQ.
        pair_id: Id that an AQ and its UQ have in common, for dual accuracy.
        split: Split of the benchmark.
        structural, semantic, detailed: Question types of GQA.
        category: Why a UQ has no answer, according to the verifier, or else according to the annotators, or
            else derived from the kind of its edits; None if the reason is not known.
        category_confirmed: Whether the annotators gave the same reason.
        difficulty: Difficulty of a UQ, as in `CandidateEstimate`.
        edits: Edits of a UQ in PT subsets.
        score: CLIP cosine similarity of text and image; None if not known.
        rank: Rank of a UQ, as in `Candidate`.
        query_only: Whether the edits of a UQ change only what the question asks for, as in `Candidate`.
        verdict_ids: Ids of the verdicts on a UQ; empty for an AQ.
        simulated: Whether any verdict on the UQ of the pair is simulated.
        pairing_reason: Why this AQ and this UQ form a pair.
        rehearsal: Whether any verdict on the UQ of the pair is from a rehearsal.
        source_text: Text of the source question before paraphrasing; "" if the question was not paraphrased.
        unjudged: That an AQ is answerable only according to the model that drafted it, because no annotator confirmed it
            (`balance.require_confirmation: false`). The field is missing for all other items.
    """

    item_id: str
    subset: Subset
    image_id: str
    question_id: str = msgspec.field(name="source_question_id")
    text: str
    unanswerable: bool
    answer: str
    pair_id: str
    split: Literal["validation", "test"]
    structural: str = ""
    semantic: str = ""
    detailed: str = ""
    category: Category | None = None
    category_confirmed: bool = False
    difficulty: Difficulty | None = None
    edits: tuple[Edit, ...] = ()
    score: float | None = None
    rank: int | None = None
    query_only: bool = False
    verdict_ids: tuple[str, ...] = ()
    simulated: bool = False
    pairing_reason: str = ""
    rehearsal: bool = False
    source_text: str = ""
    unjudged: str | msgspec.UnsetType = msgspec.UNSET


def list_judged_subsets(present: Iterable[str]) -> tuple[Subset, ...]:
    """Return the subsets of the candidates that annotators judge.

    Args:
        present: The subsets of the candidates of a study.

    >>> list_judged_subsets(["pt-easy"]) == SUBSETS, list_judged_subsets(["drafted-aq"])[-1]
    (True, 'drafted-aq')
    """
    return (*SUBSETS, DRAFTED_AQ) if DRAFTED_AQ in present else SUBSETS


def make_candidate_id(subset: Subset, image_id: str, question_id: str) -> str:
    """Return the id of a candidate in RGQA's format.

    Example:
        >>> make_candidate_id("clip-easy", "n460556", "202082119")
        'clipeasy_n460556+202082119'
    """
    return f"{subset.replace('-', '')}_{image_id}+{question_id}"
