"""Drop candidates that give their answer away, contradict themselves, or are known to have an answer.

Reads   ingest/pictures.jsonl, ingest/questions.jsonl, ingest/scenes.jsonl, vocabulary/vocabulary.json,
        rank/candidates.jsonl, perturb/candidates.jsonl
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

from pipeline.core.errors import run
from pipeline.core.files import read_json, read_jsonl, write_json, write_jsonl
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
    Vocabulary,
)
from pipeline.judge.judgement import evidence_for, judge
from pipeline.judge.names import Lexicon
from pipeline.judge.programs import parse
from pipeline.screening import claims, form


def conflict(
    candidate: Candidate,
    question: Question,
    asked: set[str],
    judgement: Judgement,
    vocabulary: Vocabulary,
) -> tuple[str, str] | None:
    """The first reason to drop a candidate, with its detail; None to keep it.

    Args:
        question: the one it was made from. asked: plain texts of the questions already asked of the picture.
        judgement: of the candidate, by the evidence.
    """
    if candidate.edits and claims.without_effect(candidate, question):
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
    if claims.plain(candidate.text) in asked:
        return claims.ALREADY_ASKED, ""
    if claims.edits_asserted_only(candidate, question):
        return claims.ASSERTED, ""
    if program and claims.always_answerable(program):
        return claims.ALWAYS_ANSWERABLE, ""
    if judgement.answerability == "answerable":
        return claims.BY_EVIDENCE, judgement.evidence
    return None


def screen(
    candidates: Iterable[Candidate],
    questions: Sequence[Question],
    scenes: Mapping[str, Scene],
    vocabulary: Vocabulary,
) -> tuple[list[Screened], list[Dropped]]:
    """Screen all candidates; both lists sorted by candidate id. Of two with one text at one picture the first
    stays.

    Args:
        questions: the pictures' own questions, from which candidates were made. scenes: picture id -> scene
            graph.
    """
    lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
    by_id = {question.question_id: question for question in questions}
    own: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        own[question.picture_id].append(question)
    at_picture: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        at_picture[candidate.picture_id].append(candidate)
    kept: list[Screened] = []
    dropped: list[Dropped] = []
    for picture_id in track(sorted(at_picture), "screen", total=len(at_picture), unit="picture"):
        facts = evidence_for(picture_id, scenes, own, lexicon)
        asked = {claims.plain(question.text) for question in own[picture_id]}
        seen: set[tuple[str, str]] = set()
        for candidate in sorted(at_picture[picture_id], key=lambda c: c.candidate_id):
            judgement = judge(candidate.program, facts, candidate.text)
            reason = conflict(candidate, by_id[candidate.question_id], asked, judgement, vocabulary)
            twin = (candidate.subset, claims.plain(candidate.text))
            if reason is None and twin in seen:
                reason = claims.TWIN, ""
            if reason is None:
                seen.add(twin)
                kept.append(Screened(candidate=candidate, judgement=judgement))
            else:
                dropped.append(
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
    return sorted(kept, key=lambda row: row.candidate.candidate_id), sorted(
        dropped, key=lambda row: row.candidate_id
    )


def report(kept: Sequence[Screened], dropped: Sequence[Dropped]) -> dict[str, object]:
    """Counts per subset: in == kept + sum(dropped)."""
    found = {}
    for subset in SUBSETS:
        stay = [row for row in kept if row.candidate.subset == subset]
        gone = Counter(row.reason for row in dropped if row.subset == subset)
        found[subset] = {
            "in": len(stay) + gone.total(),
            "kept": len(stay),
            "dropped": dict(sorted(gone.items())),
            "judged": dict(sorted(Counter(row.judgement.answerability for row in stay).items())),
            "evidence": dict(sorted(Counter(row.judgement.evidence for row in stay).items())),
        }
    return found


def main() -> None:
    folders = Folders()
    ingest, out = folders.stage("ingest"), folders.stage("screen")
    shown = {picture.picture_id for picture in read_jsonl(ingest / "pictures.jsonl", Picture)}
    questions = [q for q in read_jsonl(ingest / "questions.jsonl", Question) if q.picture_id in shown]
    scenes = {s.picture_id: s for s in read_jsonl(ingest / "scenes.jsonl", Scene) if s.picture_id in shown}
    vocabulary = read_json(folders.stage("vocabulary") / "vocabulary.json", Vocabulary)
    candidates = [
        c
        for stage in ("rank", "perturb")
        for c in read_jsonl(folders.stage(stage) / "candidates.jsonl", Candidate)
    ]
    kept, dropped = screen(candidates, questions, scenes, vocabulary)
    write_jsonl(out / "screened.jsonl", kept)
    write_jsonl(out / "dropped.jsonl", dropped)
    write_json(out / "screen.json", report(kept, dropped))
    done("screen", f"{len(kept):,} of {len(candidates):,} candidates stay", out)


if __name__ == "__main__":
    run(main)
