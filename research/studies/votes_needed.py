"""`rgqa study votes`: how many votes it takes, by simulated crowds on the data set's own tasks; needs its complete truth.

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

from annotation.study.answers_table import CollectRules, judged_questions
from annotation.study.assignment import Asking, AskingRules
from annotation.study.assignment_params import as_asked
from annotation.study.dawid_skene import posteriors
from annotation.study.quality_control import weigh
from annotation.study.vote_aggregation import verify
from pipeline.benchmark.auditing.screening_accuracy import known_truth
from pipeline.core.errors import UserError
from pipeline.core.json_files import content_key, write_json
from pipeline.core.output_paths import Output
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.randomness import generator
from pipeline.core.records import Estimate, Record, Screened, Task, TaskQuestion, Verdict
from research.simulated_annotators.annotator_crowds import crowd
from research.simulated_annotators.annotators import (
    ANSWERED_BY_EVERY_PHOTO,
    SimulatedAnnotator,
    annotate,
    choose,
    view,
)
from research.simulated_annotators.word_senses import WordSenses

FIXED_ON = 1  # the crowd on which constants were fixed;
TOLD_OF = (2, 3, 4)  # figures are told of these
PLAIN, COUNTING, APART = "as many judgements a task", "as many votes that count", "until it is sure"
SURE = (0.8, 0.9, 0.95, 0.98, 0.99)
ALIKE = (1, 2, 3)  # votes for everybody

Seen = Callable[[TaskQuestion, str], str]  # what a faultless annotator finds of a question at a picture


class Spent(Record):
    """What a way of asking comes to.

    Attributes:
        crowd: its seed. way: PLAIN, COUNTING or APART. setting: votes, or `sure`.
        judgements: tasks judged. votes: answers on candidates, repeats too.
        released: candidates called unanswerable. wrong: share of them that have an answer in truth.
        lost: share of those that are unanswerable in truth and are not called so.
        error: share of all candidates that are the one or the other.
    """

    crowd: int
    way: str
    setting: float
    judgements: int
    votes: int
    released: int
    wrong: float
    lost: float
    error: float


def gather(
    asking: Asking, tasks: Mapping[str, Task], people: Sequence[SimulatedAnnotator], see: Seen, seed: int
) -> list[Verdict]:
    """Verdicts of people who ask in turn, until nobody gets another task."""
    verdicts: list[Verdict] = []
    order = dict.fromkeys(people, 0)
    busy = list(people)
    while busy:
        keys = {person: asking.next(person.name) for person in busy}
        busy = [person for person in busy if keys[person]]
        for person in busy:
            task = tasks[keys[person] or ""]
            rng = generator(seed, "votes", person.name, task.task_id)
            said = [choose(see(row, task.picture_id), person, rng) for row in (task.first, task.second)]
            (first, first_reason), (second, second_reason) = said
            asking.answer(person.name, task.task_id, first, second)
            verdicts.append(
                Verdict(
                    verdict_id=content_key("verdict", task.task_id, person.name),
                    task_id=task.task_id,
                    annotator=person.name,
                    first=first,
                    second=second,
                    first_reason=first_reason,
                    second_reason=second_reason,
                    order=order[person],
                    simulated=True,
                )
            )
            order[person] += 1
    return verdicts


def called_unanswerable(
    screened: Sequence[Screened],
    tasks: Mapping[str, Task],
    verdicts: Sequence[Verdict],
    answerable: Mapping[str, float],
) -> set[str]:
    """The candidates that stage `collect` would let go on."""
    rules = CollectRules()
    judged = weigh(judged_questions(tasks, verdicts), rules).judged
    probable, _, _ = posteriors(judged, answerable)
    by_id = {row.candidate.candidate_id: row for row in screened}
    found = verify(by_id, judged, rules, {row.candidate_id: row.invalid for row in probable})
    return {row.candidate.candidate_id for row in found if row.status == "unanswerable"}


def errors(released: set[str], truth: Mapping[str, str]) -> tuple[float, float, float]:
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


def curve(
    tasks: Mapping[str, Task],
    screened: Sequence[Screened],
    answerable: Mapping[str, float],
    see: Seen,
    crowds: Sequence[int],
    most: int = 5,
) -> list[Spent]:
    """Every way and setting, for every crowd.

    Args:
        most: votes of one candidate, where they are asked one after the other.
    """
    asked = [as_asked(task) for task in tasks.values()]
    rows = [(task.picture_id, row) for task in tasks.values() for row in (task.first, task.second)]
    truth = {row.candidate_id or "": see(row, at) for at, row in rows if row.role == "candidate"}
    ways = [(PLAIN, votes, None) for votes in ALIKE]
    ways += [(COUNTING, votes, AskingRules(votes=votes, overlap=1.0)) for votes in ALIKE]
    ways += [(APART, sure, AskingRules(votes=most, sure=sure)) for sure in SURE]
    spent = []
    for seed in crowds:
        people = crowd(seed)
        for way, setting, rules in track(ways, f"crowd {seed}", unit="point"):
            if rules is None:
                verdicts = annotate(list(tasks.values()), see, int(setting), seed, people=people)
            else:
                study = Asking(asked, answerable, rules._replace(seed=seed))
                verdicts = gather(study, tasks, people, see, seed)
            released = called_unanswerable(screened, tasks, verdicts, answerable)
            given = [tasks[row.task_id] for row in verdicts]
            wrong, lost, error = errors(released, truth)
            spent.append(
                Spent(
                    crowd=seed,
                    way=way,
                    setting=setting,
                    judgements=len(given),
                    votes=sum(row.role != "filter" for task in given for row in (task.first, task.second)),
                    released=len(released),
                    wrong=wrong,
                    lost=lost,
                    error=error,
                )
            )
    return spent


def means(spent: Sequence[Spent], crowds: Sequence[int] = TOLD_OF) -> pd.DataFrame:
    """A row for each way and setting: means over crowds, and `least` and `most` of the error among them."""
    table = pd.DataFrame([{name: getattr(row, name) for name in row.__struct_fields__} for row in spent])
    of = table[table["crowd"].isin(crowds)].groupby(["way", "setting"], sort=False)
    mean = of[["judgements", "votes", "released", "wrong", "lost", "error"]].mean()
    return mean.assign(least=of["error"].min(), most=of["error"].max()).reset_index()


def plot(table: pd.DataFrame) -> alt.HConcatChart:
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


def told(table: pd.DataFrame) -> str:
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


def study_votes(crowds: Sequence[int], most: int, out: Path | None) -> str:
    """The curve on the data set in use; `out` gets it as .json, .svg or .png."""
    folders = Folders()
    folders.check_outputs(Output("--out", out) if out else None)
    tasks = {task.task_id: task for task in folders.rows(Task)}
    answerable = {row.candidate_id: row.answerable for row in folders.rows(Estimate)}
    spent = curve(tasks, list(folders.rows(Screened)), answerable, _sight(folders), crowds, most)
    table = means(spent, crowds)
    if out and out.suffix == ".json":
        write_json(out, spent)
    elif out:
        plot(table).save(str(out), scale_factor=1.2)
    return told(table)


def _sight(folders: Folders) -> Seen:
    truth = known_truth(folders)
    if not truth:
        raise UserError(f"{folders.dataset}: nobody knows its complete truth, which simulated people see")
    vocabulary = folders.vocabulary()
    words = WordSenses(categories=vocabulary.categories, attribute_types=vocabulary.attribute_types)
    look = cache(partial(view, truth, words))

    def see(question: TaskQuestion, at: str) -> str:
        # As little as possible tells two questions apart, so that each is looked at once.
        same = TaskQuestion(key="", text=question.text, role="candidate", program=question.program)
        return "" if question.text in ANSWERED_BY_EVERY_PHOTO else look(same, at)

    return see
