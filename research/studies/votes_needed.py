"""`rgqa study votes-needed`: how many votes it takes, by simulated crowds on the data set's own tasks; needs its complete truth.

Eight people (`research.simulated_annotators.annotator_crowds`) judge, three ways: every task by as many, drawn by lot; every candidate by as many whose votes
count, so that votes of whoever fails the filters are replaced; and one vote after the other until the candidate is sure. In
all a repeat is a vote, and the verdicts are found by what stage `collect` does: annotators weighed, Dawid and Skene's
estimate with the candidates' priors, one rule. Constants were fixed on
the first crowd; the figures told are of three others. All of it is simulated: people err on the same questions, these do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

import altair as alt
import pandas as pd

from annotation.study.answers_table import QualityRules, build_answers_table
from annotation.study.assignment import AdaptiveAssigner, AssignmentRules
from annotation.study.assignment_params import to_task_mapping
from annotation.study.dawid_skene import estimate_posteriors
from annotation.study.quality_control import assess_quality
from annotation.study.vote_aggregation import verify_candidates
from pipeline.benchmark.auditing.screening_accuracy import read_truth
from pipeline.core.errors import UserError
from pipeline.core.json_files import content_hash, write_json
from pipeline.core.output_paths import Output
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import track
from pipeline.core.randomness import make_generator
from pipeline.core.records import CandidateEstimate, Record, ScreenedCandidate, Task, TaskQuestion, Verdict
from research.simulated_annotators.annotator_crowds import make_crowd
from research.simulated_annotators.annotators import (
    ALWAYS_ANSWERABLE,
    SimulatedAnnotator,
    choose_verdict,
    find_obstacle_in_truth,
    simulate_verdicts,
)
from research.simulated_annotators.word_senses import WordSenses

TUNING_CROWD = 1  # the crowd on which constants were fixed;
REPORTED_CROWDS = (2, 3, 4)  # figures are told of these
FIXED_JUDGEMENTS, FIXED_COUNTED_VOTES, ADAPTIVE_VOTES = (
    "as many judgements a task",
    "as many votes that count",
    "until it is sure",
)
MIN_POSTERIORS = (0.8, 0.9, 0.95, 0.98, 0.99)
VOTES_PER_TASK = (1, 2, 3)  # votes for everybody

TrueAnswer = Callable[[TaskQuestion, str], str]  # what a faultless annotator finds of a question at an image


class VotingCost(Record):
    """What a way of asking comes to.

    Attributes:
        crowd: its seed. way: PLAIN, COUNTING or APART. setting: votes, or `sure`.
        judgements: tasks judged. votes: answers on candidates, repeats too.
        released: candidates called unanswerable. wrong: share of them that have an answer in truth.
        lost: share of those that are unanswerable in truth and are not called so.
        error: share of all candidates that are the one or the other.
    """

    crowd: int
    strategy: str
    setting: float
    judgements: int
    votes: int
    num_called_unanswerable: int
    false_discovery_rate: float
    miss_rate: float
    error_rate: float


def simulate_votes(
    asking: AdaptiveAssigner,
    tasks: Mapping[str, Task],
    people: Sequence[SimulatedAnnotator],
    true_answer: TrueAnswer,
    seed: int,
) -> list[Verdict]:
    """Verdicts of people who ask in turn, until nobody gets another task."""
    verdicts: list[Verdict] = []
    order = dict.fromkeys(people, 0)
    busy = list(people)
    while busy:
        keys = {person: asking.assign_next_task(person.name) for person in busy}
        busy = [person for person in busy if keys[person]]
        for person in busy:
            task = tasks[keys[person] or ""]
            rng = make_generator(seed, "votes", person.name, task.task_id)
            said = [
                choose_verdict(true_answer(row, task.image_id), person, rng)
                for row in (task.first, task.second)
            ]
            (first, first_reason), (second, second_reason) = said
            asking.record_answer(person.name, task.task_id, first, second)
            verdicts.append(
                Verdict(
                    verdict_id=content_hash("verdict", task.task_id, person.name),
                    task_id=task.task_id,
                    annotator=person.name,
                    first=first,
                    second=second,
                    first_reason=first_reason,
                    second_reason=second_reason,
                    sequence_index=order[person],
                    simulated=True,
                )
            )
            order[person] += 1
    return verdicts


def select_unanswerable(
    screened: Sequence[ScreenedCandidate],
    tasks: Mapping[str, Task],
    verdicts: Sequence[Verdict],
    answerable: Mapping[str, float],
) -> set[str]:
    """The candidates that stage `collect` would let go on."""
    rules = QualityRules()
    judged = assess_quality(build_answers_table(tasks, verdicts), rules).answers
    probable, _, _ = estimate_posteriors(judged, answerable)
    by_id = {row.candidate.candidate_id: row for row in screened}
    found = verify_candidates(by_id, judged, rules, {row.candidate_id: row.invalid for row in probable})
    return {row.candidate.candidate_id for row in found if row.status == "unanswerable"}


def compute_errors(released: set[str], truth: Mapping[str, str]) -> tuple[float, float, float]:
    """`wrong`, `lost` and `error` of Spent; candidates of which the truth tells nothing are left out.

    Args:
        truth: candidate id -> what a faultless annotator finds.

    >>> errors({"a", "b"}, {"a": "missing object", "b": "", "c": "missing object", "d": "", "e": "unclear"})
    (0.5, 0.5, 0.5)
    """
    known = {key: bool(found) for key, found in truth.items() if found != "unclear"}
    wrong = sum(key in released for key, unanswerable in known.items() if not unanswerable)
    lost = sum(key not in released for key, unanswerable in known.items() if unanswerable)
    out = len(released & known.keys())
    return wrong / max(1, out), lost / max(1, sum(known.values())), (wrong + lost) / max(1, len(known))


def simulate_strategies(
    tasks: Mapping[str, Task],
    screened: Sequence[ScreenedCandidate],
    answerable: Mapping[str, float],
    true_answer: TrueAnswer,
    crowds: Sequence[int],
    max_votes: int = 5,
) -> list[VotingCost]:
    """Every way and setting, for every crowd.

    Args:
        most: votes of one candidate, where they are asked one after the other.
    """
    asked = [to_task_mapping(task) for task in tasks.values()]
    rows = [(task.image_id, row) for task in tasks.values() for row in (task.first, task.second)]
    truth = {row.candidate_id or "": true_answer(row, at) for at, row in rows if row.role == "candidate"}
    ways = [(FIXED_JUDGEMENTS, votes, None) for votes in VOTES_PER_TASK]
    ways += [
        (FIXED_COUNTED_VOTES, votes, AssignmentRules(max_votes=votes, overlap_rate=1.0))
        for votes in VOTES_PER_TASK
    ]
    ways += [
        (ADAPTIVE_VOTES, sure, AssignmentRules(max_votes=max_votes, min_posterior=sure))
        for sure in MIN_POSTERIORS
    ]
    spent = []
    for seed in crowds:
        people = make_crowd(seed)
        for way, setting, rules in track(ways, f"crowd {seed}", unit="point"):
            if rules is None:
                verdicts = simulate_verdicts(
                    list(tasks.values()), true_answer, int(setting), seed, annotators=people
                )
            else:
                study = AdaptiveAssigner(asked, answerable, rules._replace(seed=seed))
                verdicts = simulate_votes(study, tasks, people, true_answer, seed)
            released = select_unanswerable(screened, tasks, verdicts, answerable)
            given = [tasks[row.task_id] for row in verdicts]
            wrong, lost, error = compute_errors(released, truth)
            spent.append(
                VotingCost(
                    crowd=seed,
                    strategy=way,
                    setting=setting,
                    judgements=len(given),
                    votes=sum(row.role != "filter" for task in given for row in (task.first, task.second)),
                    num_called_unanswerable=len(released),
                    false_discovery_rate=wrong,
                    miss_rate=lost,
                    error_rate=error,
                )
            )
    return spent


def average_over_crowds(spent: Sequence[VotingCost], crowds: Sequence[int] = REPORTED_CROWDS) -> pd.DataFrame:
    """A row for each way and setting: means over crowds, and `least` and `most` of the error among them."""
    table = pd.DataFrame([{name: getattr(row, name) for name in row.__struct_fields__} for row in spent])
    of = table[table["crowd"].isin(crowds)].groupby(["way", "setting"], sort=False)
    mean = of[["judgements", "votes", "released", "wrong", "lost", "error"]].mean()
    return mean.assign(least=of["error"].min(), most=of["error"].max()).reset_index()


def plot_curve(table: pd.DataFrame) -> alt.HConcatChart:
    """What is lost (on a scale of logarithms), and what is wrong in the set, against judgements."""
    lost = alt.Y(
        "lost:Q",
        title="unanswerable and lost",
        axis=alt.Axis(format=".1%", values=[0.003, 0.01, 0.03, 0.1, 0.3]),
        scale=alt.Scale(type="log", domain=[0.002, 0.5]),
    )
    wrong = alt.Y("wrong:Q", title="answerable, of those in the set", axis=alt.Axis(format=".2%"))
    base = alt.Chart(table, width=300, height=220).mark_line(point=True)
    panels = [
        base.encode(
            x=alt.X("judgements:Q", title="judgements"),
            y=y,
            color=alt.Color("way:N", title="votes", scale=alt.Scale(scheme="dark2")),
            order="judgements:Q",
        )
        for y in (lost, wrong)
    ]
    return alt.hconcat(*panels)


def render_table(table: pd.DataFrame) -> str:
    """The figures as a table in Markdown."""
    lines = [
        "| votes | setting | judgements | votes given | called unanswerable | of them answerable | lost | error |"
    ]
    lines.append("|---|---|---|---|---|---|---|---|")
    lines += [
        f"| {row.way} | {row.setting:g} | {row.judgements:,.0f} | {row.votes:,.0f} | {row.released:,.0f} | {row.wrong:.2%} "
        f"| {row.lost:.2%} | {row.error:.2%} ({row.least:.2%} to {row.most:.2%}) |"
        for row in table.itertuples()
    ]
    return "\n".join(lines)


def run_votes_study(crowd_seeds: Sequence[int], max_votes: int, out: Path | None) -> str:
    """The curve on the data set in use; `out` gets it as .json, .svg or .png."""
    folders = DatasetFolders()
    folders.check_outputs(Output("--out", out) if out else None)
    tasks = {task.task_id: task for task in folders.read_records(Task)}
    answerable = {row.candidate_id: row.p_answerable for row in folders.read_records(CandidateEstimate)}
    spent = simulate_strategies(
        tasks,
        list(folders.read_records(ScreenedCandidate)),
        answerable,
        _make_true_answer(folders),
        crowd_seeds,
        max_votes,
    )
    table = average_over_crowds(spent, crowd_seeds)
    if out and out.suffix == ".json":
        write_json(out, spent)
    elif out:
        plot_curve(table).save(str(out), scale_factor=1.2)
    return render_table(table)


def _make_true_answer(folders: DatasetFolders) -> TrueAnswer:
    truth = read_truth(folders)
    if not truth:
        raise UserError(f"{folders.dataset}: nobody knows its complete truth, which simulated people see")
    vocabulary = folders.read_vocabulary()
    words = WordSenses(categories=vocabulary.categories, attribute_types=vocabulary.attribute_types)
    look = cache(partial(find_obstacle_in_truth, truth, words))

    def see(question: TaskQuestion, at: str) -> str:
        # As little as possible tells two questions apart, so that each is looked at once.
        same = TaskQuestion(key="", text=question.text, role="candidate", program=question.program)
        return "" if question.text in ALWAYS_ANSWERABLE else look(same, at)

    return see
