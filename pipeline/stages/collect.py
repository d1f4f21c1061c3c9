"""Turn annotators' verdicts into verified candidates.

Annotators below the accuracy asked for on filter questions are set aside, and so is every verdict whose own
filter question was failed. What is left are votes; a candidate goes on only if enough of them say "invalid", by
majority, unanimity, or Dawid and Skene's estimate. Speed and constant answers are flagged.

Reads   tasks.jsonl, screened.jsonl
        data/<data set>/annotations/*.json   exports of Label Studio, or, with `simulate: true`,
        data/<data set>/truth, pictures.jsonl, vocabulary.json   what simulated annotators see and know; with
                                             `simulate: rehearsal` instead of the truth
        scenes.jsonl, reconstructed.jsonl    incomplete graphs, taken as complete
Writes  verdicts.jsonl    Verdict: all of them, under pseudonyms, simulated ones marked
        set_aside.jsonl   SetAside: verdicts that do not count, each with a reason
        verified.jsonl    Verified: every candidate with its votes and one status
        posteriors.jsonl  Posterior: how probably each is unanswerable, if the rule is dawid-skene; else empty
        another_vote.json   tasks that need another vote
        aq_checks.jsonl   AqCheck: the pictures' own questions that were verified or refuted on the way
        quality.json, quality.html   the quality report
        collect.json      accuracy and agreement of annotators, statuses per subset
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from annotation.study.exports import read_exports
from annotation.study.judged import judged_tasks
from annotation.study.quality_page import page
from pipeline.collecting.collected import Collected, CollectParams, collect, report
from pipeline.collecting.simulated_verdicts import rehearsed, simulated
from pipeline.core.errors import UserError, run
from pipeline.core.params import load
from pipeline.core.paths import Folders
from pipeline.core.records import Screened, Task, Verdict


def verdicts_given(
    folders: Folders, tasks: Mapping[str, Task], params: CollectParams
) -> tuple[list[Verdict], dict[str, int]]:
    """The verdicts, and how many annotations of what kind there were in exports.

    Raises:
        UserError: nobody has judged anything yet, or see `read_exports` and `simulated`.
    """
    counts: dict[str, int] = {}
    exports = sorted(folders.annotations.glob("*.json"))
    if params.simulate == "rehearsal":
        print(
            "warning: this is a REHEARSAL: the verdicts are simulated, and the truth they are simulated from is "
            f"incomplete graphs taken as complete ({folders.dataset}.collect.simulate: rehearsal)",
            file=sys.stderr,
        )
        verdicts = rehearsed(folders, list(tasks.values()), params.votes, params.seed)
    elif params.simulate:
        verdicts = simulated(folders, list(tasks.values()), params.votes, params.seed)
    else:
        verdicts, counts = read_exports(exports, tasks)
    if not verdicts:
        held = f"{folders.annotations} holds {0 if params.simulate else len(exports)} exports"
        screen = folders.stage("batch") / "label_studio_tasks.json"
        raise UserError(
            [
                f"{len(tasks):,} tasks wait for annotators: there are no verdicts yet",
                held + (f" with annotations {counts}" if counts else ""),
                "have them judged: make annotate (docs/annotation.md), then rgqa annotate pull, then dvc repro",
                f"or by hand: import {screen} into a project with annotation/client/interface.xml, and put its export into {folders.annotations}/",
            ]
        )
    return verdicts, counts


def check_votes(collected: Collected, params: CollectParams) -> None:
    """Raise a UserError if no candidate has votes enough."""
    rows = collected.verified
    if rows and all(row.status == "unjudged" for row in rows):
        most = max(row.votes_invalid + row.votes_valid for row in rows)
        raise UserError(
            f"{collected.quality.given:,} verdicts, and no candidate has collect.min_votes ({params.min_votes}) that count; the "
            f"most that one has is {most}: have more tasks judged, or ask for fewer votes in params.yaml"
        )


def main() -> None:
    folders, params = Folders(), load("collect", CollectParams)
    if params.simulate and params.min_votes > params.votes:
        raise UserError(
            f"collect.min_votes is {params.min_votes}, more than collect.votes, {params.votes}: "
            "nothing could be verified"
        )
    tasks = {task.task_id: task for task in folders.rows(Task)}
    verdicts, exported = verdicts_given(folders, tasks, params)
    collected = collect(list(folders.rows(Screened)), judged_tasks(tasks, verdicts), params)
    check_votes(collected, params)
    folders.finish(
        "collect",
        f"{collected.quality.unanswerable:,} of {len(collected.verified):,} candidates unanswerable by {len(verdicts):,} verdicts",
        {
            "verdicts.jsonl": verdicts,
            "set_aside.jsonl": collected.set_aside,
            "verified.jsonl": collected.verified,
            "aq_checks.jsonl": collected.aq_checks,
            "posteriors.jsonl": collected.posteriors,
            "another_vote.json": collected.another_vote,
            "quality.json": collected.quality,
            "quality.html": page(collected.quality),
            "collect.json": report(collected) | {"exports": exported},
        },
    )


if __name__ == "__main__":
    run(main)
