"""Aggregate the verdicts of annotators into a status of each candidate.

First the annotators are assessed. Then answers that do not count are excluded. The remaining answers decide
each candidate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import pandas as pd
from msgspec import to_builtins as asdict

from annotation.study.answers_table import (
    QualityRules,
    count_adjudicated_gold,
    get_adjudications,
    select_votes,
)
from annotation.study.assignment import DEFAULT_RULES
from annotation.study.gold_status import count_by_status, list_questions_to_check
from annotation.study.label_error import measure_label_error
from annotation.study.panel_priors import (
    PanelPriors,
    PanelReport,
    audit_panel,
    decide_by_panel,
    find_called_valid,
)
from annotation.study.posteriors import NO_ESTIMATES, Posterior, PosteriorEstimates, estimate_posteriors
from annotation.study.quality_control import ExcludedAnswer, assess_quality, list_excluded_answers
from annotation.study.quality_report import QualityReport, build_report
from annotation.study.vote_aggregation import Status, check_aqs, decide_by_votes, verify_candidates
from pipeline.core.jsonl_index import FilteredView
from pipeline.core.params import Seed
from pipeline.core.records import CollectedCandidate, GoldQuestionCheck, Record, ScreenedCandidate, Subset
from pipeline.research_registry import NUM_SIMULATED_ANNOTATORS
from pipeline.tasks.drafted_questions import is_drafted_question, merge_checks


class CollectParams(QualityRules):
    """Parameters of the stage collect, besides the rules of quality control.

    Attributes:
        simulate: Whether to use simulated annotators in place of exported verdicts. `true` needs complete
            scene graphs, which are known only for synthetic worlds. "rehearsal" treats incomplete graphs as
            complete, to test the process before people are asked. The results of a rehearsal are marked and
            cannot be published.
        seed: Seed of the simulated annotators.
        simulated_votes: Number of simulated verdicts per task. It is used only if `simulate` is set.
    """

    simulate: bool | Literal["rehearsal"] = False
    seed: Seed = 0
    simulated_votes: Annotated[int, msgspec.Meta(ge=1, le=NUM_SIMULATED_ANNOTATORS)] = 3

    def get_active_values(self, *, has_panel: bool = False) -> dict[str, object]:
        """Return the parameters on which the quality report depends.

        The parameters of the simulation are included only if `simulate` is set, and `min_people` only if there is a panel of models.
        """
        simulation = ("simulate", "seed", "simulated_votes") if self.simulate else ("simulate",)
        rules = [name for name in QualityRules.__struct_fields__ if has_panel or name != "min_people"]
        return {name: getattr(self, name) for name in (*simulation, *rules)}


class AggregatedVerdicts(Record):
    """The results of aggregating verdicts.

    Attributes:
        verified: The screened candidates, each with its status. Drafted questions are not among them.
        drafted: The questions that a model drafted as answerable, each with its status.
        excluded_answers: The answers that do not count, each with a reason.
        aq_checks: For each answerable question (AQ) that served as a gold question, or that a model drafted, what annotators
            said about it.
        posteriors: The probabilities of the model of the votes, or [] if the model was not used.
        copies: Accounts that answer like one person, in groups.
        quality: The quality report.
        panel: The panel of models, and how often it errs; None without a panel.
        invalid_by_people: Candidate id -> probability of being unanswerable by people alone; empty without a panel.
    """

    verified: Collection[CollectedCandidate]
    drafted: list[CollectedCandidate]
    excluded_answers: list[ExcludedAnswer]
    aq_checks: list[GoldQuestionCheck]
    posteriors: list[Posterior]
    copies: list[list[str]]
    quality: QualityReport
    panel: PanelReport | None = None
    invalid_by_people: dict[str, float] = msgspec.field(default_factory=dict)


class WeighedVotes(NamedTuple):
    """What follows from the votes after quality control.

    Attributes:
        answers: The answers table, in which votes that are not trusted, and repeated votes of copies, have an exclusion reason.
        estimated: The probabilities of the model of the votes; `NO_ESTIMATES` if it was not used.
        panel: The panel of models; None without a panel.
        invalid_by_people: Candidate id -> probability of being unanswerable by people alone; empty without a panel.
        by_panel: Candidate id -> status by the panel, where it may decide (`collect.min_people: 0`).
        called_valid: Ids of candidates that the panel calls valid.
    """

    answers: pd.DataFrame
    estimated: PosteriorEstimates
    panel: PanelReport | None
    invalid_by_people: dict[str, float]
    by_panel: Mapping[str, Status]
    called_valid: list[str]


# Returns the priors with a panel of models, from candidate id -> probability of being unanswerable by people alone, and the answers
# table.
AddPanel = Callable[[Mapping[str, float], pd.DataFrame], PanelPriors]


def weigh_votes(
    answers: pd.DataFrame,
    screened: Mapping[str, ScreenedCandidate],
    params: CollectParams,
    answerable_priors: Mapping[str, float] = MappingProxyType({}),
    add_panel: AddPanel | None = None,
) -> WeighedVotes:
    """Weigh the votes of people and, if there is one, the verdicts of a panel of models.

    Args:
        answers: The answers table after quality control.
        screened, params, answerable_priors, add_panel: As in `aggregate_verdicts`.
    """
    answers_table, estimated = answers, NO_ESTIMATES
    panel, invalid_by_people = None, dict[str, float]()
    called_valid = list[str]()
    by_panel: Mapping[str, Status] = {}
    if params.aggregation == "dawid-skene":
        has_votes = len(select_votes(answers_table)) > 0
        if has_votes:
            estimated, answers_table = estimate_posteriors(answers_table, answerable_priors)
        if add_panel:
            # People alone come first. The panel is measured by what they say, and changes the priors.
            invalid_by_people = {row.candidate_id: row.invalid for row in estimated.posteriors}
            priors = add_panel(invalid_by_people, answers_table)
            by_people = decide_by_votes(answers_table, screened, params, estimated.invalid_by_votes)
            panel = audit_panel(priors, by_people)
            if panel.is_used and has_votes:
                called_valid = find_called_valid(priors)
                estimated, answers_table = estimate_posteriors(answers, priors.answerable)
            if panel.is_used and not params.min_people:
                base_rates: dict[Subset, float] = {
                    name: rate.value for name, rate in estimated.base_rates.items() if rate.value is not None
                }
                by_panel = decide_by_panel(priors, params.min_posterior, base_rates, invalid_by_people)
    return WeighedVotes(answers_table, estimated, panel, invalid_by_people, by_panel, called_valid)


def verify_weighed(
    screened: Mapping[str, ScreenedCandidate], weighed: WeighedVotes, params: CollectParams
) -> Iterator[CollectedCandidate]:
    """Yield every candidate with its votes and status, sorted by id."""
    invalid = {row.candidate_id: row.invalid for row in weighed.estimated.posteriors}
    return verify_candidates(
        screened, weighed.answers, params, invalid, weighed.by_panel, weighed.called_valid
    )


def aggregate_verdicts(
    screened: Mapping[str, ScreenedCandidate],
    answers_table: pd.DataFrame,
    params: CollectParams,
    answerable_priors: Mapping[str, float] = MappingProxyType({}),
    overlap: Collection[str] = (),
    audited: Collection[str] = (),
    store: Callable[[Iterable[CollectedCandidate]], Collection[CollectedCandidate]] = list,
    min_gold_agreement: int = DEFAULT_RULES.min_gold_agreement,
    add_panel: AddPanel | None = None,
    judged_drafts: Sequence[GoldQuestionCheck] = (),
) -> AggregatedVerdicts:
    """Aggregate verdicts into the status of each screened candidate.

    Args:
        screened: Candidate id -> screened candidate, or drafted question that has a task.
        answers_table: The answers, one row per annotator and question (`annotation.study.answers_table`).
        params: The parameters of the stage collect.
        answerable_priors: Candidate id -> prior probability (0 to 1) of being answerable. It is used only by
            the rule dawid-skene.
        overlap: The ids of the candidates that were sampled at random to be judged by several annotators.
            Agreement is measured on these candidates.
        audited: The ids of the candidates of the audit sample, on which the label error is measured.
        store: A function that stores the verified candidates as they are made, and returns a collection from
            which they can be read again.
        min_gold_agreement: Number of annotators who must agree on an unconfirmed gold question.
        add_panel: Returns the priors with a panel of models (`AddPanel`); None without a panel. It is used only by the rule
            dawid-skene.
        judged_drafts: Verdicts of earlier rounds on drafted questions that have no task any more.

    Raises:
        UserError: See `assess_quality`.
    """
    assessed = assess_quality(answers_table, params, min_gold_agreement)
    weighed = weigh_votes(assessed.answers, screened, params, answerable_priors, add_panel)
    answers_table, estimated, panel = weighed.answers, weighed.estimated, weighed.panel
    assessed = assessed._replace(answers=answers_table)
    judged = store(verify_weighed(screened, weighed, params))
    drafted_ids = {row.candidate.candidate_id for row in judged if is_drafted_question(row)}
    verified = FilteredView(judged, lambda row: not is_drafted_question(row)) if drafted_ids else judged
    drafted = [row for row in judged if is_drafted_question(row)] if drafted_ids else []
    adjudicated = get_adjudications(answers_table)
    by_votes = decide_by_votes(
        answers_table, screened, params, estimated.invalid_by_votes, weighed.called_valid
    )
    label_error = measure_label_error(
        {key: status for key, status in by_votes.items() if key not in drafted_ids},
        {str(key): bool(value) for key, value in adjudicated.items()},
        audited,
        count_adjudicated_gold(answers_table),
    )
    return AggregatedVerdicts(
        verified=verified,
        excluded_answers=list_excluded_answers(answers_table),
        drafted=drafted,
        aq_checks=merge_checks(check_aqs(answers_table), drafted, judged_drafts)
        if drafted or judged_drafts
        else check_aqs(answers_table),
        posteriors=estimated.posteriors,
        copies=estimated.copies,
        quality=build_report(
            assessed,
            judged,
            estimated,
            label_error,
            params.get_active_values(has_panel=panel is not None),
            overlap,
            panel,
        ),
        panel=panel,
        invalid_by_people=weighed.invalid_by_people,
    )


def make_report(aggregated: AggregatedVerdicts) -> dict[str, Any]:
    """Return the content of `collect.json`, which the audit and later stages read.

    The quality report has all details.
    """
    quality = aggregated.quality
    panel = {"panel": asdict(aggregated.panel)} if aggregated.panel else {}
    decided = Counter(row.status for row in aggregated.verified if row.decided_by == "panel")
    by_panel = {"by_panel": decided} if decided else {}
    return {
        "simulated": quality.simulated,
        "rehearsal": quality.rehearsal,
        "warnings": quality.warnings,
        "annotators": {
            row.name: {
                **asdict(row.gold_accuracy),
                "excluded": bool(row.exclusion_reasons),
                "excluded_from": row.excluded_since,
                "reasons": row.exclusion_reasons,
            }
            for row in quality.annotators
        },
        "verdicts": quality.num_verdicts,
        "excluded_answers": Counter(row.reason for row in aggregated.excluded_answers),
        "discarded_gold_questions": sorted(
            f"{row.image_id}: {row.text}" for row in quality.discarded_gold_questions
        ),
        "gold_agreement": count_by_status(quality.gold_checks),
        "questions_to_check": [
            f"{row.image_id}: {row.text}" for row in list_questions_to_check(quality.gold_checks)
        ],
        "agreement": asdict(quality.agreement[0]),
        "retest": asdict(quality.retest),
        "doubts": quality.doubts,
        "label_error": asdict(quality.label_error),
        "candidates": {row.subset: row.statuses for row in quality.subsets},
        "base_rates": {row.subset: asdict(row.base_rate) for row in quality.subsets},
        "by_adjudicator": Counter(
            row.status for row in aggregated.verified if row.decided_by == "adjudicator"
        ),
        **by_panel,
        "aqs": Counter(row.status for row in aggregated.aq_checks),
        **panel,
    }
