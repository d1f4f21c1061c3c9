"""Types of scoring: options, predictions, and items joined with their predictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from ..core.errors import format_count
from .items import UNANSWERABLE_LABEL, Items

# Maximum number of failures that a message names.
MAX_EXAMPLES = 5
# Minimum proportion of replies without text for a warning.
EMPTY_REPLY_WARNING_RATE = 0.05
MatchMode = Literal["exact", "vqa", "squad"]

# Scores by name, possibly nested. A score that cannot be computed is {"unavailable": reason}.
Scores = dict[str, Any]


class PredictionFileInfo(NamedTuple):
    """How a predictions file was read.

    Attributes:
        file_format: Format of the file, such as "plain CSV" or "lmms-eval".
        id_field, answer_field, confidence_field: Fields of the file from which id, answer and confidence were
            read; "" for none.
        failures: Item id -> reason, for each item whose request failed. Such an item has no prediction.
        notes: Other choices that were made while reading.
        empty_replies: Item id -> "empty" or "filtered", for each reply without text. Such a reply counts as
            an abstention.
        columns: Names of the columns in the first row.
        duplicate_ids: Ids that occur more than once.
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
        """Describe how the file was read, which requests failed and which replies are empty, one line
        each.

        >>> PredictionFileInfo("lmms-eval", "item_id", "resps", notes=("the first of 2 responses",)).describe()
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
                f"{kinds} {'reply counts as an abstention' if len(self.empty_replies) == 1 else 'replies count as abstentions'}"
            )
        return lines


def warn_of_empty_replies(empty_replies: Collection[str], total: int) -> str:
    """Return a warning if 5 % or more of the replies are empty or filtered, else "".

    Args:
        empty_replies: One entry, "empty" or "filtered", for each reply without text.
        total: Number of all replies.

    >>> warn_of_empty_replies(["empty"] * 3, 50).partition(":")[0], warn_of_empty_replies(["empty"], 50)
    ('3 of 50 replies have no text (3 empty)', '')
    """
    if not empty_replies or len(empty_replies) < EMPTY_REPLY_WARNING_RATE * total:
        return ""
    kinds = ", ".join(f"{n:,} {kind}" for kind, n in sorted(Counter(empty_replies).items()))
    have = "has" if len(empty_replies) == 1 else "have"
    return (
        f"{len(empty_replies):,} of {format_count(total, 'reply', 'replies')} {have} no text ({kinds}): they count as abstentions. Check in the log of the "
        "server or harness whether the model gave an empty answer, a filter removed it, or the request failed"
    )


class Predictions(NamedTuple):
    """Predictions of a model, in the order of its file.

    Attributes:
        name: Name of the file without its suffix.
        sha256: SHA-256 of the file.
        index_by_id: Item id -> index in `answer` and `confidence`.
        answer: [n] answers.
        confidence: [n] confidences that the question is answerable; None if no prediction has one.
        benchmark_version: Version of the benchmark according to the file; "" if the file names none.
        faults: Problems of the file's rows, one line each. Predictions with faults must not be scored.
        validation: Separate predictions for the items on which thresholds are chosen. They are not scored.
            None if there are no separate predictions.
        file_info: How the file was read.
        abstention_labels: Item id -> probability that the question is answerable (0 where the model
            abstained, 1 where the model answered), from the predictions file or an external label file.
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
        return dict(zip(self.index_by_id, self.answer, strict=True))


class JoinedPredictions(NamedTuple):
    """The items of a subset with a model's predictions; all arrays are [n].

    Attributes:
        answer: The predicted answers, "" for a missing prediction.
        confidence: Confidence that the question is answerable. A missing prediction has the highest
            confidence of all and is wrong.
        answerable: Booleans.
        correct: Score of the answer to an answerable question in [0, 1], 0 for an unanswerable one.
        missing: Booleans, True where there is no prediction.
        has_confidence: Whether the model gives confidences.
        validation: The items on which thresholds are chosen; None if there are none.
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
        """Select items by boolean mask or by index."""
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
        """Return for each prediction whether it equals the first label exactly, [n].

        The label of a UQ is "UQ".
        """
        labels = (next(iter(answers), UNANSWERABLE_LABEL) for answers in self.items["answers"])
        same = [said == label for said, label in zip(self.answer, labels, strict=True)]
        return np.array(same, bool) & ~self.missing

    @property
    def has_human_answers(self) -> bool:
        """Return whether the items have the answers of several annotators (VQA)."""
        return bool(self.items["human_answers"][0])

    @property
    def reference_answers(self) -> list[list[str]]:
        """Return the human answers to each item, or its correct answers if there are no human answers."""
        both = zip(self.items["human_answers"], self.items["answers"], strict=True)
        return [list(people or answers) for people, answers in both]

    @property
    def metric_inputs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return confidence, correctness and answerability, [n] each, for scores that separate AQs from UQs.

        Here a missing prediction for an AQ has the lowest confidence of all, so that omitting predictions
        never helps.
        """
        lost = self.missing & self.answerable
        confidence = np.where(lost, self.confidence.min(initial=0) - 1, self.confidence)
        return confidence, self.correct, self.answerable

    @property
    def has_pairs(self) -> bool:
        """Return whether every item has a pair id."""
        return bool(self.items["pair_id"].all())

    @property
    def paired_metric_inputs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return `metric_inputs` and the pair of each item, "" if it has none."""
        return *self.metric_inputs, self.items["pair_id"].astype(str)


class ScoringOptions(NamedTuple):
    """What to score and how. The defaults are those of the command line.

    Attributes:
        scores: Score groups to compute; empty for all groups that apply to the benchmark.
        group_by: Fields of the score group "subgroups". If empty, all fields are used, but without bootstrap
            intervals.
        split: The scored split. If the scored split is `test`, thresholds are chosen on `validation`.
        mode: `strict` definitions, or the `published` ones of RGQA's script.
        match: How an answer is compared with an RGQA label: `exact`, or after normalization by the rules of
            `vqa` or `squad` (docs/reference/scores.md). Mode `published` always compares exactly.
        bootstrap: Number of bootstrap replicates, 0 for no intervals.
        seed: Seed of the bootstrap.
        risks: Risk levels of coverage at risk, each in [0, 1].
        costs: Costs of a wrong answer for effective reliability.
        threshold: For scores that need a fixed threshold: answers with confidence >= threshold are accepted.
        missing: Treatment of items without a prediction: `error`, `wrong` (accepted with a wrong answer) or
            `drop`.
        detect_abstention: Whether the confidence is read from the answer text: 0 abstains, 1 answers, 0.5 is
            unclear.
        synonyms: Answer -> another answer that counts as the same.
        word_vectors: Word -> vector, for MaSSeS (`masses`). None: not given, as for all options below.
        wordnet: WordNet's nouns, for WUPS (`wups`).
        all_questions, choices, scenes, attention: Contents of GQA's files by id, for GQA's diagnostics.
        human_judgments: Item id -> for each annotator, whether the annotator accepted the question.
        run_log: Latency, throughput and memory of the run.
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


# Options whose values are read from files.
FILE_OPTIONS = ScoringOptions._fields[ScoringOptions._fields.index("synonyms") :]


class ReportedScore(NamedTuple):
    """A score of a report. Reports show such scores with an interval.

    Attributes:
        title: Title in tables.
        compute: Function that computes the score.
        lower_is_better: Whether lower values are better.
        needs_human_answers: Whether the score needs the answers of several annotators.
    """

    title: str
    compute: Callable[..., Any]
    lower_is_better: bool = False
    needs_human_answers: bool = False
