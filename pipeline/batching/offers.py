"""The filter questions that a picture offers: questions whose verdict is known at this picture.

Valid are its own questions (they have an answer) and what annotators found answerable before; invalid are
questions that name something which, by explicit evidence, the picture does not have.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from pipeline.batching.filter_questions import (
    RELATIONS,
    Filter,
    Known,
    Source,
    absent_object,
    existence,
    of_the_scene,
)
from pipeline.core.records import Candidate, Question, Screened, Verified, Vocabulary
from pipeline.judge.facts import Facts
from pipeline.judge.judgement import judge
from pipeline.programs.existence_questions import is_existence
from pipeline.programs.operations import parse
from pipeline.words.nouns import lemma

TEMPLATES = 3  # of each kind per picture

Naming = Mapping[str, Sequence[Question]]  # singular name -> questions that name it


def own_questions(own: Iterable[Question]) -> list[Filter]:
    """The picture's own questions, but for those on existence: never a candidate, they would be known at sight."""
    return [_filter(question, "valid", "own question") for question in own if not is_existence(question)]


def judged(candidates: Iterable[Screened]) -> list[Filter]:
    """Other candidates of the picture that name something absent."""
    return [
        _filter(row.candidate, "invalid", "judged candidate")
        for row in candidates
        if row.judgement.category == "missing object"
    ]


def verified_before(known: Iterable[Verified]) -> list[Filter]:
    """Candidates of the picture on which annotators agreed in an earlier round."""
    return [
        _filter(row.candidate, "invalid" if row.status == "unanswerable" else "valid", "verified candidate")
        for row in known
        if row.status in ("unanswerable", "answerable")
    ]


def by_name(questions: Iterable[Question]) -> Naming:
    """The questions under every name that their programs say, those on existence left out."""
    naming: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        if question.program and not is_existence(question):
            steps = parse(question.program, question.question_id)
            for name in {lemma(step.name) for step in steps if step.name}:
                naming[name].append(question)
    return dict(naming)


def foreign(
    picture_id: str, naming: Naming, facts: Facts | None, tries: int, rng: np.random.Generator
) -> list[Filter]:
    """Questions of other pictures that name something absent here, out of `tries` drawn by lot."""
    if facts is None:
        return []
    absent = {kind for word in facts.absent for kind in facts.lexicon.kinds(word) or ()}
    named = {q.question_id: q for kind in absent for q in naming.get(kind, ()) if q.picture_id != picture_id}
    drawn = [named[key] for key in rng.permutation(sorted(named))[:tries]]
    return [
        _filter(question, "invalid", "foreign question")
        for question in drawn
        if judge(question.program, facts, question.text).category == "missing object"
    ]


def templates(vocabulary: Vocabulary, facts: Facts | None, rng: np.random.Generator) -> list[Filter]:
    """The paper's templates: all on the scene, some on existence, as many on absent objects as there are."""
    names = sorted(vocabulary.objects)
    if not names:
        return of_the_scene()
    number = {name: entry.number for name, entry in vocabulary.objects.items()}
    drawn = [names[i] for i in rng.permutation(len(names))[:TEMPLATES]]
    filters = of_the_scene() + [existence(name, number[name]) for name in drawn]
    absent = sorted(facts.absent) if facts else []
    present = sorted({thing.label for thing in facts.things if thing.label}) if facts else []
    for i in rng.permutation(len(absent))[:TEMPLATES]:
        other, relation = str(rng.choice(present or names)), str(rng.choice(RELATIONS))
        row = absent_object(absent[i], number.get(absent[i], "singular"), relation, other)
        if judge(row.program, facts, row.text).answerability == "unanswerable":
            filters.append(row)
    return filters


def _filter(row: Question | Candidate, expected: Known, source: Source) -> Filter:
    candidate = row if isinstance(row, Candidate) else None
    return Filter(
        text=row.text,
        expected=expected,
        source=source,
        program=row.program,
        question_id=row.question_id,
        candidate_id=candidate and candidate.candidate_id,
        subset=candidate and candidate.subset,
    )
