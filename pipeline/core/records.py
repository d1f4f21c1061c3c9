"""The records that stages hand to each other. These types are the schema of every JSONL file in `data/`.

Words: a *question* comes with the source; a *candidate* is an image-question pair not yet judged; a *verdict*
is what a person said; an *item* is what is released. All ids are strings (GQA's have leading zeros).
"""

from __future__ import annotations

from typing import Literal, dataclass_transform

import msgspec

Split = Literal["testdev", "train", "val", "test"]
# The build never makes subset "counterfactual"; it comes from `rgqa sample counterfactual-pairs`.
Subset = Literal["clip-easy", "clip-hard", "pt-easy", "pt-hard", "counterfactual"]
SUBSETS: tuple[Subset, ...] = ("clip-easy", "clip-hard", "pt-easy", "pt-hard")
EditKind = Literal["object", "attribute", "relation"]
Category = Literal["missing object", "wrong attribute", "wrong relation", "no valid answer", "underspecified"]
Answerability = Literal["answerable", "unanswerable", "unknown"]
Choice = Literal["valid", "invalid", "unsure"]
WordClass = Literal["object", "attribute", "relation", "frame", "other"]
Difficulty = Literal["random", "popular", "adversarial"]
EvidenceSource = Literal["truth", "scene graph", "other questions", "none"]


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of all records: immutable, typed, unknown fields refused on reading."""


class ImageRecord(Record):
    """An image file. `path` is relative to the project's root; `sha256` is of the file's bytes."""

    image_id: str
    split: Split
    path: str
    width: int
    height: int
    sha256: str


class Step(Record):
    """One step of a functional program, as GQA writes it: `relate`, `table,left of,s (123)`, [0].

    `argument` keeps GQA's spelling: names, then the object id in parentheses (`-` for an absent object).
    """

    operation: str
    argument: str
    dependencies: tuple[int, ...]


class Question(Record):
    """A question of the source with its answer and program. `annotations` maps word positions of the
    question ("3" or "2:4") to object ids, as in GQA, `full_answer_annotations` those of the full answer. `source_text` is
    the source's wording where `text` is another one (`ingest: paraphrase`), else ""."""

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
    annotations: dict[str, str] = {}
    full_answer_annotations: dict[str, str] = {}
    entailed: tuple[str, ...] = ()
    equivalent: tuple[str, ...] = ()
    source_text: str = ""


class Relation(Record):
    """`name` holds from the object that carries this record to the object `object_id`."""

    name: str
    object_id: str


class UnusedQuestion(Record):
    """A question of the source that ingest leaves out, with the reason."""

    question_id: str
    image_id: str
    split: Split
    text: str
    answer: str
    reason: str


class SceneObject(Record):
    """An object of a scene graph; x, y, w, h in pixels of the image, y downwards."""

    object_id: str
    name: str
    x: int
    y: int
    w: int
    h: int
    attributes: tuple[str, ...] = ()
    relations: tuple[Relation, ...] = ()


class SceneGraph(Record):
    """A scene graph. `complete` is true only for the sample's truth file: there, what is not listed is false.
    Published graphs are incomplete: what is not listed is unknown."""

    image_id: str
    split: Split
    width: int
    height: int
    objects: tuple[SceneObject, ...]
    location: str = ""
    weather: str = ""
    is_complete: bool = False


class ObjectEntry(Record):
    """What the scene graphs say of one object name. `plural` tells whether the name itself is plural or mass
    ("jeans", "grass"). `attributes` counts each attribute on objects of this name, `subject_of` and `object_of`
    each relation in which they are the subject or the object."""

    name: str
    count: int
    number: Literal["singular", "plural", "mass"]
    attributes: dict[str, int]
    subject_of: dict[str, int] = {}
    object_of: dict[str, int] = {}


class ObjectCooccurrence(Record):
    """What images show together, by the lemmas of names and of their categories: an image with a couch shows furniture.

    Attributes:
        images: how many were counted. partial: by what questions say of them, not by scene graphs.
        each: how many things of different names one shows on average, by what was counted.
        names: name -> how many show such a thing. together: of two names, the first in the alphabet -> the other ->
            how many show both. least: pairs shown together by fewer images are left out.
    """

    num_images: int = 0
    from_questions: bool = False
    mean_names_per_image: float = 0.0
    image_counts: dict[str, int] = {}
    pair_counts: dict[str, dict[str, int]] = {}
    min_pair_count: int = 1


class Vocabulary(Record):
    """Names with frequencies from the train and val scene graphs. `relations` counts relation names;
    `attributes` counts every attribute; `attribute_types` maps an attribute to its GQA type when the
    programs tell it (`filter color: red` -> {"red": "color"}); `places` and `weathers` as counted in graphs.
    `alternatives` are attributes without a type that questions offer as a choice: {"open": ("closed",)}.
    `asked` counts for each name (of an object or category) the questions that take such a thing for granted,
    `described` for each attribute, position and relation. `related` counts (relation, subject, object) by name, sorted;
    those to the left and right of each other, which say nothing of either, are left out. `shown` is what images
    show, and show together. `listed` is the share of what images show that their graphs are held to list: of
    "object", of "attribute" (of objects that they list), of "relation" (between such)."""

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


class Word(Record):
    """Characters [start, end) of a question: one word, or several that are one ("traffic light", "in front of").
    `tag` is its Penn tag (of the last word), `name` what the vocabulary calls it ("" for class "other")."""

    start: int
    end: int
    tag: str
    word_class: WordClass = "other"
    name: str = ""


class TaggedText(Record):
    """The words of a distinct question text, punctuation left out."""

    text: str
    words: tuple[Word, ...]


class SourceQuestionScore(Record):
    """The CLIP cosine, rounded to 6 places, of a source question with its own image."""

    question_id: str
    score: float


class EditedQuestionScore(Record):
    """The CLIP cosine, rounded to 6 places, of an edited question with its image; None where its text is longer than
    the model's context."""

    candidate_id: str
    score: float | None


class Edit(Record):
    """One replacement: characters [start, end) of the *source question's* text, `old`, became `new`.
    Agreement changes (a/an, is/are, capitals) that follow from it are part of `agreement` edits of the text,
    not of this list. `step` is the index of the program step that was edited, -1 when there is none."""

    start: int
    end: int
    kind: EditKind
    old: str
    new: str
    step_index: int = -1


class Candidate(Record):
    """A pair that may be unanswerable. `question_id` is the source question, `image_id` the image it is
    asked of now. For PT subsets `text` and `program` are the edited ones and `image_id` is the question's own; their
    score is an `EditScore`. CLIP subsets have `score`, the CLIP cosine rounded to 6 places, and `rank`, the place among
    the image's admissible questions, 1 = most similar. `weak`: its edits are only of what the question asks for
    and does not fix, so that it may well have an answer ("What is behind the man?" from "in front of"), or "nobody" is one."""

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
        """The record of this candidate's removal by `stage`."""
        ids = {name: getattr(self, name) for name in ("candidate_id", "image_id", "question_id", "text")}
        return DroppedCandidate(**ids, subset=self.subset, stage=stage, reason=reason, detail=detail)


class VerifierResult(Record):
    """What the judge says of a question about an image, and from which evidence."""

    answerability: Answerability
    category: Category | None = None
    evidence_source: EvidenceSource = "none"
    detail: str = ""


class ScreenedCandidate(Record):
    """A candidate that stays, with the judge's view of it."""

    candidate: Candidate
    verifier_result: VerifierResult


class CandidateEstimate(Record):
    """How probably a candidate has an answer at its image after all, in (0, 1), and how hard it is to see that what it
    lacks is missing, as POPE has it: adversarial goes with what the image shows, popular is common, random neither."""

    candidate_id: str
    p_answerable: float
    difficulty: Difficulty


class DroppedCandidate(Record):
    """A candidate (or question) removed by `stage`, with a reason from a closed list and a human detail. Files and tables
    name the source question `source_question_id`."""

    candidate_id: str
    subset: Subset
    image_id: str
    question_id: str = msgspec.field(name="source_question_id")
    text: str
    stage: str
    reason: str
    detail: str = ""


class TaskQuestion(Record):
    """One of the two questions of a task. `role` and `expected` never leave the project: what the browser
    receives is only `text`. The companion of a task's candidate is a filter question, or a repeat: the candidate of another
    task on the same image, once more. `expected` is None but for a filter; `source` tells where a filter question came from, `why` in words what makes its verdict known (its answer, or what is missing). `program` is what the text
    asks, for annotators who are simulated."""

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
    """A task of the annotators: an image and two questions in the order shown. `task_id` is a content key. Tasks of lower
    `block` go out first; they are the ones whose candidate is most probably unanswerable."""

    task_id: str
    image_id: str
    subset: Subset
    first: TaskQuestion
    second: TaskQuestion
    priority_block: int = 0


class Verdict(Record):
    """One person's choice on one question of a task. `annotator` is a pseudonym. `order` is the 0-based place
    in which the annotator answered; `seconds` the time shown by the tool, `gap` the seconds since the annotator's
    submission before; None when not known. `rehearsal`: it is simulated, and not even from a truth that is known, but
    from incomplete graphs taken as complete; Verified and Item carry it on."""

    verdict_id: str
    task_id: str
    annotator: str
    first: Choice
    second: Choice
    first_reason: str = ""
    second_reason: str = ""
    sequence_index: int = 0
    duration_seconds: float | None = None
    seconds_since_previous: float | None = None
    simulated: bool = False
    rehearsal: bool = False


class CollectedCandidate(Record):
    """A candidate after collection. `status` says what the votes came to; only "unanswerable" goes on. `reason` is
    the one given most often with the invalid votes that count, if any gave one. `decided_by` an expert: whatever the votes,
    which are annotators' alone, came to."""

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
    decided_by: Literal["votes", "adjudicator"] = "votes"


class GoldQuestionCheck(Record):
    """What annotators said of a source question of an image that served as a filter question."""

    question_id: str
    image_id: str
    text: str
    votes_valid: int
    votes_invalid: int
    status: Literal["verified", "refuted", "open"]


class Item(Record):
    """A released row. A UQ carries its candidate's id as `item_id`; an AQ its GQA id. `pair_id` joins an AQ and
    its UQ (dual accuracy). `answer` is empty for a UQ. `score` is the CLIP cosine of text and image, None if not known.
    `category` says why a UQ has no answer, by the judge, else by the annotators, else by its edit; `confirmed`: the annotators'
    reason is the same. `difficulty` is that of its `Estimate`. `simulated`: the pair rests on simulated verdicts. `weak`: as in Candidate. `source_text` is the source's wording of question
    `question_id`, "" where it was not paraphrased. Files and tables name the source question `source_question_id`, as
    `question_id` is an item's id in RGQA's format."""

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


def make_candidate_id(subset: Subset, image_id: str, question_id: str) -> str:
    """RGQA's id of a UQ: `clipeasy_n460556+202082119`."""
    return f"{subset.replace('-', '')}_{image_id}+{question_id}"
