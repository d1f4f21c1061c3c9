"""Turn annotators' verdicts into verified candidates.

Annotators below the accuracy asked for on filter questions are set aside, and so is every verdict whose own
filter question was failed. What is left are votes; a candidate goes on only if enough of them say "invalid".

Reads   tasks.jsonl, screened.jsonl
        data/<data set>/annotations/*.json   exports of Label Studio, or, with `simulate: true`,
        data/<data set>/truth, pictures.jsonl, vocabulary.json   what simulated annotators see and know
Writes  verdicts.jsonl    all of them, under pseudonyms, simulated ones marked
        set_aside.jsonl   verdicts that do not count, each with a reason
        verified.jsonl    every candidate with its votes and one status
        aq_checks.jsonl   the pictures' own questions that were verified or refuted on the way
        collect.json      accuracy and agreement of annotators, statuses per subset
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import isnan
from typing import Annotated

import msgspec

from annotation.exports import read_exports
from annotation.quality import accuracies, agreement, excluded, refuted
from annotation.simulated import ANNOTATORS, annotate
from annotation.votes import Rule, SetAside, check_aqs, set_aside, verify
from annotation.words import Words
from pipeline.core.errors import Problems, UserError, run
from pipeline.core.files import read_json, read_jsonl, write_json, write_jsonl
from pipeline.core.params import Params, load
from pipeline.core.paths import Folders
from pipeline.core.progress import done
from pipeline.core.records import (
    AqCheck,
    Picture,
    Record,
    Scene,
    Screened,
    Task,
    Verdict,
    Verified,
    Vocabulary,
)
from pipeline.sources import gqa


class CollectParams(Params):
    simulate: bool = False  # simulated annotators instead of exports; needs the complete truth
    seed: int = 0  # of the simulated annotators
    votes: Annotated[int, msgspec.Meta(ge=1, le=len(ANNOTATORS))] = 3  # simulated verdicts per task
    min_votes: Annotated[int, msgspec.Meta(ge=1)] = 2  # fewer counted votes leave a candidate unjudged
    rule: Rule = "majority"  # or unanimity: how many votes must say invalid
    min_filter_accuracy: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.8  # annotators below it are set aside
    min_filter_answers: Annotated[int, msgspec.Meta(ge=1)] = (
        20  # fewer answers say too little of an annotator
    )


class Collected(Record):
    """Everything that the verdicts come to."""

    verified: list[Verified]
    set_aside: list[SetAside]
    aq_checks: list[AqCheck]
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
    out = excluded(found, params.min_filter_accuracy, params.min_filter_answers)
    aside = set_aside(tasks, verdicts, out, wrong)
    dropped = {row.verdict_id for row in aside}
    counted = [verdict for verdict in verdicts if verdict.verdict_id not in dropped]
    verified = verify(screened, tasks, verdicts, dropped, params.rule, params.min_votes)
    checks = check_aqs(tasks, verdicts, out)
    pairs = agreement(tasks, counted)
    statuses: dict[str, Counter[str]] = {}
    for row in verified:
        statuses.setdefault(row.candidate.subset, Counter())[row.status] += 1
    report = {
        "simulated": any(verdict.simulated for verdict in verdicts),
        "annotators": {
            name: {
                "filters": row.answered,
                "right": row.right,
                "accuracy": rounded(row.share),
                "low": rounded(row.low),
                "high": rounded(row.high),
                "excluded": name in out,
            }
            for name, row in found.items()
        },
        "verdicts": len(verdicts),
        "set_aside": dict(Counter(row.reason for row in aside)),
        "filters_refuted": sorted(f"{picture}: {text}" for picture, text in wrong),
        "agreement": {
            "share": rounded(sum(p.same for p in pairs) / max(1, sum(p.both for p in pairs)))
            if pairs
            else None,
            "pairs": [{"first": p.first, "second": p.second, "both": p.both, "same": p.same} for p in pairs],
        },
        "candidates": {subset: dict(row) for subset, row in statuses.items()},
        "aqs": dict(Counter(row.status for row in checks)),
    }
    return Collected(verified=verified, set_aside=aside, aq_checks=checks, report=report)


def rounded(share: float) -> float | None:
    """Four places; null for an undefined share (JSON has no NaN)."""
    return None if isnan(share) else round(share, 4)


def simulated(folders: Folders, tasks: Sequence[Task], params: CollectParams) -> list[Verdict]:
    """Verdicts of the simulated annotators, who see the complete truth."""
    splits = {row.split for row in read_jsonl(folders.stage("ingest") / "pictures.jsonl", Picture)}
    vocabulary = read_json(folders.stage("vocabulary") / "vocabulary.json", Vocabulary)
    problems = Problems(
        f"{folders.truth} (simulated annotators see the complete truth; for people, set collect.simulate: false)"
    )
    truth: dict[str, Scene] = {
        scene.picture_id: scene for scene in gqa.scenes(folders.truth, tuple(splits), problems, complete=True)
    }
    problems.raise_if_any()
    words = Words(categories=vocabulary.categories, attribute_types=vocabulary.attribute_types)
    return annotate(tasks, truth, words, params.votes, params.seed)


def waiting(folders: Folders, tasks: int, exports: int, counts: Mapping[str, int]) -> list[str]:
    """What to do when nobody has judged anything yet."""
    shown = folders.stage("batch") / "label_studio_tasks.json"
    return [
        f"{tasks:,} tasks wait for annotators: there are no verdicts yet",
        f"{folders.annotations} holds {exports} exports"
        + (f" with annotations {dict(counts)}" if counts else ""),
        f"import {shown} into a Label Studio project whose labelling interface is annotation/interface.xml",
        "have the tasks judged (annotation/guidelines.md), and export the project as JSON",
        f"put the export into {folders.annotations}/ and run: dvc repro",
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
    if params.simulate:
        verdicts = simulated(folders, list(tasks.values()), params)
    else:
        verdicts, counts = read_exports(exports, tasks)
    if not verdicts:
        raise UserError(waiting(folders, len(tasks), len(exports), counts))
    made = collect(screened, tasks, verdicts, params)

    write_jsonl(out / "verdicts.jsonl", verdicts)
    write_jsonl(out / "set_aside.jsonl", made.set_aside)
    write_jsonl(out / "verified.jsonl", made.verified)
    write_jsonl(out / "aq_checks.jsonl", made.aq_checks)
    write_json(out / "collect.json", made.report | {"exports": counts})
    unanswerable = sum(row.status == "unanswerable" for row in made.verified)
    done(
        "collect",
        f"{unanswerable:,} of {len(made.verified):,} candidates unanswerable by {len(verdicts):,} verdicts",
        out,
    )


if __name__ == "__main__":
    run(main)
