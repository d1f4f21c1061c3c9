"""Pair the data set's questions in other ways.

Verified UQs are paired by our rule and by the paper's. CLIP candidates are proposed with other reuse caps;
the truth says which of them are unanswerable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from msgspec import structs

from pipeline.benchmark.auditing.screening_accuracy import read_truth
from pipeline.benchmark.balancing.drafted_questions import find_unusable_questions
from pipeline.benchmark.balancing.pairing import NO_ESTIMATES, BalanceParams, balance_subset
from pipeline.benchmark.balancing.release_items import make_items
from pipeline.candidates.ranking.clip_candidates import attach_programs, propose_candidates
from pipeline.candidates.ranking.rank_inputs import load_embeddings
from pipeline.core.json_files import read_json
from pipeline.core.params import load_params
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import track
from pipeline.core.rank_params import RankParams
from pipeline.core.records import (
    SUBSETS,
    Candidate,
    CandidateEstimate,
    CollectedCandidate,
    GoldQuestionCheck,
    Question,
    Subset,
    TaskQuestion,
    VerifierResult,
)
from research.simulated_annotators.annotators import find_obstacle_in_truth
from research.simulated_annotators.word_senses import WordSenses
from research.studies.item_sets import OUR_RULES, PAPER_RULES, ItemSet, make_item_set

# How often a question may be used in a subset. 0 is without a cap.
REUSE_CAPS = (1, 2, 3, 5, 10, 0)


class PairingInputs(NamedTuple):
    """What balancing needs: questions by id, the split of each image, and the ids of refuted questions."""

    questions: Mapping[str, Question]
    split_of: Mapping[str, str]
    unusable: Mapping[str, str]

    def pair_with_aqs(
        self,
        subset: Subset,
        uqs: Sequence[CollectedCandidate],
        series: str,
        estimates: Mapping[str, CandidateEstimate] = NO_ESTIMATES,
    ) -> ItemSet:
        """Return the UQs of split `test` with their AQs, paired by our rule or the paper's.

        `estimates` are by candidate id.
        """
        p = load_params("balance", BalanceParams)
        if series == PAPER_RULES:
            p = structs.replace(p, rule="image")
        ordered = sorted(uqs, key=lambda row: row.candidate.candidate_id)
        pairs, _ = balance_subset(subset, ordered, self.questions, self.unusable, self.split_of, p, estimates)
        rows = make_items(subset, pairs, self.questions, {}, self.split_of)
        return make_item_set(row for row in rows if row.split == "test")


def load_pairing_inputs(folders: DatasetFolders) -> PairingInputs:
    """Load the pairing inputs of a data set."""
    split = read_json(folders.stage_dir("rank") / "splits.json", dict[str, str])
    questions = {
        q.question_id: q for q in sorted(folders.read_questions_about(split), key=lambda q: q.question_id)
    }
    checks = {row.question_id: row for row in folders.read_records(GoldQuestionCheck)}
    p = load_params("balance", BalanceParams)
    unusable = find_unusable_questions(questions.values(), checks, p.require_confirmation)
    return PairingInputs(questions, split, unusable)


def build_balancing_sets(folders: DatasetFolders) -> dict[tuple[str, str], ItemSet]:
    """Return the verified UQs of a data set, paired, by subset and rules."""
    given = load_pairing_inputs(folders)
    verified = [row for row in folders.read_records(CollectedCandidate) if row.status == "unanswerable"]
    estimates = {row.candidate_id: row for row in folders.read_records(CandidateEstimate)}
    return {
        (subset, series): given.pair_with_aqs(
            subset, [row for row in verified if row.candidate.subset == subset], series, estimates
        )
        for subset in SUBSETS
        for series in (OUR_RULES, PAPER_RULES)
    }


def build_cap_sets(folders: DatasetFolders) -> dict[tuple[str, str, int], ItemSet]:
    """Return the truly unanswerable CLIP candidates, paired, by subset, rules and reuse cap."""
    given = load_pairing_inputs(folders)
    vectors, questions = load_embeddings(folders.stage_dir("embed")), list(given.questions.values())
    vocabulary = folders.read_vocabulary()
    words = WordSenses(categories=vocabulary.categories, attribute_types=vocabulary.attribute_types)
    see = partial(find_obstacle_in_truth, read_truth(folders), words)
    found = {}
    for cap in track(REUSE_CAPS, "cap", unit="cap"):
        p = structs.replace(load_params("rank", RankParams), max_question_uses=cap)
        candidates, _ = propose_candidates(questions, vectors, given.split_of, p)
        whole = attach_programs(candidates, given.questions)
        uqs = [make_verified(one) for one in whole if _is_unanswerable(see, one)]
        for subset in SUBSETS[:2]:
            rows = [row for row in uqs if row.candidate.subset == subset]
            found |= {
                (subset, series, cap): given.pair_with_aqs(subset, rows, series)
                for series in (OUR_RULES, PAPER_RULES)
            }
    return found


def _is_unanswerable(see: partial[str], one: Candidate) -> bool:
    asked = TaskQuestion(key="", text=one.text, role="candidate", program=one.program)
    return see(asked, one.image_id) not in ("", "unclear")


def make_verified(one: Candidate) -> CollectedCandidate:
    """Return a candidate that is unanswerable by the ground truth, as a verified one."""

    return CollectedCandidate(
        candidate=one,
        verifier_result=VerifierResult(answerability="unanswerable", evidence_source="truth"),
        status="unanswerable",
        votes_invalid=1,
        votes_valid=0,
        votes_excluded=0,
        verdict_ids=(),
        simulated=True,
    )
