"""The filter questions that a picture offers: questions whose verdict is known at this picture.

Valid are its own questions (they have an answer) and what annotators found answerable before; invalid are
questions that name something which, by explicit evidence, the picture does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from pipeline.batching.filter_questions import RELATIONS, Filter, absent_object, existence, of_the_scene
from pipeline.core.records import Candidate, Question, Screened, Verified, Vocabulary
from pipeline.judge.facts import Facts
from pipeline.judge.judgement import judge
from pipeline.programs.operations import parse
from pipeline.ranking.admissible import is_existence
from pipeline.words.lexicon import singular

TEMPLATES = 3  # of each kind per picture

Naming = Mapping[str, Sequence[Question]]  # singular name -> questions that name it


def own_questions(own: Iterable[Question]) -> list[Filter]:
    """The picture's own questions, but for those on existence: never a candidate, they would be known at sight."""
    return [
        Filter(
            text=q.text, expected="valid", source="own question", program=q.program, question_id=q.question_id
        )
        for q in own
        if not is_existence(q)
    ]


def judged(candidates: Iterable[Screened]) -> list[Filter]:
    """Other candidates of the picture that name something absent."""
    return [
        _from_candidate(row.candidate, "invalid", "judged candidate")
        for row in candidates
        if row.judgement.category == "missing object"
    ]


def verified_before(known: Iterable[Verified]) -> list[Filter]:
    """Candidates of the picture on which annotators agreed in an earlier round."""
    verdicts = {"unanswerable": "invalid", "answerable": "valid"}
    return [
        _from_candidate(row.candidate, verdicts[row.status], "verified candidate")
        for row in known
        if row.status in verdicts
    ]


def by_name(questions: Iterable[Question]) -> Naming:
    """The questions under every name that their programs say, those on existence left out."""
    naming: dict[str, list[Question]] = {}
    for question in questions:
        if question.program and not is_existence(question):
            steps = parse(question.program, question.question_id)
            for name in {singular(step.name) for step in steps if step.name}:
                naming.setdefault(name, []).append(question)
    return naming


def foreign(
    picture_id: str, naming: Naming, facts: Facts | None, tries: int, rng: np.random.Generator
) -> list[Filter]:
    """Questions of other pictures that name something absent here, out of `tries` drawn by lot."""
    if facts is None:
        return []
    absent = {kind for word in facts.absent for kind in facts.lexicon.kinds(word) or ()}
    found = {q.question_id: q for kind in absent for q in naming.get(kind, ()) if q.picture_id != picture_id}
    drawn = [found[key] for key in rng.permutation(sorted(found))[:tries]]
    return [
        Filter(
            text=q.text,
            expected="invalid",
            source="foreign question",
            program=q.program,
            question_id=q.question_id,
        )
        for q in drawn
        if judge(q.program, facts, q.text).category == "missing object"
    ]


def templates(vocabulary: Vocabulary, facts: Facts | None, rng: np.random.Generator) -> list[Filter]:
    """The paper's templates: all on the scene, some on existence, as many on absent objects as there are."""
    names = sorted(vocabulary.objects)
    if not names:
        return of_the_scene()
    number = {name: vocabulary.objects[name].number for name in names}
    drawn = [names[i] for i in rng.permutation(len(names))[:TEMPLATES]]
    filters = of_the_scene() + [existence(name, number[name]) for name in drawn]
    absent = sorted(facts.absent) if facts else []
    present = sorted({thing.label for thing in facts.things if thing.label}) if facts else []
    for i in rng.permutation(len(absent))[:TEMPLATES]:
        other, relation = str(rng.choice(present or names)), str(rng.choice(RELATIONS))
        made = absent_object(absent[i], number.get(absent[i], "singular"), relation, other)
        if judge(made.program, facts, made.text).answerability == "unanswerable":
            filters.append(made)
    return filters


def _from_candidate(candidate: Candidate, expected: str, source: str) -> Filter:
    return Filter(
        text=candidate.text,
        expected=expected,
        source=source,
        program=candidate.program,
        question_id=candidate.question_id,
        candidate_id=candidate.candidate_id,
        subset=candidate.subset,
    )
