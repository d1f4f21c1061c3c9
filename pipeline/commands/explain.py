"""The whole story of one question: where it came from, what was done to it and why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pipeline.core.errors import UserError
from pipeline.core.files import read_json, read_jsonl
from pipeline.core.paths import Folders
from pipeline.core.records import (
    Candidate,
    Dropped,
    Item,
    Question,
    Screened,
    Task,
    Verdict,
    Verified,
    Vocabulary,
)
from pipeline.judge.citing import cite
from pipeline.judge.reconstruct import Reconstructed
from pipeline.words.lexicon import Lexicon


def explain(identifier: str, folders: Folders) -> list[str]:
    """Lines telling the story of an item, a candidate or a source question, from what the stages wrote so far.

    Raises:
        UserError: nothing of that id was found.
    """
    question_id = identifier.split("+")[-1]
    sources = [
        q
        for q in _rows(folders.stage("ingest") / "questions.jsonl", Question)
        if q.question_id == question_id
    ]
    if not sources:
        raise UserError(
            f"{identifier}: no such question or item in the data set {folders.dataset!r}; ids look like 201669520 or clipeasy_n460556+202082119"
        )
    lines = [identifier, *_source(sources[0])]
    candidates = [
        *_rows(folders.stage("rank") / "candidates.jsonl", Candidate),
        *_rows(folders.stage("perturb") / "candidates.jsonl", Candidate),
    ]
    wanted = [c for c in candidates if identifier in (c.candidate_id, c.question_id)]
    for candidate in wanted:
        lines += ["", *_candidate(candidate), *_fate(candidate.candidate_id, folders)]
    lines += [
        line
        for item in _items(folders)
        if not item.unanswerable and item.item_id == identifier
        for line in ("", *_item(item))
    ]
    dropped = [
        d
        for d in _rows(folders.stage("perturb") / "unperturbed.jsonl", Dropped)
        if d.question_id == identifier
    ]
    lines += [f"  no {d.subset} candidate: {d.reason} {d.detail}".rstrip() for d in dropped]
    return lines


def _source(question: Question) -> Iterator[str]:
    yield f"  asked      {question.text!r} of picture {question.picture_id} ({question.split}), answer {question.answer!r}"
    if question.program:
        yield "  program    " + " -> ".join(
            f"{s.operation}: {s.argument} {list(s.dependencies) or ''}".strip() for s in question.program
        )


def _candidate(candidate: Candidate) -> Iterator[str]:
    yield f"{candidate.candidate_id}  ({candidate.subset})"
    yield f"  text       {candidate.text!r} asked of picture {candidate.picture_id}"
    for edit in candidate.edits:
        yield f"  edit       {edit.kind}: {edit.old!r} -> {edit.new!r} at characters {edit.start} to {edit.end}"
    if candidate.score is not None:
        place = f", place {candidate.rank:,} among the picture's questions" if candidate.rank else ""
        yield f"  CLIP       score {candidate.score:.4f}{place}"


def _fate(candidate_id: str, folders: Folders) -> Iterator[str]:
    for row in _rows(folders.stage("screen") / "dropped.jsonl", Dropped):
        if row.candidate_id == candidate_id:
            yield f"  dropped    by screen: {row.reason} {row.detail}".rstrip()
    for row in _rows(folders.stage("screen") / "screened.jsonl", Screened):
        if row.candidate.candidate_id == candidate_id:
            j = row.judgement
            yield f"  evidence   {j.evidence}: {j.answerability}{f', {j.category}' if j.category else ''} {j.detail}".rstrip()
            yield from _known(row.candidate, folders) if j.evidence == "other questions" else ()
    for task in _rows(folders.stage("batch") / "tasks.jsonl", Task):
        parts = (task.first, task.second)
        if any(part.role == "candidate" and part.candidate_id == candidate_id for part in parts):
            other = next(part for part in parts if part.candidate_id != candidate_id or part.role == "filter")
            yield f"  task       {task.task_id}, beside the filter question {other.text!r} (known: {other.expected})"
    found = [
        v
        for v in _rows(folders.stage("collect") / "verified.jsonl", Verified)
        if v.candidate.candidate_id == candidate_id
    ]
    for row in found:
        yield f"  votes      {row.votes_invalid} invalid, {row.votes_valid} valid, {row.votes_set_aside} set aside -> {row.status}{' (a rehearsal)' if row.rehearsal else ' (simulated)' if row.simulated else ''}"
        for verdict in _rows(folders.stage("collect") / "verdicts.jsonl", Verdict):
            if verdict.verdict_id in row.verdict_ids:
                yield f"  verdict    {verdict.annotator}: first {verdict.first}, second {verdict.second}"
    for row in _rows(folders.stage("balance") / "unpaired.jsonl", Dropped):
        if row.candidate_id == candidate_id:
            yield f"  left out   by balance: {row.reason} {row.detail}".rstrip()
    for item in _items(folders):
        if item.item_id == candidate_id:
            yield from _item(item)


def _known(candidate: Candidate, folders: Folders) -> Iterator[str]:
    """The facts put together from other questions that concern what is asked, each with the questions that state it."""
    vocabulary = read_json(folders.stage("vocabulary") / "vocabulary.json", Vocabulary)
    lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
    for graph in _rows(folders.stage("vocabulary") / "reconstructed.jsonl", Reconstructed):
        if graph.picture_id == candidate.picture_id:
            for fact in cite(candidate.program, graph, lexicon):
                yield f"  known      {fact.fact} (question{'s' * (len(fact.questions) > 1)} {', '.join(fact.questions)})"


def _item(item: Item) -> Iterator[str]:
    label = "unanswerable" if item.unanswerable else f"answerable, {item.answer!r}"
    yield f"  released   {item.subset}, {item.part}: {label}; pair {item.pair_id}: {item.paired_because}"


def _items(folders: Folders) -> Iterator[Item]:
    return _rows(folders.stage("balance") / "items.jsonl", Item)


def _rows(path: Path, kind):
    return read_jsonl(path, kind) if path.is_file() else iter(())
