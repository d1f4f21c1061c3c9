"""Filter questions: questions with a known verdict that show whether an annotator pays attention.

The paper's templates (appendix D) are easy to recognise, and then annotators know which question counts. So
most filters here are questions like those under judgement, whose verdict is known; templates are a small share.

Valid are a picture's own questions (they have an answer) and what annotators found answerable before; invalid are
questions that name something which, by explicit evidence, the picture does not have.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Literal

import numpy as np
from msgspec.structs import replace

from pipeline.core.randomness import lot
from pipeline.core.records import Candidate, Question, Record, Screened, Step, Subset, Verified, Vocabulary
from pipeline.language.functional_programs import is_existence, parse
from pipeline.language.letter_case import restyled, style_of
from pipeline.language.nouns import lemma
from pipeline.verifier.evidence import Facts
from pipeline.verifier.verification import judge

Known = Literal["valid", "invalid"]
Source = Literal["template", "own question", "judged candidate", "foreign question", "verified candidate"]

TEMPLATES = 3  # of each kind per picture
RELATIONS = ("next to", "around", "under", "on", "above")
OF_THE_SCENE = {  # what every photo answers
    "Is this indoor or outdoor?": (("select", "scene"), ("choose location", "indoors|outdoors")),
    "Is this a color image?": (),  # about the picture, not about what is on it: no program of GQA says it
    "What place is this?": (("select", "scene"), ("query", "place")),
}
# Status of a verified candidate -> its known verdict.
AGREED: dict[str, Known] = {"unanswerable": "invalid", "answerable": "valid"}


class Filter(Record):
    """A filter question for one picture. `subset` is that of the candidate which it is, if it is one. `why`, in words: what
    makes its verdict known."""

    text: str
    expected: Known
    source: Source
    why: str = ""
    program: tuple[Step, ...] = ()
    question_id: str | None = None
    candidate_id: str | None = None
    subset: Subset | None = None


def template(text: str, expected: Known, *steps: tuple[str, str]) -> Filter:
    """A filter from a template; each step of its program takes the one before it."""
    program = tuple(
        Step(operation=operation, argument=argument, dependencies=(number - 1,) if number else ())
        for number, (operation, argument) in enumerate(steps)
    )
    return Filter(text=text, expected=expected, source="template", program=program)


def existence(name: str, number: str) -> Filter:
    """`Is there a cup?`, `Are there jeans?`, `Is there grass?` - always answerable, with no if need be."""
    a = {"singular": "an " if name[0].lower() in "aeiou" else "a ", "plural": "", "mass": ""}[number]
    text = f"{'Are' if number == 'plural' else 'Is'} there {a}{name}?"
    return template(text, "valid", ("select", f"{name} (-)"), ("exist", "?"))


def absent_object(absent: str, number: str, relation: str, other: str) -> Filter:
    """`What color is the cup next to the table?` where there is no cup."""
    text = f"What color {'are' if number == 'plural' else 'is'} the {absent} {relation} the {other}?"
    steps = ("select", f"{other} (-)"), ("relate", f"{absent},{relation},s (-)"), ("query", "color")
    return template(text, "invalid", *steps)


def of_the_picture(
    own: Iterable[Question], candidates: Iterable[Screened], earlier: Iterable[Verified]
) -> list[Filter]:
    """What is known of questions on one picture.

    Args:
        own: its questions; those on existence are left out: never a candidate, they would be known at sight.
        candidates: those that name something absent serve beside the others.
        earlier: candidates on which annotators agreed in an earlier round.
    """
    missing = (row for row in candidates if row.judgement.category == "missing object")
    agreed = (row for row in earlier if row.status in AGREED)
    return [
        *(_filter(row, "valid", "own question", row.answer) for row in own if not is_existence(row)),
        *(_filter(row.candidate, "invalid", "judged candidate", row.judgement.detail) for row in missing),
        *(_filter(row.candidate, AGREED[row.status], "verified candidate") for row in agreed),
    ]


class Naming:
    """The questions under every name that their programs say, those on existence left out; read anew when they are drawn.

    Attributes:
        names: singular name -> the places, ascending, of the questions that name it, in the order of their ids.

    Args:
        questions: by id. pictures: whose questions they are to be.
    """

    def __init__(self, questions: Mapping[str, Question], pictures: Collection[str]) -> None:
        self._questions, self._ids = questions, list[str]()
        places: dict[str, array[int]] = defaultdict(partial(array, "I"))
        own: dict[str, array[int]] = defaultdict(partial(array, "I"))
        for key in sorted(questions):
            question = questions[key]
            if question.picture_id in pictures and question.program and not is_existence(question):
                steps = parse(question.program, question.question_id)
                for name in {lemma(step.name) for step in steps if step.name}:
                    places[name].append(len(self._ids))
                own[question.picture_id].append(len(self._ids))
                self._ids.append(key)
        self.names = {name: np.frombuffer(found, np.uint32) for name, found in places.items()}
        self._own = own

    def drawn(
        self, names: Iterable[str], elsewhere: str, most: int, rng: np.random.Generator
    ) -> list[Question]:
        """So many questions that say one of these names and are asked of another picture, by lot."""
        said = np.zeros(len(self._ids), bool)
        for name in names:
            said[self.names.get(name, [])] = True
        said[self._own.get(elsewhere, [])] = False
        return [self._questions[self._ids[place]] for place in rng.permutation(np.flatnonzero(said))[:most]]


def absent_names(
    names: Collection[str], facts: Facts | None, most: int, rng: np.random.Generator
) -> list[str]:
    """Names of which the picture has none: all that were said to be absent, and where a graph tells enough, of `most`
    names drawn by lot those that it does not list and hardly leaves out."""
    if facts is None:
        return []
    drawn: list[str] = []
    if facts.unlisted:
        ordered = sorted(names)
        drawn = [ordered[i] for i in rng.permutation(len(ordered))[:most]]
    return sorted({*facts.absent, *(lemma(name) for name in drawn if not facts.named(name))})


def foreign(
    picture_id: str, naming: Naming, facts: Facts | None, tries: int, rng: np.random.Generator
) -> list[Filter]:
    """Questions of other pictures that name something absent here, out of `tries` drawn by lot."""
    if facts is None:
        return []
    words = absent_names(naming.names, facts, tries, rng)
    absent = {kind for word in words for kind in facts.lexicon.kinds(word) or ()}
    drawn = naming.drawn(absent, picture_id, tries, rng)
    judged = ((question, judge(question.program, facts, question.text)) for question in drawn)
    return [
        _filter(question, "invalid", "foreign question", judgement.detail)
        for question, judgement in judged
        if judgement.category == "missing object"
    ]


def in_style_of(rows: Iterable[Filter], texts: Iterable[str]) -> list[Filter]:
    """Write filter questions from templates in the style of the texts that may be shown with them: in the letter case of one of
    them, chosen by the filter's text, and without a question mark if that one has none."""
    examples = sorted(set(texts))
    return [replace(row, text=_written_like(row.text, examples)) for row in rows]


def _written_like(text: str, examples: Sequence[str]) -> str:
    example = examples[int(lot("template", text) * len(examples))] if examples else text
    said = restyled(text, style_of(example))
    return said if "?" in example else said.rstrip("?")


def templates(vocabulary: Vocabulary, facts: Facts | None, rng: np.random.Generator) -> list[Filter]:
    """The paper's templates: all on the scene, some on existence, as many on absent objects as there are."""
    filters = [template(text, "valid", *steps) for text, steps in OF_THE_SCENE.items()]
    names = sorted(vocabulary.objects)
    if not names:
        return filters
    number = {name: entry.number for name, entry in vocabulary.objects.items()}
    drawn = [names[i] for i in rng.permutation(len(names))[:TEMPLATES]]
    filters += [existence(name, number[name]) for name in drawn]
    absent = absent_names(names, facts, 4 * TEMPLATES, rng)
    present = sorted({thing.label for thing in facts.things if thing.label}) if facts else []
    for i in rng.permutation(len(absent))[:TEMPLATES]:
        other, relation = str(rng.choice(present or names)), str(rng.choice(RELATIONS))
        row = absent_object(absent[i], number.get(absent[i], "singular"), relation, other)
        judgement = judge(row.program, facts, row.text)
        if judgement.answerability == "unanswerable":
            filters.append(replace(row, why=judgement.detail))
    return filters


def _filter(row: Question | Candidate, expected: Known, source: Source, why: str = "") -> Filter:
    return Filter(
        text=row.text,
        expected=expected,
        source=source,
        why=why,
        program=row.program,
        question_id=row.question_id,
        candidate_id=row.candidate_id if isinstance(row, Candidate) else None,
        subset=row.subset if isinstance(row, Candidate) else None,
    )
