"""The data set's questions paired otherwise: verified UQs by our rule and the paper's, and CLIP candidates drawn with other caps,
of which the truth says whether they have an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from msgspec import structs

from pipeline.benchmark.auditing.screening_accuracy import known_truth
from pipeline.benchmark.balancing.pairing import NONE, BalanceParams, balance
from pipeline.benchmark.balancing.release_items import items as items_of_pairs
from pipeline.candidates.ranking.clip_candidates import RankParams, propose, with_programs
from pipeline.candidates.ranking.rank_inputs import read_vectors
from pipeline.core.json_files import read_json
from pipeline.core.params import load
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.records import (
    SUBSETS,
    AqCheck,
    Candidate,
    Estimate,
    Judgement,
    Question,
    Subset,
    TaskQuestion,
    Verified,
)
from research.simulated_annotators.annotators import view
from research.simulated_annotators.word_senses import WordSenses
from research.studies.item_sets import OURS, PAPER, RankedSet, set_of

CAPS = (1, 2, 3, 5, 10, 0)  # 0: none


class PairedSets(NamedTuple):
    """What balancing needs: the questions of the pictures by id, the part of each picture, and ids of refuted questions."""

    questions: Mapping[str, Question]
    part: Mapping[str, str]
    refuted: frozenset[str]

    def paired(
        self,
        subset: Subset,
        uqs: Sequence[Verified],
        series: str,
        estimates: Mapping[str, Estimate] = NONE,
    ) -> RankedSet:
        """UQs with AQs beside them, by our rule or the paper's; those of part test. `estimates` by candidate id, if known."""
        p = load("balance", BalanceParams)
        if series == PAPER:
            p = structs.replace(p, rule="image")
        ordered = sorted(uqs, key=lambda row: row.candidate.candidate_id)
        pairs, _ = balance(subset, ordered, self.questions, self.refuted, self.part, p, estimates)
        rows = items_of_pairs(subset, pairs, self.questions, {}, self.part)
        return set_of(row for row in rows if row.part == "test")


def inputs_of(folders: Folders) -> PairedSets:
    """Of a data set."""
    part = read_json(folders.stage("rank") / "parts.json", dict[str, str])
    questions = {q.question_id: q for q in sorted(folders.asked(part), key=lambda q: q.question_id)}
    refuted = {check.question_id for check in folders.rows(AqCheck) if check.status == "refuted"}
    return PairedSets(questions, part, frozenset(refuted))


def balancing_sets(folders: Folders) -> dict[tuple[str, str], RankedSet]:
    """By subset and rules of pairing, the verified UQs of a data set."""
    given = inputs_of(folders)
    verified = [row for row in folders.rows(Verified) if row.status == "unanswerable"]
    estimates = {row.candidate_id: row for row in folders.rows(Estimate)}
    return {
        (subset, series): given.paired(
            subset, [row for row in verified if row.candidate.subset == subset], series, estimates
        )
        for subset in SUBSETS
        for series in (OURS, PAPER)
    }


def cap_sets(folders: Folders) -> dict[tuple[str, str, int], RankedSet]:
    """By CLIP subset, rules of pairing and cap, what the truth says is unanswerable of the candidates drawn with that cap."""
    given = inputs_of(folders)
    vectors, questions = read_vectors(folders.stage("embed")), list(given.questions.values())
    vocabulary = folders.vocabulary()
    words = WordSenses(categories=vocabulary.categories, attribute_types=vocabulary.attribute_types)
    see = partial(view, known_truth(folders), words)
    found = {}
    for cap in track(CAPS, "cap", unit="cap"):
        p = structs.replace(load("rank", RankParams), cap=cap)
        candidates, _ = propose(questions, vectors, given.part, p)
        whole = with_programs(candidates, given.questions)
        uqs = [verified_of(one) for one in whole if _lacks(see, one)]
        for subset in SUBSETS[:2]:
            rows = [row for row in uqs if row.candidate.subset == subset]
            found |= {(subset, series, cap): given.paired(subset, rows, series) for series in (OURS, PAPER)}
    return found


def _lacks(see: partial[str], one: Candidate) -> bool:
    asked = TaskQuestion(key="", text=one.text, role="candidate", program=one.program)
    return see(asked, one.picture_id) not in ("", "unclear")


def verified_of(one: Candidate) -> Verified:
    """A candidate that the truth says is unanswerable."""
    return Verified(
        candidate=one,
        judgement=Judgement(answerability="unanswerable", evidence="truth"),
        status="unanswerable",
        votes_invalid=1,
        votes_valid=0,
        votes_set_aside=0,
        verdict_ids=(),
        simulated=True,
    )
