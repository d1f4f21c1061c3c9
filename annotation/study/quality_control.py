"""Which verdicts count: filter questions and annotators are weighed, and what cannot be relied on is set aside, with the reason.

A filter question falls, as its source erred, only by at least three people who answer the other filters well, never by
those whom it is there to find. An annotator is judged by sensitivity (of known invalid) and specificity (of known valid)
apart, over all and in a moving window: who grows careless after 200 tasks keeps the 200.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import bdtr  # scipy.stats has it, too, but takes half a second to load

from annotation.study.answers_table import REASONS, CollectRules, Fault, categorical, filters, records
from annotation.study.assignment import wilson
from annotation.study.response_times import Pace, paces, too_fast
from pipeline.core.errors import Problems
from pipeline.core.records import Choice, Record

KINDS: dict[Choice, Literal["sensitivity", "specificity"]] = {
    "invalid": "sensitivity",
    "valid": "specificity",
}
FEWEST_PEOPLE = 3  # fewer than these, each a good judge of the other filters, cannot make one fall,
MOST_PASSED = 0.25  # nor can they while more than this share of them gave the expected verdict.
# Good: of at least so many others of each kind this share was answered as expected.
FEWEST_OTHERS, GOOD = 5, 0.8
DRIFT = 0.05  # how probable it is at most that somebody at the limit seems to drift, as with a 95 % interval


class Rate(Record):
    """How many were answered right of those asked, their share and its 95 % Wilson interval; None if none was asked.

    >>> print(rate(8, 10))
    8 of 10, 80% (49% to 94%)
    """

    right: int
    asked: int
    share: float | None = None
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.share is None:
            return "–"
        return f"{self.right:,} of {self.asked:,}, {self.share:.0%} ({self.low:.0%} to {self.high:.0%})"


class Skill(Record):
    """Of filters known to be invalid, those called invalid; of those known to be valid, those not called invalid."""

    sensitivity: Rate
    specificity: Rate


class Flag(Record):
    """What is suspect about an annotator, and the figures that say so.

    Attributes:
        sure: whether it is beyond chance; what is not is told and never excludes.
        since: `order` of the task from which on it holds.
    """

    kind: Fault
    detail: str
    sure: bool = True
    since: int = 0


class SetAside(Record):
    """An answer on a candidate that does not count, and why; `detail` has the figures."""

    verdict_id: str
    task_id: str
    candidate_id: str
    annotator: str
    reason: Literal["annotator excluded", "filter failed", "judged before", "contradicts themselves"]
    detail: str = ""


class Exclusion(Record):
    """Why somebody's answers do not count, and from which task (their `order`) on."""

    reasons: tuple[str, ...]
    since: int = 0


class Weighed(NamedTuple):
    """All answers, as a table that tells which of them count, and what was found of those who gave them.

    Attributes:
        skills, paces, flags: by annotator, sorted. excluded: who is, sorted by name.
    """

    judged: pd.DataFrame
    skills: dict[str, Skill]
    paces: dict[str, Pace]
    flags: dict[str, list[Flag]]
    excluded: dict[str, Exclusion]

    @property
    def aside(self) -> list[SetAside]:
        """The answers on candidates that do not count."""
        table = self.judged[(self.judged["aside"] != "") & (self.judged["role"] != "filter")]
        rows = table.rename(columns={"aside": "reason"}).sort_values(["verdict_id", "place"])
        return records(rows[list(SetAside.__struct_fields__)], SetAside)


def weigh(judged: pd.DataFrame, rules: CollectRules) -> Weighed:
    """Weigh filters and annotators, and set aside what does not count.

    Raises:
        UserError: more filters of a source are contradicted than may be wrong.
    """
    judged = judged.assign(fallen=fallen(judged, rules.max_fallen))
    found, excluded = skills(judged), {}
    fast, known = paces(judged, rules), filters(judged).sort_values("order")
    flags = {name: list(faults(known[known["annotator"] == name], rules)) for name in found}
    for name, given in flags.items():
        if detail := too_fast(fast[name], rules):
            given.append(Flag(kind="speed", detail=detail))
        if out := [flag for flag in given if flag.sure and flag.kind in rules.excluding]:
            reasons = tuple(f"{flag.kind}: {flag.detail}" for flag in out)
            excluded[name] = Exclusion(reasons=reasons, since=min(flag.since for flag in out))
    return Weighed(set_aside(judged, excluded), found, fast, flags, excluded)


def fallen(judged: pd.DataFrame, most: float) -> pd.Series:
    """For each row whether it is on a filter question, a text at a picture, that good judges contradict.

    Raises:
        UserError: more than the share `most` of a source (and more than one) would fall.
    """
    question = ["picture_id", "text"]
    given = judged[judged["role"] == "filter"].sort_values("order", kind="stable")
    given = given.drop_duplicates(["annotator", *question])  # of two answers the first
    good = pd.Series(True, given.index)
    for kind in KINDS:
        own = given["expected"] == kind
        of = given["right"].where(own).groupby(given["annotator"], observed=True)
        others = of.transform("count") - own
        good &= (others >= FEWEST_OTHERS) & (of.transform("sum") - (own & given["right"]) >= GOOD * others)
    by_question = given[good].groupby(question, observed=True)["right"].agg(["size", "mean"])
    fell = by_question.index[(by_question["size"] >= FEWEST_PEOPLE) & (by_question["mean"] <= MOST_PASSED)]
    asked = given.drop_duplicates(question).set_index(question)["source"].astype(str)
    counts = pd.DataFrame({"asked": asked.value_counts(), "fell": asked[fell].value_counts()}).fillna(0)
    problems = Problems("filter questions contradicted by people who answer the others well")
    for source, row in counts[counts["fell"] > np.maximum(1, most * counts["asked"])].iterrows():
        texts = ", ".join(f"{picture}: {text!r}" for picture, text in fell[asked[fell] == source][:10])
        problems.add(
            f"source `{source}`",
            f"{row['fell']:,.0f} of {row['asked']:,.0f}, and {most:.0%} is the most that may be wrong: either the source "
            f"is wrong (look at them, mend it, and batch anew, or raise collect.max_fallen) or the crowd is (ask other people): {texts}",
        )
    problems.raise_if_any()
    texts = fell.get_level_values("text")
    known = judged.loc[(judged["role"] == "filter") & judged["text"].isin(texts), question]
    result = pd.Series(False, judged.index)
    result[known.index[pd.MultiIndex.from_frame(known).isin(fell)]] = True
    return result


def skills(judged: pd.DataFrame) -> dict[str, Skill]:
    """Annotator -> skill on the filter questions that have not fallen, sorted by name."""
    sound = filters(judged)
    table = sound.groupby(["annotator", "expected"], observed=True)["right"].agg(["sum", "size"])
    counts = {key: (int(right), int(asked)) for key, right, asked in table.itertuples()}
    return {
        name: Skill(**{fault: rate(*counts.get((name, kind), (0, 0))) for kind, fault in KINDS.items()})
        for name in sorted(judged["annotator"].unique())
    }


def rate(right: int, asked: int) -> Rate:
    """A Rate of these counts, rounded to 4 places."""
    if not asked:
        return Rate(right=0, asked=0)
    share, low, high = (round(value, 4) for value in (right / asked, *wilson(right, asked)))
    return Rate(right=right, asked=asked, share=share, low=low, high=high)


def faults(answered: pd.DataFrame, rules: CollectRules) -> Iterator[Flag]:
    """What is wrong with somebody's answers to filters: what is below a limit (sure where its interval's upper end is); or, if
    that holds from some task on alone, drift.

    Args:
        answered: their answers, in the order given.
    """
    drifts = []
    for kind, fault in KINDS.items():
        rows, limit = answered[answered["expected"] == kind], _limit(kind, rules)
        if bad := drift(rows["right"].to_numpy(), limit, rules.window):
            start, right = bad
            since = int(rows["order"].iloc[start])
            figures = f"{right} of {rules.window} known {kind} on end answered as known, below {limit:.0%}"
            detail = f"{fault} from task {since + 1} on: {figures}"
            drifts.append(Flag(kind="drift", detail=detail, since=since))
    begun = min((flag.since for flag in drifts), default=inf) if "drift" in rules.excluding else inf
    before = answered[answered["order"] < begun]
    told = list(_below(before, rules))
    if len(before) < rules.window or told:  # it cannot be said that they ever were good enough
        told = list(_below(answered, rules))
        drifts = [] if begun < inf and any(flag.sure for flag in told) else drifts
    yield from (*drifts, *told)


def _limit(kind: Choice, rules: CollectRules) -> float:
    return rules.min_sensitivity if kind == "invalid" else rules.min_specificity


def _below(answered: pd.DataFrame, rules: CollectRules) -> Iterator[Flag]:
    for kind, fault in KINDS.items():
        right, limit = answered.loc[answered["expected"] == kind, "right"], _limit(kind, rules)
        found = rate(int(right.sum()), len(right))
        if found.share is not None and found.high is not None and found.share < limit:
            figures = (
                f"{found.right} of {found.asked} known {kind} ({found.share:.1%}, at most {found.high:.1%})"
            )
            sure = found.high < limit and found.asked >= FEWEST_OTHERS
            yield Flag(kind=fault, detail=f"{figures}, below {limit:.0%}", sure=sure)


def drift(right: np.ndarray, limit: float, window: int) -> tuple[int, int] | None:
    """The first wrong answer of the first window that somebody who is right as often as `limit` would not have by chance (DRIFT,
    over all windows), and how many of the worst window are right; None if there is no such window.

    Args:
        right: [answers] of bool, in the order given.
    """
    if len(right) < window:
        return None
    counts = np.convolve(right, np.ones(window, int), "valid")
    bad = bdtr(counts, window, limit) * len(counts) < DRIFT
    if not bad.any():
        return None
    first = int(bad.argmax())
    return first + int(np.argmin(right[first : first + window])), int(counts.min())


def set_aside(judged: pd.DataFrame, excluded: Mapping[str, Exclusion]) -> pd.DataFrame:
    """The table with the reasons for which answers do not count: of excluded annotators; with a failed filter that has not
    fallen beside them; and of somebody's two answers on one candidate the later if both say the same, so that every vote is a
    first look, both if they contradict each other."""
    known = filters(judged)
    failed = known[~known["right"]].drop_duplicates("verdict_id").set_index("verdict_id")
    since = judged["annotator"].map({name: float(row.since) for name, row in excluded.items()}).astype(float)
    candidate, out = judged["role"] != "filter", judged["order"] >= since
    beside = candidate & judged["verdict_id"].isin(failed.index) & ~out
    aside = np.select([out, beside], [REASONS.index("annotator excluded"), REASONS.index("filter failed")], 0)
    of_person = {name: "; ".join(row.reasons) for name, row in excluded.items()}
    said = "said " + failed["choice"].astype(str) + ", " + failed["expected"].astype(str) + " was expected"
    details = ["", *sorted({*of_person.values(), *said})]
    number = {text: place for place, text in enumerate(details)}
    by_person = judged["annotator"].map({name: number[text] for name, text in of_person.items()})
    by_verdict = judged["verdict_id"].map(said.map(number))
    detail = np.select([out, beside], [by_person.astype(float), by_verdict.astype(float)], 0).astype(int)
    judged = judged.assign(aside=categorical(aside, REASONS), detail=categorical(detail, details))
    looks = judged[["order", "place", "annotator", "candidate_id", "choice"]]
    counting = looks[candidate & (aside == 0)].sort_values(["order", "place"], kind="stable")
    own = [counting["annotator"], counting["candidate_id"]]
    differ = (counting["choice"] == "invalid").groupby(own, observed=True).transform("nunique") > 1
    judged.loc[counting.index[counting.duplicated(["annotator", "candidate_id"])], "aside"] = "judged before"
    judged.loc[counting.index[differ], "aside"] = "contradicts themselves"
    return judged
