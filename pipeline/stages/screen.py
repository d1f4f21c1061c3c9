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

import msgspec

from pipeline.core.errors import run
from pipeline.core.files import lines, read_json, read_jsonl, replacing_parts, write_json
from pipeline.core.parallel import Workers, processes
from pipeline.core.paths import Folders
from pipeline.core.progress import done, track
from pipeline.core.records import (
    SUBSETS,
    Candidate,
    Dropped,
    Judgement,
    Picture,
    Question,
    Scene,
    Screened,
    Subset,
    Vocabulary,
)
from pipeline.core.rows import Groups, Joined, Singles
from pipeline.judge.judgement import Told, evidence_for, judge
from pipeline.judge.names import Lexicon
from pipeline.judge.programs import parse
from pipeline.judge.reconstruct import Reconstructed
from pipeline.screening import claims, form
from pipeline.screening.wording import badly_said


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
        return cls(
            candidates, questions, scenes, questions if told is None else told, vocabulary, lexicon
        )

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


def report(counts: Mapping[tuple[str, str, str], int]) -> dict[str, object]:
    """Counts per subset: in == kept + sum(dropped)."""
    found = {}
    for subset in SUBSETS:
        by = {
            what: {
                name: counts[key] for key in sorted(counts) if key[:2] == (subset, what) for name in key[2:]
            }
            for what in ("judged", "evidence", "dropped")
        }
        kept = sum(by["judged"].values())
        found[subset] = {"in": kept + sum(by["dropped"].values()), "kept": kept, **by}
    return found


class Made(msgspec.Struct, frozen=True):
    """What becomes of a picture's candidates, as lines of the files to be written, per subset; and counts of it."""

    kept: dict[Subset, bytes]
    dropped: dict[Subset, bytes]
    counts: Counter[tuple[str, str, str]]


def made_of(tables: Tables, picture_id: str) -> Made:
    rows = screen_picture(tables, picture_id)
    kept = [row for row in rows if isinstance(row, Screened)]
    dropped = [row for row in rows if isinstance(row, Dropped)]
    return Made(
        {subset: lines(row for row in kept if row.candidate.subset == subset) for subset in SUBSETS},
        {subset: lines(row for row in dropped if row.subset == subset) for subset in SUBSETS},
        tally(rows),
    )


def main() -> None:
    folders = Folders()
    out = folders.stage("screen")
    ids = (picture.picture_id for picture in read_jsonl(folders.stage("ingest") / "pictures.jsonl", Picture))
    pictures = sorted(ids, key=lambda picture_id: f"{picture_id}+")  # the order of candidate ids
    counts: Counter[tuple[str, str, str]] = Counter()
    with (
        Workers(partial(Tables.read, folders), processes(len(pictures))) as workers,
        replacing_parts(out / "screened.jsonl", SUBSETS) as kept,
        replacing_parts(out / "dropped.jsonl", SUBSETS) as dropped,
    ):
        for made in track(workers.map(made_of, pictures), "screen", len(pictures), "picture"):
            for subset in SUBSETS:
                kept[subset].write(made.kept[subset])
                dropped[subset].write(made.dropped[subset])
            counts.update(made.counts)
    found = report(counts)
    write_json(out / "screen.json", found)
    stay, came = (sum(row[what] for row in found.values()) for what in ("kept", "in"))
    done("screen", f"{stay:,} of {came:,} candidates stay", out)


if __name__ == "__main__":
    run(main)
