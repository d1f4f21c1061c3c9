"""Drop candidates that give their answer away, contradict themselves, or are known to have an answer.

Reads   ingest/pictures.jsonl, ingest/questions.jsonl, ingest/scenes.jsonl, vocabulary/vocabulary.json,
        vocabulary/reconstructed.jsonl, rank/candidates.jsonl, perturb/candidates.jsonl
Writes  screened.jsonl   candidates that stay, each with what the judge says and from which evidence
        dropped.jsonl    candidates that go, each with one reason
        screen.json      counts per subset: in == kept + sum(dropped); judgements of what was kept

The evidence about a picture is its scene graph where there is one, else what its own questions say, else
none. The judge only ever drops what it knows to be answerable; "unknown" stays, and is no proof of the
contrary.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from pipeline.core.by_picture import Made, by_subset, counted, pictures_in_order, write_by_picture
from pipeline.core.errors import run
from pipeline.core.files import read_json, write_json
from pipeline.core.paths import Folders
from pipeline.core.progress import done
from pipeline.core.records import (
    SUBSETS,
    Candidate,
    Dropped,
    Judgement,
    Question,
    Scene,
    Screened,
    Vocabulary,
)
from pipeline.core.rows import Groups, Joined, Singles
from pipeline.judge.judgement import Told, evidence_for, judge
from pipeline.judge.reconstruct import Reconstructed
from pipeline.programs.operations import parse
from pipeline.screening import claims, form
from pipeline.screening.slips import badly_said
from pipeline.words.lexicon import Lexicon


def conflict(
    candidate: Candidate,
    question: Question | None,
    asked: set[str],
    judgement: Judgement,
    vocabulary: Vocabulary,
) -> tuple[str, str] | None:
    """The first reason to drop a candidate, with its detail; None to keep it.

    Args:
        question: the picture's own one that it was made from; None for another picture's question.
        asked: plain texts of the questions already asked of the picture.
        judgement: of the candidate, by the evidence.
    """
    if question and claims.without_effect(candidate, question):
        return claims.WITHOUT_EFFECT, ""
    program = parse(candidate.program, candidate.candidate_id) if candidate.program else ()
    renamed = {edit.step for edit in candidate.edits if edit.kind == "object"}
    found = (
        form.fault(program, renamed, vocabulary.categories)
        if program
        else form.text_fault(candidate.text, vocabulary.attribute_types)
    )
    if found := found or form.choice_said_twice(candidate.text):
        return found
    if candidate.edits and (slip := badly_said(candidate.text)):
        return slip
    if claims.plain(candidate.text) in asked:
        return claims.ALREADY_ASKED, ""
    if question and claims.edits_asserted_only(candidate, question):
        return claims.ASSERTED, ""
    if program and claims.always_answerable(program):
        return claims.ALWAYS_ANSWERABLE, ""
    if judgement.answerability == "answerable":
        return claims.BY_EVIDENCE, judgement.evidence
    return None


@dataclass(frozen=True, slots=True)
class Tables:
    """What the candidates of pictures are screened with: the questions and scene graphs of each, what is told of it
    (`evidence_for`), the vocabulary."""

    candidates: Mapping[str, Sequence[Candidate]]
    questions: Mapping[str, Sequence[Question]]
    scenes: Mapping[str, Scene]
    told: Told
    vocabulary: Vocabulary
    lexicon: Lexicon

    @classmethod
    def of(
        cls,
        candidates: Mapping[str, Sequence[Candidate]],
        questions: Mapping[str, Sequence[Question]],
        scenes: Mapping[str, Scene],
        vocabulary: Vocabulary,
        told: Told | None = None,
    ) -> Tables:
        lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
        return cls(candidates, questions, scenes, questions if told is None else told, vocabulary, lexicon)

    @classmethod
    def read(cls, folders: Folders) -> Tables:
        """The same from files, of which the rows of one picture at a time are in memory."""
        ingest = folders.stage("ingest")
        proposed = [
            Groups(folders.stage(stage) / "candidates.jsonl", Candidate, "picture_id")
            for stage in ("rank", "perturb")
        ]
        return cls.of(
            Joined(*proposed),
            Groups(ingest / "questions.jsonl", Question, "picture_id"),
            Singles(ingest / "scenes.jsonl", Scene, "picture_id"),
            read_json(folders.stage("vocabulary") / "vocabulary.json", Vocabulary),
            Singles(folders.stage("vocabulary") / "reconstructed.jsonl", Reconstructed, "picture_id"),
        )


def screen_picture(tables: Tables, picture_id: str) -> list[Screened | Dropped]:
    """Screen the candidates of one picture, in the order of their ids. Of two with one text the first stays."""
    facts = evidence_for(picture_id, tables.scenes, tables.told, tables.lexicon)
    own = {question.question_id: question for question in tables.questions.get(picture_id, ())}
    asked = {claims.plain(question.text) for question in own.values()}
    seen: set[tuple[str, str]] = set()
    rows: list[Screened | Dropped] = []
    for candidate in sorted(tables.candidates.get(picture_id, ()), key=lambda c: c.candidate_id):
        source = own[candidate.question_id] if candidate.edits else None
        judgement = judge(candidate.program, facts, candidate.text)
        reason = conflict(candidate, source, asked, judgement, tables.vocabulary)
        twin = (candidate.subset, claims.plain(candidate.text))
        if reason is None and twin in seen:
            reason = claims.TWIN, ""
        if reason is None:
            seen.add(twin)
            rows.append(Screened(candidate=candidate, judgement=judgement))
        else:
            rows.append(
                Dropped(
                    candidate_id=candidate.candidate_id,
                    subset=candidate.subset,
                    picture_id=picture_id,
                    question_id=candidate.question_id,
                    text=candidate.text,
                    stage="screen",
                    reason=reason[0],
                    detail=reason[1],
                )
            )
    return rows


def screen(
    candidates: Iterable[Candidate],
    questions: Iterable[Question],
    scenes: Mapping[str, Scene],
    vocabulary: Vocabulary,
) -> tuple[list[Screened], list[Dropped]]:
    """Screen candidates that are all in memory; both lists sorted by candidate id.

    Args:
        questions: the pictures' own questions, from which candidates were made. scenes: picture id -> scene
            graph.
    """
    own: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        own[question.picture_id].append(question)
    at_picture: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        at_picture[candidate.picture_id].append(candidate)
    tables = Tables.of(at_picture, own, scenes, vocabulary)
    rows = [row for picture_id in at_picture for row in screen_picture(tables, picture_id)]
    kept = [row for row in rows if isinstance(row, Screened)]
    return sorted(kept, key=lambda row: row.candidate.candidate_id), sorted(
        (row for row in rows if isinstance(row, Dropped)), key=lambda row: row.candidate_id
    )


def tally(rows: Iterable[Screened | Dropped]) -> Counter[tuple[str, str, str]]:
    """Counts of those kept, by judgement and evidence, and of those dropped, by reason, per subset."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for row in rows:
        if isinstance(row, Screened):
            counts[row.candidate.subset, "judged", row.judgement.answerability] += 1
            counts[row.candidate.subset, "evidence", row.judgement.evidence] += 1
        else:
            counts[row.subset, "dropped", row.reason] += 1
    return counts


def report(counts: Mapping[tuple[str, str, str], int]) -> dict[str, dict[str, object]]:
    """Counts per subset: in == kept + sum(dropped)."""
    found = {}
    for subset in SUBSETS:
        by = counted(counts, subset, "judged", "evidence", "dropped")
        kept = sum(by["judged"].values())
        found[subset] = {"in": kept + sum(by["dropped"].values()), "kept": kept, **by}
    return found


def made_of(tables: Tables, picture_id: str) -> Made:
    """What becomes of the candidates of one picture."""
    rows = screen_picture(tables, picture_id)
    kept = by_subset((row for row in rows if isinstance(row, Screened)), lambda row: row.candidate.subset)
    dropped = by_subset((row for row in rows if isinstance(row, Dropped)), lambda row: row.subset)
    return Made((kept, dropped), tally(rows))


def main() -> None:
    folders = Folders()
    names = ("screened.jsonl", "dropped.jsonl")
    set_up = partial(Tables.read, folders)
    counts = write_by_picture("screen", folders, pictures_in_order(folders), names, set_up, made_of)
    out, found = folders.stage("screen"), report(counts)
    write_json(out / "screen.json", found)
    stay, came = (sum(row[what] for row in found.values()) for what in ("kept", "in"))
    done("screen", f"{stay:,} of {came:,} candidates stay", out)


if __name__ == "__main__":
    run(main)
