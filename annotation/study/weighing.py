"""Which verdicts count: annotators are weighed, and what cannot be relied on is set aside, with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from annotation.study.accuracy import Accuracy, FilterKey, accuracies, inaccurate, refuted
from annotation.study.collect_rules import CollectRules
from annotation.study.habits import Habits, habits
from annotation.study.judged import Judged
from pipeline.core.records import Record


class SetAside(Record):
    """A verdict that does not count, and why; `detail` has the figures."""

    verdict_id: str
    task_id: str
    annotator: str
    reason: Literal["annotator excluded", "filter failed"]
    detail: str = ""


class Weighed(Record):
    """All verdicts, and what was found of those who gave them.

    Attributes:
        refuted: filter questions that are wrong themselves.
        accuracies, habits: by annotator, sorted. excluded: annotator -> every reason, sorted by name.
    """

    judged: Sequence[Judged]
    refuted: set[FilterKey]
    accuracies: dict[str, Accuracy]
    habits: dict[str, Habits]
    excluded: dict[str, list[str]]
    aside: list[SetAside]

    @property
    def aside_ids(self) -> set[str]:
        """Ids of the verdicts that do not count."""
        return {row.verdict_id for row in self.aside}

    @property
    def counted(self) -> list[Judged]:
        """With the verdicts that count."""
        aside = self.aside_ids
        return [row for row in self.judged if row.verdict.verdict_id not in aside]


def weigh(judged: Sequence[Judged], rules: CollectRules) -> Weighed:
    """Weigh annotators, and set aside what does not count."""
    wrong = refuted(judged)
    accuracy = accuracies(judged, wrong)
    how = habits(judged, rules)
    out = exclusions(accuracy, how, rules)
    return Weighed(
        judged=judged,
        refuted=wrong,
        accuracies=accuracy,
        habits=how,
        excluded=out,
        aside=set_aside(judged, out, wrong),
    )


def exclusions(
    accuracy: Mapping[str, Accuracy], habits: Mapping[str, Habits], rules: CollectRules
) -> dict[str, list[str]]:
    """Annotators that are excluded, with every reason; sorted by name."""
    failed = inaccurate(accuracy, rules.min_filter_accuracy, rules.min_filter_answers)
    excluded: dict[str, list[str]] = {}
    for name, row in accuracy.items():
        reasons = []
        if name in failed and "accuracy" in rules.excluding:
            share = f"{row.right} of {row.answered} filter questions ({row.share:.1%})"
            reasons.append(f"accuracy: {share}, below {rules.min_filter_accuracy:.0%}")
        reasons += [
            f"{flag.kind}: {flag.detail}" for flag in habits[name].flags if flag.kind in rules.excluding
        ]
        if reasons:
            excluded[name] = reasons
    return excluded


def set_aside(
    judged: Iterable[Judged], excluded: Mapping[str, Sequence[str]], refuted: set[FilterKey]
) -> list[SetAside]:
    """Verdicts of excluded annotators, and those whose filter question was failed and is not refuted.

    Args:
        excluded: annotator -> the reasons.
    """
    aside = []
    for row in judged:
        annotator, known = row.verdict.annotator, row.filter
        if annotator in excluded:
            reason, detail = "annotator excluded", "; ".join(excluded[annotator])
        elif not known.as_expected and row.filter_key not in refuted:
            reason, detail = "filter failed", f"said {known.choice}, {known.question.expected} was expected"
        else:
            continue
        aside.append(
            SetAside(
                verdict_id=row.verdict.verdict_id,
                task_id=row.task.task_id,
                annotator=annotator,
                reason=reason,
                detail=detail,
            )
        )
    return aside
