"""Select the items of the release so that neither the text nor the image reveals which questions are
answerable.

Each unanswerable question (UQ) is paired with an answerable question (AQ). With the rule `image_and_text`,
every text and every image of a CLIP subset occurs equally often in UQs and in AQs, both within validation and
within test. In PT subsets, each UQ is paired with the original question before the edit, and words are
inserted about as often as they are removed. The rule `image` is that of RGQA: each UQ is paired with an AQ of
the same image (CLIP subsets) or with its original question (PT subsets), and duplicates among the AQs are
dropped.

Reads   collect/verified.jsonl, collect/aq_checks.jsonl, ingest/questions.jsonl, rank/source_scores.jsonl, rank/splits.json,
        similarity/edit_scores.jsonl, estimate/estimates.jsonl
Writes  items.jsonl      Item: the UQs and AQs of each subset
        unpaired.jsonl   DroppedCandidate: verified UQs that are not released, each with a reason
        balance.json     number of kept items, label imbalance, number of excluded UQs by reason, and what annotators say of
                         the drafted questions from which candidates were made
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from pipeline.benchmark.auditing.label_imbalance import measure_imbalance
from pipeline.benchmark.balancing.drafted_questions import (
    AqStatus,
    count_drafted_questions,
    find_unusable_questions,
)
from pipeline.benchmark.balancing.pairing import BalanceParams, balance_subset
from pipeline.benchmark.balancing.release_items import make_items
from pipeline.core.atomic_files import atomic_write
from pipeline.core.errors import Problems, format_count, run_command, warn
from pipeline.core.json_files import encode_jsonl, read_json
from pipeline.core.jsonl_index import MissingRecordError, RecordLookup
from pipeline.core.params import load_params
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import (
    SUBSETS,
    CandidateEstimate,
    CollectedCandidate,
    DroppedCandidate,
    EditedQuestionScore,
    GoldQuestionCheck,
    Item,
    Question,
    SourceQuestionScore,
    Subset,
)


def summarize_subset(
    rows: Sequence[Item], verified: int, excluded: Sequence[tuple[CollectedCandidate, str]]
) -> dict[str, Any]:
    """Summarize one subset. The number of kept UQs is `verified` minus the number of excluded UQs.

    The imbalances are the largest differences |number of UQs - number of AQs| of any text and of any image,
    over all items and within each split.

    Args:
        rows: The items of the subset.
        verified: Number of verified UQs.
        excluded: The UQs that were not kept, each with the reason.
    """
    scopes = {"all": rows} | {
        split: [row for row in rows if row.split == split] for split in ("validation", "test")
    }
    counts = {}
    for scope, inside in scopes.items():
        by_text, uqs = (
            measure_imbalance(inside, lambda item: item.text),
            sum(item.unanswerable for item in inside),
        )
        counts[scope] = {
            "uqs": uqs,
            "aqs": len(inside) - uqs,
            "distinct_texts_per_uq": by_text.distinct_per_uq,
            "text_imbalance": by_text.max_difference,
            "image_imbalance": measure_imbalance(inside, lambda item: item.image_id).max_difference,
        }
    kept = counts["all"]["uqs"]
    return counts | {
        "verified": verified,
        "kept": kept,
        "kept_fraction": round(kept / verified, 4) if verified else None,
        "query_only": sum(row.query_only for row in rows),
        "excluded": Counter(reason for _, reason in excluded),
    }


def read_questions(folders: DatasetFolders, split: Mapping[str, str]) -> dict[str, Question]:
    """Read the questions about the images of the benchmark, by question id and sorted by id.

    Programs and annotations are left out, because they are most of the size of the questions.

    Args:
        folders: The data set.
        split: Image id -> split of the benchmark.
    """
    none = {"program": (), "annotations": {}, "full_answer_annotations": {}, "entailed": (), "equivalent": ()}
    rows = (msgspec.structs.replace(row, **none) for row in folders.read_questions_about(split))
    return {row.question_id: row for row in sorted(rows, key=lambda row: row.question_id)}


def read_verified_uqs(folders: DatasetFolders, subset: Subset) -> list[CollectedCandidate]:
    """Read the verified UQs of a subset, sorted by id, without their programs."""
    rows = (row for row in folders.read_records(CollectedCandidate) if row.status == "unanswerable")
    lean = (
        msgspec.structs.replace(row, candidate=msgspec.structs.replace(row.candidate, program=()))
        for row in rows
        if row.candidate.subset == subset
    )
    return sorted(lean, key=lambda row: row.candidate.candidate_id)


def check_verified(
    verified: Iterable[CollectedCandidate], questions: Container[str], split: Container[str]
) -> None:
    """Check that the questions and images of the verified UQs are in the data set.

    Raises:
        UserError: Lists the questions and images that are not in the data set.
    """
    problems = Problems(
        "verified candidates that do not belong to the data set (check that the verdicts are for this data set)"
    )
    for c in (row.candidate for row in verified if row.status == "unanswerable"):
        if c.question_id not in questions:
            problems.add(c.candidate_id, f"question {c.question_id} does not exist")
        if c.image_id not in split:
            problems.add(c.candidate_id, f"image {c.image_id} is not in rank/splits.json")
    problems.raise_if_any()


def warn_about_drafts(counts: Mapping[AqStatus, int], is_required: bool) -> None:
    """Warn if drafted questions are lost because nobody was asked about them.

    Args:
        counts: Number of drafted questions by what annotators say (`count_drafted_questions`).
        is_required: Whether they must be confirmed.
    """
    if is_required and counts["unasked"]:
        warn(
            f"{format_count(counts['unasked'], 'question')} that a model drafted cannot be used as {'an AQ' if counts['unasked'] == 1 else 'AQs'}, "
            "because no annotator was asked whether they have an answer. Collect more verdicts (batch.ask_drafted: true), or set "
            "balance.require_confirmation: false to believe the model. The items and the card will say so"
        )


def main() -> None:
    folders, p = DatasetFolders(), load_params("balance", BalanceParams)
    splits = folders.stage_dir("rank") / "splits.json"
    split = RecordLookup(splits, read_json(splits, dict[str, Literal["validation", "test"]]))
    scores: dict[str, float | None] = {
        row.question_id: row.score for row in folders.read_records(SourceQuestionScore)
    }
    scores |= {row.candidate_id: row.score for row in folders.read_records(EditedQuestionScore)}
    scores = RecordLookup(
        f"{folders.record_file(SourceQuestionScore)} and {folders.record_file(EditedQuestionScore)}", scores
    )
    estimates = RecordLookup(
        folders.record_file(CandidateEstimate),
        ((row.candidate_id, row) for row in folders.read_records(CandidateEstimate)),
    )
    first = next(folders.read_records(CollectedCandidate), None)
    if first is not None and not estimates:
        raise MissingRecordError(folders.record_file(CandidateEstimate), first.candidate.candidate_id)
    checks = {row.question_id: row for row in folders.read_records(GoldQuestionCheck)}
    questions = read_questions(folders, split)
    unusable = find_unusable_questions(questions.values(), checks, p.require_confirmation)
    check_verified(folders.read_records(CollectedCandidate), questions, split)

    unpaired: list[DroppedCandidate] = []
    subsets = {}
    # Only one subset at a time is in memory.
    with atomic_write(folders.record_file(Item)) as file:
        for subset in SUBSETS:
            uqs = read_verified_uqs(folders, subset)
            pairs, left = balance_subset(subset, uqs, questions, unusable, split, p, estimates)
            rows = make_items(subset, pairs, questions, scores, split, estimates, checks)
            subsets[subset] = summarize_subset(rows, len(uqs), left)
            file.write(encode_jsonl(rows))
            unpaired += [uq.candidate.as_dropped("balance", reason) for uq, reason in left]
    num_refuted = sum(check.status == "refuted" for check in checks.values())
    report = {"rule": p.rule, "refuted_questions": num_refuted, "subsets": subsets}
    if any(row.drafted_by for row in questions.values()):
        needed = {row.candidate.question_id for row in folders.read_records(CollectedCandidate)}
        counts = count_drafted_questions((questions[key] for key in sorted(needed)), checks)
        report["drafted_questions"] = counts
        warn_about_drafts(counts, p.require_confirmation)
    uqs, aqs = (sum(summary["all"][kind] for summary in subsets.values()) for kind in ("uqs", "aqs"))
    what = f"{uqs + aqs:,} items, {uqs:,} unanswerable; {len(unpaired):,} dropped"
    folders.write_stage_outputs("balance", what, {"unpaired.jsonl": unpaired, "balance.json": report})


if __name__ == "__main__":
    run_command(main)
