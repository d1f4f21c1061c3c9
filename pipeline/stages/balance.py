"""Choose the items of the release so that neither the text nor the picture tells which questions are answerable.

Rule `image_and_text`: in CLIP subsets every text is as often UQ as AQ and every picture has as many of either,
within dev and within test; PT subsets pair each UQ with its original, and words are put in about as often as they
are taken out. Rule `image` is RGQA's: beside each UQ an AQ
of the same picture (CLIP) or its original (PT), duplicates among the AQs dropped.

Reads   collect/verified.jsonl, collect/aq_checks.jsonl, ingest/questions.jsonl, rank/own_scores.jsonl, rank/parts.json,
        similarity/edit_scores.jsonl, estimate/estimates.jsonl
Writes  items.jsonl      Item: the UQs and AQs of each subset
        unpaired.jsonl   Dropped: verified UQs that are not in it, each with a reason
        balance.json     what was kept, margins, reasons
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from pipeline.auditing.margins import margin
from pipeline.balancing.balance_subset import BalanceParams, balance
from pipeline.balancing.item_rows import items
from pipeline.core.errors import Problems, run
from pipeline.core.files import read_json
from pipeline.core.params import load
from pipeline.core.paths import Folders
from pipeline.core.records import (
    SUBSETS,
    AqCheck,
    Dropped,
    EditScore,
    Estimate,
    Item,
    OwnScore,
    Question,
    Verified,
)


def figures(rows: Sequence[Item], verified: int, left: Sequence[tuple[Verified, str]]) -> dict[str, object]:
    """What one subset came to: kept = verified - left out. Margins are the largest differences |UQs - AQs| of any
    text and of any picture, over all and within each part."""
    scopes = {"all": rows} | {part: [row for row in rows if row.part == part] for part in ("dev", "test")}
    margins = {}
    for scope, inside in scopes.items():
        by_text, uqs = margin(inside, lambda item: item.text), sum(item.unanswerable for item in inside)
        margins[scope] = {
            "uqs": uqs,
            "aqs": len(inside) - uqs,
            "distinct_texts_per_uq": by_text.distinct_per_uq,
            "text_margin": by_text.largest,
            "picture_margin": margin(inside, lambda item: item.picture_id).largest,
        }
    kept = margins["all"]["uqs"]
    return margins | {
        "verified": verified,
        "kept": kept,
        "kept_share": round(kept / verified, 4) if verified else None,
        "weak": sum(row.weak for row in rows),
        "left_out": Counter(reason for _, reason in left),
    }


def _checked(uqs: Sequence[Verified], questions: Mapping[str, Question], part: Mapping[str, str]) -> None:
    problems = Problems(
        "verified candidates that do not fit the data set (were verdicts collected for another one?)"
    )
    for c in (uq.candidate for uq in uqs):
        if c.question_id not in questions:
            problems.add(c.candidate_id, f"no question {c.question_id}")
        if c.picture_id not in part:
            problems.add(c.candidate_id, f"no picture {c.picture_id} in rank/parts.json")
    problems.raise_if_any()


def main() -> None:
    folders, p = Folders(), load("balance", BalanceParams)
    part = read_json(folders.stage("rank") / "parts.json", dict[str, Literal["dev", "test"]])
    scores: dict[str, float | None] = {row.question_id: row.score for row in folders.rows(OwnScore)}
    scores |= {row.candidate_id: row.score for row in folders.rows(EditScore)}
    estimates = {row.candidate_id: row for row in folders.rows(Estimate)}
    questions = {q.question_id: q for q in sorted(folders.asked(part), key=lambda q: q.question_id)}
    refuted = {check.question_id for check in folders.rows(AqCheck) if check.status == "refuted"}
    verified = [row for row in folders.rows(Verified) if row.status == "unanswerable"]
    verified.sort(key=lambda row: row.candidate.candidate_id)
    _checked(verified, questions, part)

    released: list[Item] = []
    unpaired: list[Dropped] = []
    subsets = {}
    for subset in SUBSETS:
        uqs = [row for row in verified if row.candidate.subset == subset]
        pairs, left = balance(subset, uqs, questions, refuted, part, p, estimates)
        rows = items(subset, pairs, questions, scores, part, estimates)
        subsets[subset] = figures(rows, len(uqs), left)
        released += rows
        unpaired += [uq.candidate.dropped("balance", reason) for uq, reason in left]
    report = {"rule": p.rule, "refuted_questions": len(refuted), "subsets": subsets}
    uqs = sum(item.unanswerable for item in released)
    what = f"{len(released):,} items, {uqs:,} unanswerable; {len(unpaired):,} left out"
    files = {"items.jsonl": released, "unpaired.jsonl": unpaired, "balance.json": report}
    folders.finish("balance", what, files)


if __name__ == "__main__":
    run(main)
