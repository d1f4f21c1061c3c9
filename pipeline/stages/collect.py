"""Turn annotators' verdicts into verified candidates.

Annotators below the accuracy asked for on filter questions are set aside, and so is every verdict whose own
filter question was failed. What is left are votes; a candidate goes on only if enough of them say "invalid", by
majority, unanimity, or Dawid and Skene's estimate. Speed and constant answers are flagged.

Reads   tasks.jsonl, screened.jsonl
        data/<data set>/annotations/*.json   exports of Label Studio, or, with `simulate: true`,
        data/<data set>/truth, pictures.jsonl, vocabulary.json   what simulated annotators see and know; with
                                             `simulate: rehearsal` instead of the truth
        scenes.jsonl, reconstructed.jsonl    incomplete graphs, taken as complete
Writes  verdicts.jsonl    all of them, under pseudonyms, simulated ones marked
        set_aside.jsonl   verdicts that do not count, each with a reason
        verified.jsonl    every candidate with its votes and one status
        posteriors.jsonl  how probably each is unanswerable, if the rule is dawid-skene; else empty
        another_vote.json   tasks that need another vote
        aq_checks.jsonl   the pictures' own questions that were verified or refuted on the way
        quality.json, quality.html   the quality report
        collect.json      accuracy and agreement of annotators, statuses per subset
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from math import isnan
from typing import Annotated, Literal

import msgspec

from annotation.study.another_vote import AnotherVote, another_vote, one_more, one_more_by_posterior
from annotation.study.exports import read_exports
from annotation.study.habits import Habits, Limits, habits
from annotation.study.posteriors import Posterior, posteriors, usual
from annotation.study.quality import Accuracy, accuracies, excluded, refuted
from annotation.study.quality_figures import Quality, summary
from annotation.study.quality_page import page
from annotation.study.votes import Rule, SetAside, check_aqs, set_aside, verify
from pipeline.core.errors import UserError, run
from pipeline.core.files import read_json, read_jsonl, replacing, write_json, write_jsonl
from pipeline.core.params import Params, load
from pipeline.core.paths import Folders
from pipeline.core.progress import done
from pipeline.core.records import (
    AqCheck,
    Choice,
    Picture,
    Record,
    Scene,
    Screened,
    Task,
    TaskQuestion,
    Verdict,
    Verified,
    Vocabulary,
)
from pipeline.judge.facts import facts_of
from pipeline.judge.judgement import judge
from pipeline.judge.reconstruct import Reconstructed, facts_known
from pipeline.sources import gqa_files
from pipeline.words.lexicon import Lexicon
from simulation.annotators import ANNOTATORS, annotate, rehearse
from simulation.word_senses import Words

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class CollectParams(Params):
    # Simulated annotators instead of exports; true needs the complete truth. "rehearsal" takes incomplete graphs for
    # it, to see the machinery work before people are asked: what comes out is marked, and cannot be published.
    simulate: bool | Literal["rehearsal"] = False
    seed: int = 0  # of the simulated annotators
    votes: Annotated[int, msgspec.Meta(ge=1, le=len(ANNOTATORS))] = 3  # simulated verdicts per task
    min_votes: Annotated[int, msgspec.Meta(ge=1)] = 2  # fewer counted votes leave a candidate unjudged
    rule: Rule = "majority"  # or unanimity: how many votes must say invalid; or dawid-skene
    # Of dawid-skene: a candidate less probably (un)answerable than this is doubtful.
    min_posterior: Annotated[float, msgspec.Meta(gt=0.5, le=1)] = 0.95
    min_filter_accuracy: Share = 0.8  # annotators below it fail "accuracy"
    min_filter_answers: Annotated[int, msgspec.Meta(ge=1)] = 20  # fewer answers say too little of anybody
    # Who fails one of these is excluded; the others are told in the quality report.
    excluding: tuple[Literal["accuracy", "speed", "one answer", "long run"], ...] = ("accuracy",)
    fast_seconds: Annotated[float, msgspec.Meta(ge=0)] = 3.0  # nobody reads two questions and looks in less
    max_fast: Share = 0.25  # a larger share of such tasks is suspect speed
    max_excess: Share = 0.2  # a choice given so much more often than by others is suspect,
    flag_level: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.001  # if less probable than this by chance


class Collected(Record):
    """Everything that the verdicts come to."""

    verified: list[Verified]
    set_aside: list[SetAside]
    aq_checks: list[AqCheck]
    posteriors: list[Posterior]
    another_vote: list[AnotherVote]
    quality: Quality
    report: dict


def collect(
    screened: Sequence[Screened],
    tasks: Mapping[str, Task],
    verdicts: Sequence[Verdict],
    params: CollectParams,
) -> Collected:
    """Weigh annotators, set aside what does not count, and count the rest."""
    wrong = refuted(tasks, verdicts)
    found = accuracies(tasks, verdicts, wrong)
    how = habits(tasks, verdicts, limits(params))
    out = exclusions(found, how, params)
    aside = set_aside(tasks, verdicts, out, wrong)
    dropped = {row.verdict_id for row in aside}
    counted = [verdict for verdict in verdicts if verdict.verdict_id not in dropped]
    probable, tables = posteriors(tasks, counted) if params.rule == "dawid-skene" else ([], [])
    invalid = {row.candidate_id: row.invalid for row in probable}
    verified = verify(
        screened, tasks, verdicts, dropped, params.rule, params.min_votes, invalid, params.min_posterior
    )
    subset_of = {row.candidate.candidate_id: row.candidate.subset for row in screened}
    means = {subset: usual(tables, subset) for subset in {table.subset for table in tables}}

    def decides(candidate_id: str, choices: Sequence[Choice]) -> bool:
        if params.rule != "dawid-skene":
            return one_more(choices, params.rule, params.min_votes)
        usually = means[subset_of[candidate_id]]
        return one_more_by_posterior(
            choices, invalid[candidate_id], *usually, params.min_posterior, params.min_votes
        )

    again = another_vote(verified, tasks, verdicts, dropped, decides, params.min_votes)
    checks = check_aqs(tasks, verdicts, out)
    quality = summary(
        tasks, verdicts, verified, aside, found, how, out, wrong, again, tables, settings(params)
    )
    return Collected(
        verified=verified,
        set_aside=aside,
        aq_checks=checks,
        posteriors=probable,
        another_vote=again,
        quality=quality,
        report=report(verdicts, verified, aside, found, out, wrong, checks, quality),
    )


def limits(params: CollectParams) -> Limits:
    return Limits(
        fast_seconds=params.fast_seconds,
        max_fast=params.max_fast,
        min_answers=params.min_filter_answers,
        max_excess=params.max_excess,
        level=params.flag_level,
    )


def exclusions(
    found: Mapping[str, Accuracy], how: Mapping[str, Habits], params: CollectParams
) -> dict[str, list[str]]:
    """Annotators that are excluded, with every reason; sorted by name."""
    failed = excluded(found, params.min_filter_accuracy, params.min_filter_answers)
    reasons: dict[str, list[str]] = {}
    for name, row in found.items():
        told = [f"{flag.kind}: {flag.detail}" for flag in how[name].flags if flag.kind in params.excluding]
        if name in failed and "accuracy" in params.excluding:
            least = f"{params.min_filter_accuracy:.0%}"
            told.insert(
                0,
                f"accuracy: {row.right} of {row.answered} filter questions ({row.share:.1%}), below {least}",
            )
        if told:
            reasons[name] = told
    return reasons


def settings(params: CollectParams) -> dict[str, object]:
    """The parameters that the quality report rests on; those of the simulation only if it ran."""
    values = msgspec.structs.asdict(params)
    if not params.simulate:
        del values["seed"], values["votes"]
    return values


def report(
    verdicts: Sequence[Verdict],
    verified: Sequence[Verified],
    aside: Sequence[SetAside],
    found: Mapping[str, Accuracy],
    out: Mapping[str, Sequence[str]],
    wrong: set[tuple[str, str]],
    checks: Sequence[AqCheck],
    quality: Quality,
) -> dict[str, object]:
    """What the audit and the next stages are told; the whole is in the quality report."""
    statuses: dict[str, Counter[str]] = {}
    for row in verified:
        statuses.setdefault(row.candidate.subset, Counter())[row.status] += 1
    together = quality.agreement[0]
    return {
        "simulated": quality.simulated,
        "rehearsal": quality.rehearsal,
        "annotators": {
            name: {
                "filters": row.answered,
                "right": row.right,
                "accuracy": rounded(row.share),
                "low": rounded(row.low),
                "high": rounded(row.high),
                "excluded": name in out,
                "reasons": out.get(name, []),
            }
            for name, row in found.items()
        },
        "verdicts": len(verdicts),
        "set_aside": dict(Counter(row.reason for row in aside)),
        "filters_refuted": sorted(f"{picture}: {text}" for picture, text in wrong),
        "agreement": {
            "share": None if together.share is None else rounded(together.share),
            "alpha": None if together.alpha is None else rounded(together.alpha),
            "pairs": [
                {"first": pair.first, "second": pair.second, "both": pair.both, "same": pair.same}
                for pair in together.pairs
            ],
        },
        "candidates": {subset: dict(row) for subset, row in statuses.items()},
        "another_vote": quality.another_vote,
        "aqs": dict(Counter(row.status for row in checks)),
    }


def rounded(share: float) -> float | None:
    """Four places; null for an undefined share (JSON has no NaN)."""
    return None if isnan(share) else round(share, 4)


def simulated(folders: Folders, tasks: Sequence[Task], params: CollectParams) -> list[Verdict]:
    """Verdicts of the simulated annotators, who see the complete truth."""
    pictures = read_jsonl(folders.stage("ingest") / "pictures.jsonl", Picture)
    truth = gqa_files.truth(folders.truth, (row.split for row in pictures))
    vocabulary = read_json(folders.stage("vocabulary") / "vocabulary.json", Vocabulary)
    words = Words(categories=vocabulary.categories, attribute_types=vocabulary.attribute_types)
    return annotate(tasks, truth, words, params.votes, params.seed)


def rehearsed(folders: Folders, tasks: Sequence[Task], params: CollectParams) -> list[Verdict]:
    """Verdicts of simulated annotators who take the graphs that there are, published or put together from questions,
    for all there is."""
    vocabulary = read_json(folders.stage("vocabulary") / "vocabulary.json", Vocabulary)
    lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
    wanted = {task.picture_id for task in tasks}
    graphs = read_jsonl(folders.stage("vocabulary") / "reconstructed.jsonl", Reconstructed)
    scenes = read_jsonl(folders.stage("ingest") / "scenes.jsonl", Scene)
    facts = {
        graph.picture_id: facts_known(graph, lexicon, complete=True)
        for graph in graphs
        if graph.picture_id in wanted
    }
    facts |= {
        scene.picture_id: facts_of(msgspec.structs.replace(scene, complete=True), lexicon)
        for scene in scenes
        if scene.picture_id in wanted
    }

    def look(question: TaskQuestion, picture_id: str) -> str:
        found = judge(question.program, facts.get(picture_id), question.text)
        return {"answerable": "", "unknown": "unclear"}.get(found.answerability, found.category or "unclear")

    print(
        "warning: this is a REHEARSAL: the verdicts are simulated, and the truth they are simulated from is "
        f"incomplete graphs taken as complete ({folders.dataset}.collect.simulate: rehearsal)",
        file=sys.stderr,
    )
    return rehearse(tasks, look, params.votes, params.seed)


def waiting(folders: Folders, tasks: int, exports: int, counts: Mapping[str, int]) -> list[str]:
    """What to do when nobody has judged anything yet."""
    shown = folders.stage("batch") / "label_studio_tasks.json"
    return [
        f"{tasks:,} tasks wait for annotators: there are no verdicts yet",
        f"{folders.annotations} holds {exports} exports"
        + (f" with annotations {dict(counts)}" if counts else ""),
        "have them judged: make annotate (docs/annotation.md), then rgqa annotate pull, then dvc repro",
        f"or by hand: import {shown} into a project with annotation/client/interface.xml, and put its export into {folders.annotations}/",
    ]


def main() -> None:
    folders = Folders()
    params = load("collect", CollectParams)
    if params.simulate and params.min_votes > params.votes:
        raise UserError(
            f"collect.min_votes is {params.min_votes}, more than collect.votes, {params.votes}: "
            "nothing could be verified"
        )
    out = folders.stage("collect")
    screened = list(read_jsonl(folders.stage("screen") / "screened.jsonl", Screened))
    tasks = {task.task_id: task for task in read_jsonl(folders.stage("batch") / "tasks.jsonl", Task)}
    exports = sorted(folders.annotations.glob("*.json")) if not params.simulate else []
    counts: dict[str, int] = {}
    if params.simulate == "rehearsal":
        verdicts = rehearsed(folders, list(tasks.values()), params)
    elif params.simulate:
        verdicts = simulated(folders, list(tasks.values()), params)
    else:
        verdicts, counts = read_exports(exports, tasks)
    if not verdicts:
        raise UserError(waiting(folders, len(tasks), len(exports), counts))
    made = collect(screened, tasks, verdicts, params)
    if made.verified and all(row.status == "unjudged" for row in made.verified):
        counting = max(row.votes_invalid + row.votes_valid for row in made.verified)
        raise UserError(
            f"{len(verdicts):,} verdicts, and no candidate has collect.min_votes ({params.min_votes}) that count; the most that one "
            f"has is {counting}: have more tasks judged, or ask for fewer votes in params.yaml"
        )

    write_jsonl(out / "verdicts.jsonl", verdicts)
    write_jsonl(out / "set_aside.jsonl", made.set_aside)
    write_jsonl(out / "verified.jsonl", made.verified)
    write_jsonl(out / "aq_checks.jsonl", made.aq_checks)
    write_jsonl(out / "posteriors.jsonl", made.posteriors)
    write_json(out / "another_vote.json", made.another_vote)
    write_json(out / "quality.json", made.quality)
    with replacing(out / "quality.html") as file:
        file.write(page(made.quality).encode())
    write_json(out / "collect.json", made.report | {"exports": counts})
    unanswerable = sum(row.status == "unanswerable" for row in made.verified)
    done(
        "collect",
        f"{unanswerable:,} of {len(made.verified):,} candidates unanswerable by {len(verdicts):,} verdicts",
        out,
    )


if __name__ == "__main__":
    run(main)
