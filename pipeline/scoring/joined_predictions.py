"""What scores are computed from: what a model said of the items of a benchmark, and the options."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from ..core.errors import format_count
from .items import UNANSWERABLE_LABEL, Items

MAX_EXAMPLES = 5  # failures that are named
EMPTY_REPLY_WARNING_RATE = 0.05  # proportion of replies without text from which on there is a warning
MatchMode = Literal["exact", "vqa", "squad"]

# Numbers and texts by name, or the same of several that belong together. What could not be scored is {"unavailable": why}.
Scores = dict[str, Any]


class PredictionFileInfo(NamedTuple):
    """How a file of predictions was read.

    Attributes:
        form: of the file. id, answer, confidence: the fields that these were taken from, "" for none.
        failed: why there is no answer, by the item's id; such an item has no prediction.
        notes: what else was chosen.
        declined: by the item's id, replies without any text: "empty", or "filtered" where a filter withheld it. They abstain.
        columns: the keys of the first row. repeated: ids that stand there more than once.
    """

    file_format: str = ""
    id_field: str = ""
    answer_field: str = ""
    confidence_field: str = ""
    failures: Mapping[str, str] = MappingProxyType({})
    notes: tuple[str, ...] = ()
    empty_replies: Mapping[str, str] = MappingProxyType({})
    columns: tuple[str, ...] = ()
    duplicate_ids: tuple[str, ...] = ()

    def describe(self) -> list[str]:
        """All of it: a line on how the file was read, one on the requests that failed, and one on replies without text, if there
        are any.

        >>> Reading("lmms-eval", "item_id", "resps", notes=("the first of 2 responses",)).lines()
        ['read as lmms-eval: id from item_id, answer from resps, no confidence; the first of 2 responses']
        """
        fields = {"id": self.id_field, "answer": self.answer_field, "confidence": self.confidence_field}
        sources = [f"{kind} from {field}" if field else f"no {kind}" for kind, field in fields.items()]
        lines = [f"read as {self.file_format}: " + "; ".join([", ".join(sources), *self.notes])]
        if self.failures:
            reasons = ", ".join(
                f"{n:,} {why}" for why, n in Counter(self.failures.values()).most_common(MAX_EXAMPLES)
            )
            ids = ", ".join([*self.failures][:MAX_EXAMPLES]) + (
                ", ..." if len(self.failures) > MAX_EXAMPLES else ""
            )
            lines.append(f"{len(self.failures):,} FAILED ({reasons}): {ids}")
        if self.empty_replies:
            kinds = " and ".join(
                f"{n:,} {kind}" for kind, n in sorted(Counter(self.empty_replies.values()).items())
            )
            lines.append(
                f"{kinds} {'reply counts' if len(self.empty_replies) == 1 else 'replies count'} as abstaining"
            )
        return lines


def warn_of_empty_replies(empty_replies: Collection[str], total: int) -> str:
    """What to look at where 5 % or more of `total` replies are empty or filtered, as `Reading.declined` has them; else "".

    >>> warning_of_declined(["empty"] * 3, 50).partition(":")[0], warning_of_declined(["empty"], 50)
    ('3 of 50 replies have no text (3 empty)', '')
    """
    if not empty_replies or len(empty_replies) < EMPTY_REPLY_WARNING_RATE * total:
        return ""
    kinds = ", ".join(f"{n:,} {kind}" for kind, n in sorted(Counter(empty_replies).items()))
    have = "has" if len(empty_replies) == 1 else "have"
    return (
        f"{len(empty_replies):,} of {format_count(total, 'reply', 'replies')} {have} no text ({kinds}): they count as abstaining; look in the server's or the "
        "harness's log whether the model had nothing to say, a filter withheld its answer, or the request failed"
    )


class Predictions(NamedTuple):
    """What a model said, in the order of its file.

    Attributes:
        places: of each item's id the place in the columns `said` and `confidence`, [n].
        confidence: None when no prediction has one.
        version: of the benchmark that the file says it was made for, "" when it does not say.
        faults: what is wrong with the file's rows, a line each: with any, the predictions are not to be scored.
        validation: predictions for other items of the benchmark, on which thresholds are chosen; they are not scored.
        reading: how the file was read.
        labels: by id, where the file or an outside judge says it, the probability that the question is answerable,
            or 0 where the model abstained and 1 where it did not.
    """

    name: str
    sha256: str
    index_by_id: dict[str, int]
    answer: list[str]
    confidence: np.ndarray | None
    benchmark_version: str = ""
    faults: tuple[str, ...] = ()
    validation: Predictions | None = None
    file_info: PredictionFileInfo = PredictionFileInfo()
    abstention_labels: Mapping[str, float] = MappingProxyType({})

    @property
    def answer_by_id(self) -> dict[str, str]:
        """By id of the item."""
        return dict(zip(self.index_by_id, self.answer, strict=True))


class JoinedPredictions(NamedTuple):
    """The items of a subset with what a model said of them; all arrays are [n].

    Attributes:
        said: the predictions, "" where there is none.
        confidence: higher means "answerable"; a missing prediction has the highest of all, and is wrong.
        correct: the worth of the answer to an answerable question, 0 for an unanswerable one.
        missing: there is no prediction.
        confident: does the model give confidences?
        validation: the items that thresholds are chosen on, None where there are none.
    """

    items: Items
    predictions: Predictions
    answer: list[str]
    confidence: np.ndarray
    answerable: np.ndarray
    correct: np.ndarray
    missing: np.ndarray
    has_confidence: bool
    validation: JoinedPredictions | None = None

    def select(self, rows: np.ndarray) -> JoinedPredictions:
        """The items at `which` (booleans or places)."""
        if rows.dtype == bool and rows.all():
            return self
        places = np.flatnonzero(rows) if rows.dtype == bool else rows
        arrays = {
            name: value[places] for name, value in self._asdict().items() if isinstance(value, np.ndarray)
        }
        return self._replace(
            items=self.items.select(places),
            answer=[self.answer[i] for i in places.tolist()],
            **arrays,
        )

    @property
    def is_literal_match(self) -> np.ndarray:
        """Is the prediction letter by letter the first label ("UQ" for an unanswerable question)? [n]"""
        labels = (next(iter(answers), UNANSWERABLE_LABEL) for answers in self.items["answers"])
        same = [said == label for said, label in zip(self.answer, labels, strict=True)]
        return np.array(same, bool) & ~self.missing

    @property
    def has_human_answers(self) -> bool:
        """Are there the answers of several people (VQA)?"""
        return bool(self.items["human_answers"][0])

    @property
    def reference_answers(self) -> list[list[str]]:
        """The answers of people to each item, or the right answers where no people were asked."""
        both = zip(self.items["human_answers"], self.items["answers"], strict=True)
        return [list(people or answers) for people, answers in both]

    @property
    def metric_inputs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Confidence, correct and answerable, for scores of how well AQs and UQs are told apart: there a missing
        prediction for an AQ has the lowest confidence, so that leaving out wins nothing."""
        lost = self.missing & self.answerable
        confidence = np.where(lost, self.confidence.min(initial=0) - 1, self.confidence)
        return confidence, self.correct, self.answerable

    @property
    def has_pairs(self) -> bool:
        """Does every item name its pair?"""
        return bool(self.items["pair_id"].all())

    @property
    def paired_metric_inputs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """These columns and the name of each item's pair, "" where it has none."""
        return *self.metric_inputs, self.items["pair_id"].astype(str)


class ScoringOptions(NamedTuple):
    """What to score and how; the command line's defaults are these.

    Attributes:
        scores: groups of scores, () for all that the benchmark allows.
        by: of group "subgroups", the kinds of items that are told apart, with intervals; () for all, without.
        part: which part of a release is scored; thresholds come from validation where test is.
        mode: strict definitions, or those of the published RGQA script.
        match: how an answer is compared with an RGQA label: both sides brought to VQA's or SQuAD's common form, or exactly
            (docs/reference/scores.md). `mode` published always compares exactly.
        bootstrap: repetitions for intervals, 0 for none. seed: of the bootstrap.
        risks, costs: of selective prediction.
        threshold: accept where confidence >= threshold, in the scores that need a fixed one.
        missing: what an item without a prediction is: refused, accepted with a wrong answer, or left out.
        free_text: the confidence is read from the words of the answers: 0 abstains, 1 answers, 0.5 unclear.

    The rest is what some scores need and no benchmark has: answers that count as the same as another; word vectors, WordNet, four of GQA's files, people's
    judgements by item, and the costs of the run.
    """

    scores: tuple[str, ...] = ()
    group_by: tuple[str, ...] = ()
    split: Literal["test", "validation", "all"] = "test"
    mode: Literal["strict", "published"] = "strict"
    match: MatchMode = "vqa"
    bootstrap: int = 1000
    seed: int = 0
    risks: tuple[float, ...] = (0.01, 0.05, 0.1, 0.2)
    costs: tuple[float, ...] = (1, 10, 100)
    threshold: float = 0.5
    missing: Literal["error", "wrong", "drop"] = "error"
    detect_abstention: bool = False
    synonyms: Mapping[str, str] | None = None
    word_vectors: Mapping[str, np.ndarray] | None = None
    wordnet: Any = None
    all_questions: Mapping[str, Any] | None = None
    choices: Mapping[str, Any] | None = None
    scenes: Mapping[str, Any] | None = None
    attention: Mapping[str, Any] | None = None
    human_judgments: Mapping[str, list[bool]] | None = None
    run_log: Mapping[str, float] | None = None


FILE_OPTIONS = ScoringOptions._fields[
    ScoringOptions._fields.index("synonyms") :
]  # the options that are read from files


class ReportedScore(NamedTuple):
    """A score that a report gives with an interval: its title in the table, what computes it, which way is better,
    and whether it needs the answers of several people."""

    title: str
    compute: Callable[..., Any]
    lower_is_better: bool = False
    needs_human_answers: bool = False
