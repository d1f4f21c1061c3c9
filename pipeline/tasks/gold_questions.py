"""Filter questions: questions with a known verdict that show whether an annotator pays attention.

The paper's templates (appendix D) are easy to recognise, and then annotators know which question counts. So
most filters here are questions like those under judgement, whose verdict is known; templates are a small share.

Valid are an image's own questions (they have an answer) and what annotators found answerable before; invalid are
questions that name something which, by explicit evidence, the image does not have.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Literal

import numpy as np
from msgspec.structs import replace

from pipeline.core.randomness import hash_uniform
from pipeline.core.records import (
    Candidate,
    CollectedCandidate,
    Question,
    Record,
    ScreenedCandidate,
    Step,
    Subset,
    Vocabulary,
)
from pipeline.language.functional_programs import is_existence_question, parse_program
from pipeline.language.letter_case import apply_case_style, detect_case_style
from pipeline.language.nouns import lemmatize
from pipeline.verifier.evidence import Evidence
from pipeline.verifier.verification import verify_question

KnownVerdict = Literal["valid", "invalid"]
GoldSource = Literal["template", "own question", "candidate refuted by evidence", "foreign question", "verified candidate"]

MAX_TEMPLATES_PER_KIND = 3  # of each kind per image
TEMPLATE_RELATIONS = ("next to", "around", "under", "on", "above")
SCENE_TEMPLATES = {  # what every photo answers
    "Is this indoor or outdoor?": (("select", "scene"), ("choose location", "indoors|outdoors")),
    "Is this a color image?": (),  # about the image, not about what is on it: no program of GQA says it
    "What place is this?": (("select", "scene"), ("query", "place")),
}
# Status of a verified candidate -> its known verdict.
VERDICT_BY_STATUS: dict[str, KnownVerdict] = {"unanswerable": "invalid", "answerable": "valid"}


class GoldQuestion(Record):
    """A filter question for one image. `subset` is that of the candidate which it is, if it is one. `why`, in words: what
    makes its verdict known."""

    text: str
    expected_choice: KnownVerdict
    source: GoldSource
    explanation: str = ""
    program: tuple[Step, ...] = ()
    question_id: str | None = None
    candidate_id: str | None = None
    subset: Subset | None = None


def make_template_question(text: str, expected: KnownVerdict, *steps: tuple[str, str]) -> GoldQuestion:
    """A filter from a template; each step of its program takes the one before it."""
    program = tuple(
        Step(operation=operation, argument=argument, dependencies=(number - 1,) if number else ())
        for number, (operation, argument) in enumerate(steps)
    )
    return GoldQuestion(text=text, expected_choice=expected, source="template", program=program)


def make_existence_question(name: str, grammatical_number: str) -> GoldQuestion:
    """`Is there a cup?`, `Are there jeans?`, `Is there grass?` - always answerable, with no if need be."""
    a = {"singular": "an " if name[0].lower() in "aeiou" else "a ", "plural": "", "mass": ""}[
        grammatical_number
    ]
    text = f"{'Are' if grammatical_number == 'plural' else 'Is'} there {a}{name}?"
    return make_template_question(text, "valid", ("select", f"{name} (-)"), ("exist", "?"))


def make_absent_object_question(
    absent_name: str, grammatical_number: str, relation: str, other_name: str
) -> GoldQuestion:
    """`What color is the cup next to the table?` where there is no cup."""
    text = f"What color {'are' if grammatical_number == 'plural' else 'is'} the {absent_name} {relation} the {other_name}?"
    steps = ("select", f"{other_name} (-)"), ("relate", f"{absent_name},{relation},s (-)"), ("query", "color")
    return make_template_question(text, "invalid", *steps)


def collect_known_questions(
    own_questions: Iterable[Question],
    candidates: Iterable[ScreenedCandidate],
    earlier_verified: Iterable[CollectedCandidate],
) -> list[GoldQuestion]:
    """What is known of questions on one image.

    Args:
        own: its questions; those on existence are left out: never a candidate, they would be known at sight.
        candidates: those that name something absent serve beside the others.
        earlier: candidates on which annotators agreed in an earlier round.
    """
    missing = (row for row in candidates if row.verifier_result.category == "missing object")
    agreed = (row for row in earlier_verified if row.status in VERDICT_BY_STATUS)
    return [
        *(
            _make_gold_question(row, "valid", "own question", row.answer)
            for row in own_questions
            if not is_existence_question(row)
        ),
        *(
            _make_gold_question(row.candidate, "invalid", "candidate refuted by evidence", row.verifier_result.detail)
            for row in missing
        ),
        *(
            _make_gold_question(row.candidate, VERDICT_BY_STATUS[row.status], "verified candidate")
            for row in agreed
        ),
    ]


class QuestionsByName:
    """The questions under every name that their programs say, those on existence left out; read anew when they are drawn.

    Attributes:
        names: singular name -> the places, ascending, of the questions that name it, in the order of their ids.

    Args:
        questions: by id. images: whose questions they are to be.
    """

    def __init__(self, questions: Mapping[str, Question], image_ids: Collection[str]) -> None:
        self._questions, self._question_ids = questions, list[str]()
        places: dict[str, array[int]] = defaultdict(partial(array, "I"))
        own: dict[str, array[int]] = defaultdict(partial(array, "I"))
        for key in sorted(questions):
            question = questions[key]
            if question.image_id in image_ids and question.program and not is_existence_question(question):
                steps = parse_program(question.program, question.question_id)
                for name in {lemmatize(step.name) for step in steps if step.name}:
                    places[name].append(len(self._question_ids))
                own[question.image_id].append(len(self._question_ids))
                self._question_ids.append(key)
        self.rows_by_name = {name: np.frombuffer(found, np.uint32) for name, found in places.items()}
        self._rows_by_image = own

    def sample(
        self, names: Iterable[str], excluded_image_id: str, max_questions: int, rng: np.random.Generator
    ) -> list[Question]:
        """So many questions that say one of these names and are asked of another image, by lot."""
        said = np.zeros(len(self._question_ids), bool)
        for name in names:
            said[self.rows_by_name.get(name, [])] = True
        said[self._rows_by_image.get(excluded_image_id, [])] = False
        return [
            self._questions[self._question_ids[place]]
            for place in rng.permutation(np.flatnonzero(said))[:max_questions]
        ]


def find_absent_names(
    names: Collection[str], facts: Evidence | None, num_trials: int, rng: np.random.Generator
) -> list[str]:
    """Names of which the image has none: all that were said to be absent, and where a graph tells enough, of `most`
    names drawn by lot those that it does not list and hardly leaves out."""
    if facts is None:
        return []
    drawn: list[str] = []
    if facts.completeness:
        ordered = sorted(names)
        drawn = [ordered[i] for i in rng.permutation(len(ordered))[:num_trials]]
    return sorted(
        {*facts.absent_names, *(lemmatize(name) for name in drawn if not facts.select_objects(name))}
    )


def sample_foreign_questions(
    image_id: str,
    questions_by_name: QuestionsByName,
    facts: Evidence | None,
    num_trials: int,
    rng: np.random.Generator,
) -> list[GoldQuestion]:
    """Questions of other images that name something absent here, out of `tries` drawn by lot."""
    if facts is None:
        return []
    words = find_absent_names(questions_by_name.rows_by_name, facts, num_trials, rng)
    absent = {kind for word in words for kind in facts.lexicon.get_hyponym_closure(word) or ()}
    drawn = questions_by_name.sample(absent, image_id, num_trials, rng)
    judged = ((question, verify_question(question.program, facts, question.text)) for question in drawn)
    return [
        _make_gold_question(question, "invalid", "foreign question", judgement.detail)
        for question, judgement in judged
        if judgement.category == "missing object"
    ]


def match_text_style(rows: Iterable[GoldQuestion], texts: Iterable[str]) -> list[GoldQuestion]:
    """Write filter questions from templates in the style of the texts that may be shown with them: in the letter case of one of
    them, chosen by the filter's text, and without a question mark if that one has none."""
    examples = sorted(set(texts))
    return [replace(row, text=_restyle_like(row.text, examples)) for row in rows]


def _restyle_like(text: str, examples: Sequence[str]) -> str:
    example = examples[int(hash_uniform("template", text) * len(examples))] if examples else text
    said = apply_case_style(text, detect_case_style(example))
    return said if "?" in example else said.rstrip("?")


def make_all_template_questions(
    vocabulary: Vocabulary, facts: Evidence | None, rng: np.random.Generator
) -> list[GoldQuestion]:
    """The paper's templates: all on the scene, some on existence, as many on absent objects as there are."""
    filters = [make_template_question(text, "valid", *steps) for text, steps in SCENE_TEMPLATES.items()]
    names = sorted(vocabulary.objects)
    if not names:
        return filters
    number = {name: entry.number for name, entry in vocabulary.objects.items()}
    drawn = [names[i] for i in rng.permutation(len(names))[:MAX_TEMPLATES_PER_KIND]]
    filters += [make_existence_question(name, number[name]) for name in drawn]
    absent = find_absent_names(names, facts, 4 * MAX_TEMPLATES_PER_KIND, rng)
    present = sorted({thing.label for thing in facts.objects if thing.label}) if facts else []
    for i in rng.permutation(len(absent))[:MAX_TEMPLATES_PER_KIND]:
        other, relation = str(rng.choice(present or names)), str(rng.choice(TEMPLATE_RELATIONS))
        row = make_absent_object_question(absent[i], number.get(absent[i], "singular"), relation, other)
        judgement = verify_question(row.program, facts, row.text)
        if judgement.answerability == "unanswerable":
            filters.append(replace(row, explanation=judgement.detail))
    return filters


def _make_gold_question(
    row: Question | Candidate, expected: KnownVerdict, source: GoldSource, why: str = ""
) -> GoldQuestion:
    return GoldQuestion(
        text=row.text,
        expected_choice=expected,
        source=source,
        explanation=why,
        program=row.program,
        question_id=row.question_id,
        candidate_id=row.candidate_id if isinstance(row, Candidate) else None,
        subset=row.subset if isinstance(row, Candidate) else None,
    )
