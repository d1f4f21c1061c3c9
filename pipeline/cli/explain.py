"""The command `rgqa explain`: print where a question comes from, and what each stage did with the question."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import TypeVar

from annotation.study.quality_control import ExcludedAnswer
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_jsonl
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import (
    CLIP_SUBSETS,
    Candidate,
    CandidateEstimate,
    CollectedCandidate,
    DroppedCandidate,
    EditedQuestionScore,
    Item,
    Question,
    ScreenedCandidate,
    Task,
    Verdict,
)
from pipeline.language.lexicon import Lexicon
from pipeline.verifier.partial_graphs import PartialGraph, cite_facts

T = TypeVar("T")


def explain_item(identifier: str, folders: DatasetFolders) -> list[str]:
    """Return lines about an item, a candidate or a source question, from the files that stages have written.

    Args:
        identifier: Id of an item, a candidate or a source question.
        folders: The data set.

    Raises:
        UserError: The id is unknown.
    """
    question_id = identifier.split("+")[-1]
    sources = list(_read_matching(folders, "ingest/questions.jsonl", Question, question_id, "question_id"))
    if not sources:
        raise UserError(
            f"{identifier}: no such question or item in the data set {folders.dataset!r}; ids look like 201669520 or clipeasy_n460556+202082119"
        )
    if identifier != question_id and not _is_candidate(identifier, folders):
        raise UserError(
            f"{identifier}: no such candidate in the data set {folders.dataset!r}; "
            f"rgqa explain {question_id} lists its candidates"
        )
    lines = [identifier, *_format_source(sources[0])]
    for stage in ("rank", "perturb"):
        file = f"{stage}/candidates.jsonl"
        for candidate in _read_matching(folders, file, Candidate, identifier, "candidate_id", "question_id"):
            lines += ["", *_format_candidate(candidate), *_format_stages(candidate, folders)]
    for item in _read_matching(folders, "balance/items.jsonl", Item, identifier, "item_id"):
        if not item.unanswerable:
            lines += ["", _format_item(item)]
    for row in _read_matching(
        folders, "perturb/unedited.jsonl", DroppedCandidate, identifier, "question_id", "candidate_id"
    ):
        lines.append(f"  no {row.subset} candidate: {row.reason} {row.detail}".rstrip())
    return lines


def _is_candidate(identifier: str, folders: DatasetFolders) -> bool:
    """Report whether a stage proposed a candidate with this id, or recorded why there is no such candidate."""
    kinds: dict[str, type[Candidate] | type[DroppedCandidate]] = {
        "rank/candidates.jsonl": Candidate,
        "perturb/candidates.jsonl": Candidate,
        "perturb/unedited.jsonl": DroppedCandidate,
    }
    return any(
        True
        for name, kind in kinds.items()
        for _ in _read_matching(folders, name, kind, identifier, "candidate_id")
    )


def _format_source(question: Question) -> Iterator[str]:
    yield f"  asked      {question.text!r} of image {question.image_id} ({question.split}), answer {question.answer!r}"
    if question.drafted_by:
        yield f"  drafted by {question.drafted_by}, a model"
    if question.program:
        steps = (f"{s.operation}: {s.argument} {list(s.dependencies) or ''}" for s in question.program)
        yield "  program    " + " -> ".join(step.strip() for step in steps)


def _format_candidate(candidate: Candidate) -> Iterator[str]:
    yield f"{candidate.candidate_id}  ({candidate.subset})"
    yield f"  text       {candidate.text!r} asked of image {candidate.image_id}"
    for edit in candidate.edits:
        yield f"  edit       {edit.kind}: {edit.old!r} -> {edit.new!r} at characters {edit.start} to {edit.end}"
    if candidate.score is not None:
        rank = f", rank {candidate.rank:,} by similarity to the image" if candidate.rank else ""
        yield f"  CLIP       score {candidate.score:.4f}{rank}"


def _explain_missing_score(folders: DatasetFolders) -> str:
    """Say why an edited question has no CLIP score."""
    if not set(CLIP_SUBSETS).intersection(folders.read_subsets()):
        return "no score, because no CLIP subset is made"
    return "no score, because the text is too long"


def _format_stages(candidate: Candidate, folders: DatasetFolders) -> Iterator[str]:
    """Yield what each later stage did with a candidate."""
    key = candidate.candidate_id
    for row in _read_matching(folders, "screen/dropped.jsonl", DroppedCandidate, key, "candidate_id"):
        yield f"  dropped    by screen: {row.reason} {row.detail}".rstrip()
    for row in _read_matching(
        folders, "screen/screened.jsonl", ScreenedCandidate, key, "candidate.candidate_id"
    ):
        yield from _format_evidence(row, folders)
    for estimate in _read_matching(
        folders, "estimate/estimates.jsonl", CandidateEstimate, key, "candidate_id"
    ):
        yield f"  estimate   answerable with probability {estimate.p_answerable:.1%}; difficulty {estimate.difficulty}"
    for scored in _read_matching(
        folders, "similarity/edit_scores.jsonl", EditedQuestionScore, key, "candidate_id"
    ):
        yield "  CLIP       " + (
            f"score {scored.score:.4f}" if scored.score is not None else _explain_missing_score(folders)
        )
    for task in _read_matching(
        folders, "batch/tasks.jsonl", Task, key, "first.candidate_id", "second.candidate_id"
    ):
        position = "first" if task.first.candidate_id == key else "second"
        this, other = (task.first, task.second) if position == "first" else (task.second, task.first)
        repeated = ", repeated" if this.role == "repeat" else ""
        gold = f"gold question {other.text!r} (known: {other.expected_choice})"
        described = gold if other.role == "gold" else f"candidate {other.text!r}"
        yield f"  task       {task.task_id}: it is the {position} question{repeated}; the other is the {described}"
    for row in _read_matching(
        folders, "collect/verified.jsonl", CollectedCandidate, key, "candidate.candidate_id"
    ):
        yield from _format_votes(row, folders)
    for row in _read_matching(folders, "balance/unpaired.jsonl", DroppedCandidate, key, "candidate_id"):
        yield f"  excluded   by balance: {row.reason} {row.detail}".rstrip()
    for item in _read_matching(folders, "balance/items.jsonl", Item, key, "item_id"):
        yield _format_item(item)


def _format_evidence(row: ScreenedCandidate, folders: DatasetFolders) -> Iterator[str]:
    """Yield the result of the verifier, and the facts that the verifier used, with the questions that state
    the facts.
    """
    result = row.verifier_result
    category = f", {result.category}" if result.category else ""
    yield f"  evidence   {result.evidence_source}: {result.answerability}{category} {result.detail}".rstrip()
    if result.evidence_source != "other questions":
        return
    vocabulary = folders.read_vocabulary()
    lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
    graphs = "vocabulary/reconstructed.jsonl"
    for graph in _read_matching(folders, graphs, PartialGraph, row.candidate.image_id, "image_id"):
        for fact in cite_facts(row.candidate.program, graph, lexicon):
            plural = "s" * (len(fact.question_ids) > 1)
            yield f"  known      {fact.fact} (question{plural} {', '.join(fact.question_ids)})"


def _format_votes(row: CollectedCandidate, folders: DatasetFolders) -> Iterator[str]:
    origin = " (a rehearsal)" if row.rehearsal else " (simulated)" if row.simulated else ""
    counts = f"{row.votes_invalid} invalid, {row.votes_valid} valid, {row.votes_excluded} excluded"
    word = {"adjudicator": " by an adjudicator", "panel": " by a panel of models"}.get(row.decided_by, "")
    yield f"  votes      {counts} -> {row.status}{word}{origin}"
    key = row.candidate.candidate_id
    fields = ("first.candidate_id", "second.candidate_id")
    tasks = {task.task_id: task for task in _read_matching(folders, "batch/tasks.jsonl", Task, key, *fields)}
    excluded = {
        one.verdict_id: f" (excluded: {one.reason})"
        for one in _read_matching(
            folders, "collect/excluded_answers.jsonl", ExcludedAnswer, key, "candidate_id"
        )
    }
    for verdict in _read_matching(folders, "collect/verdicts.jsonl", Verdict):
        if verdict.verdict_id in row.verdict_ids:
            choice, other = verdict.first, verdict.second
            if tasks[verdict.task_id].first.candidate_id != key:
                choice, other = other, choice
            reason = excluded.get(verdict.verdict_id, "")
            yield f"  verdict    {verdict.annotator}: {choice}{reason}; other question: {other}"


def _format_item(item: Item) -> str:
    label = "unanswerable" if item.unanswerable else f"answerable, {item.answer!r}"
    return f"  released   {item.subset}, {item.split}: {label}; pair {item.pair_id}: {item.pairing_reason}"


def _read_matching(
    folders: DatasetFolders, name: str, kind: type[T], key: str = "", *fields: str
) -> Iterator[T]:
    """Yield the records of a file in which one of the given fields equals `key`.

    Args:
        folders: The data set.
        name: Path of the file below the folder `interim`. If the file does not exist, nothing is yielded.
        kind: Type of the records.
        key: The value to look for.
        fields: Names of the fields, with dots for nested fields. Without fields, all records are yielded.
    """
    path, getters = folders.root / "interim" / name, [attrgetter(field) for field in fields]
    if path.is_file():
        yield from (
            row for row in read_jsonl(path, kind) if not fields or any(get(row) == key for get in getters)
        )
