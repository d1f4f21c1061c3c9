"""Choose the items of the release so that neither the text nor the picture tells which questions are answerable.

Rule `image_and_text`: in CLIP subsets every text is as often UQ as AQ and every picture has as many of either,
within dev and within test; PT subsets pair each UQ with its original, and words are put in about as often as they
are taken out. Rule `image` is RGQA's: beside each UQ an AQ
of the same picture (CLIP) or its original (PT), duplicates among the AQs dropped.

Reads   collect/verified.jsonl, collect/aq_checks.jsonl, ingest/questions.jsonl, rank/own_scores.jsonl, rank/parts.json
Writes  items.jsonl      the UQs and AQs of each subset
        unpaired.jsonl   verified UQs that are not in it, each with a reason
        balance.json     what was kept, margins, reasons
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec

from pipeline.auditing.margins import margin
from pipeline.balancing.pairing import (
    Pair,
    Paired,
    by_image,
    by_image_and_text,
    by_original,
    by_original_and_words,
)
from pipeline.core import params
from pipeline.core.errors import Problems, run
from pipeline.core.files import read_json, read_jsonl, write_json, write_jsonl
from pipeline.core.params import Params
from pipeline.core.paths import Folders
from pipeline.core.progress import done
from pipeline.core.randomness import generator
from pipeline.core.records import SUBSETS, AqCheck, Dropped, Item, OwnScore, Question, Subset, Verified


class BalanceParams(Params):
    """Parameters of balance.

    Attributes:
        rule: "image_and_text" makes both margins equal, "image" is the paper's.
        word_slack: by how much, in PT subsets, a word may be put in more or less often than it is taken out, as a
            share of the mean of both counts (`pipeline/balancing/even_words.py`); 2 leaves out nothing. Not under "image".
        seed: of the AQs that `image` draws, and of what is left out for its words.
    """

    rule: Literal["image_and_text", "image"] = "image_and_text"
    word_slack: Annotated[float, msgspec.Meta(ge=0, le=2)] = 0.3
    seed: int = 0


def balance(
    subset: Subset,
    uqs: Sequence[Verified],
    questions: Mapping[str, Question],
    refuted: Collection[str],
    part: Mapping[str, str],
    p: BalanceParams,
) -> Paired:
    """Pair the UQs of one subset by the rule that applies to it; UQs and questions come sorted by id."""
    if subset.startswith("pt"):
        if p.rule == "image":
            return by_original(uqs, questions, refuted, once=False)
        rng = generator(p.seed, "balance words", subset)
        return by_original_and_words(uqs, questions, refuted, p.word_slack, rng)
    if p.rule == "image":
        return by_image(uqs, questions.values(), refuted, p.seed)
    return by_image_and_text(uqs, questions.values(), refuted, part)


def items(
    subset: Subset,
    pairs: Sequence[Pair],
    questions: Mapping[str, Question],
    own: Mapping[str, float],
    part: Mapping[str, str],
) -> list[Item]:
    """Rows of the release, sorted by id. An AQ that several pairs share becomes one row."""
    rows: dict[str, Item] = {}
    for pair in pairs:
        c, aq = pair.uq.candidate, pair.aq
        source = questions[c.question_id]
        common = {
            "subset": subset,
            "pair_id": f"{subset}+{aq.question_id}",
            "paired_because": pair.because,
            "simulated": pair.uq.simulated,
            "rehearsal": pair.uq.rehearsal,
        }
        rows[c.candidate_id] = Item(
            item_id=c.candidate_id,
            picture_id=c.picture_id,
            question_id=c.question_id,
            text=c.text,
            unanswerable=True,
            answer="",
            part=part[c.picture_id],
            structural=source.structural,
            semantic=source.semantic,
            detailed=source.detailed,
            category=pair.uq.judgement.category or pair.uq.reason,
            edits=c.edits,
            score=c.score,
            rank=c.rank,
            verdict_ids=pair.uq.verdict_ids,
            **common,
        )
        rows.setdefault(
            aq.question_id,
            Item(
                item_id=aq.question_id,
                picture_id=aq.picture_id,
                question_id=aq.question_id,
                text=aq.text,
                unanswerable=False,
                answer=aq.answer,
                part=part[aq.picture_id],
                structural=aq.structural,
                semantic=aq.semantic,
                detailed=aq.detailed,
                score=own.get(aq.question_id),
                **common,
            ),
        )
    return [rows[key] for key in sorted(rows)]


def figures(
    subset_items: Sequence[Item], verified: int, left: Sequence[tuple[Verified, str]]
) -> dict[str, Any]:
    """What one subset came to: kept = verified - left out. Margins are the largest differences |UQs - AQs| of any
    text and of any picture, over all and within each part."""
    scopes = {
        "all": list(subset_items),
        **{name: [i for i in subset_items if i.part == name] for name in ("dev", "test")},
    }
    uqs = sum(item.unanswerable for item in subset_items)
    return {
        "verified": verified,
        "kept": uqs,
        "kept_share": round(uqs / verified, 4) if verified else None,
        "left_out": dict(sorted(Counter(reason for _, reason in left).items())),
        **{
            scope: {
                "uqs": sum(item.unanswerable for item in rows),
                "aqs": sum(not item.unanswerable for item in rows),
                "distinct_texts_per_uq": margin(rows, lambda item: item.text).distinct_per_uq,
                "text_margin": margin(rows, lambda item: item.text).largest,
                "picture_margin": margin(rows, lambda item: item.picture_id).largest,
            }
            for scope, rows in scopes.items()
        },
    }


def _checked(uqs: Sequence[Verified], questions: Mapping[str, Question], part: Mapping[str, str]) -> None:
    problems = Problems(
        "verified candidates that do not fit the data set (were verdicts collected for another one?)"
    )
    for uq in uqs:
        c = uq.candidate
        if c.question_id not in questions:
            problems.add(c.candidate_id, f"no question {c.question_id}")
        if c.picture_id not in part:
            problems.add(c.candidate_id, f"no picture {c.picture_id} in rank/parts.json")
    problems.raise_if_any()


def main() -> None:
    folders, p = Folders(), params.load("balance", BalanceParams)
    part = read_json(folders.stage("rank") / "parts.json", dict[str, Literal["dev", "test"]])
    own = {
        row.question_id: row.score for row in read_jsonl(folders.stage("rank") / "own_scores.jsonl", OwnScore)
    }
    asked = [
        q for q in read_jsonl(folders.stage("ingest") / "questions.jsonl", Question) if q.picture_id in part
    ]
    questions = {q.question_id: q for q in sorted(asked, key=lambda q: q.question_id)}
    refuted = {
        check.question_id
        for check in read_jsonl(folders.stage("collect") / "aq_checks.jsonl", AqCheck)
        if check.status == "refuted"
    }
    verified = sorted(
        (
            v
            for v in read_jsonl(folders.stage("collect") / "verified.jsonl", Verified)
            if v.status == "unanswerable"
        ),
        key=lambda v: v.candidate.candidate_id,
    )
    _checked(verified, questions, part)

    released: list[Item] = []
    unpaired: list[Dropped] = []
    report: dict[str, Any] = {"rule": p.rule, "refuted_questions": len(refuted), "subsets": {}}
    for subset in SUBSETS:
        uqs = [v for v in verified if v.candidate.subset == subset]
        pairs, left = balance(subset, uqs, questions, refuted, part, p)
        made = items(subset, pairs, questions, own, part)
        report["subsets"][subset] = figures(made, len(uqs), left)
        released += made
        unpaired += [
            Dropped(
                candidate_id=c.candidate_id,
                subset=subset,
                picture_id=c.picture_id,
                question_id=c.question_id,
                text=c.text,
                stage="balance",
                reason=reason,
            )
            for c, reason in ((uq.candidate, reason) for uq, reason in left)
        ]
    folder = folders.stage("balance")
    write_jsonl(folder / "items.jsonl", released)
    write_jsonl(folder / "unpaired.jsonl", unpaired)
    write_json(folder / "balance.json", report)
    done(
        "balance",
        f"{len(released):,} items, {sum(item.unanswerable for item in released):,} unanswerable; {len(unpaired):,} left out",
        folder,
    )


if __name__ == "__main__":
    run(main)
