"""Build gold questions: questions with a known verdict that check whether an annotator pays attention.

The paper's templates (appendix D) are easy to recognise, and then annotators know which question counts. So most gold questions here
resemble the candidates, and only a small proportion is made from templates.

Valid gold questions are an image's own questions, which are answerable, and what annotators found answerable before. Invalid ones name
something that the image does not show, by explicit evidence.
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
GoldSource = Literal[
    "template", "own question", "candidate refuted by evidence", "foreign question", "verified candidate"
]

# Template questions of each kind per image.
MAX_TEMPLATES_PER_KIND = 3
TEMPLATE_RELATIONS = ("next to", "around", "under", "on", "above")
# Questions that every photo answers.
SCENE_TEMPLATES = {
    "Is this indoor or outdoor?": (("select", "scene"), ("choose location", "indoors|outdoors")),
    # It is about the image and not about what it shows, so it has no program in GQA.
    "Is this a color image?": (),
    "What place is this?": (("select", "scene"), ("query", "place")),
}
# Status of a verified candidate -> known verdict.
VERDICT_BY_STATUS: dict[str, KnownVerdict] = {"unanswerable": "invalid", "answerable": "valid"}


class GoldQuestion(Record):
    """A gold question for one image.

    Attributes:
        explanation: In words, why its verdict is known.
        subset: Subset of the candidate from which it was made, if it was made from one.
    """

    text: str
    expected_choice: KnownVerdict
    source: GoldSource
    explanation: str = ""
    program: tuple[Step, ...] = ()
    question_id: str | None = None
    candidate_id: str | None = None
    subset: Subset | None = None


def make_template_question(text: str, expected: KnownVerdict, *steps: tuple[str, str]) -> GoldQuestion:
    """Make a gold question from a template. Each step of its program takes the previous one as input."""
    program = tuple(
        Step(operation=operation, argument=argument, dependencies=(number - 1,) if number else ())
        for number, (operation, argument) in enumerate(steps)
    )
    return GoldQuestion(text=text, expected_choice=expected, source="template", program=program)


def make_existence_question(name: str, grammatical_number: str) -> GoldQuestion:
    """Make a question such as `Is there a cup?`, `Are there jeans?` or `Is there grass?`. It is always answerable, if only with no."""
    article = {"singular": "an " if name[0].lower() in "aeiou" else "a ", "plural": "", "mass": ""}[
        grammatical_number
    ]
    text = f"{'Are' if grammatical_number == 'plural' else 'Is'} there {article}{name}?"
    return make_template_question(text, "valid", ("select", f"{name} (-)"), ("exist", "?"))


def make_absent_object_question(
    absent_name: str, grammatical_number: str, relation: str, other_name: str
) -> GoldQuestion:
    """Make a question such as `What color is the cup next to the table?` for an image without a cup."""
    text = f"What color {'are' if grammatical_number == 'plural' else 'is'} the {absent_name} {relation} the {other_name}?"
    steps = ("select", f"{other_name} (-)"), ("relate", f"{absent_name},{relation},s (-)"), ("query", "color")
    return make_template_question(text, "invalid", *steps)


def collect_known_questions(
    own_questions: Iterable[Question],
    candidates: Iterable[ScreenedCandidate],
    earlier_verified: Iterable[CollectedCandidate],
) -> list[GoldQuestion]:
    """Collect the questions about one image whose verdict is known.

    Args:
        own_questions: Its own questions. Existence questions are skipped: they are never candidates and would be recognised at once.
        candidates: Its candidates. Those that name something absent can serve as gold questions of other tasks.
        earlier_verified: Candidates on which annotators agreed in an earlier round.
    """
    refuted = (row for row in candidates if row.verifier_result.category == "missing object")
    agreed = (row for row in earlier_verified if row.status in VERDICT_BY_STATUS)
    return [
        *(
            _make_gold_question(row, "valid", "own question", row.answer)
            for row in own_questions
            if not is_existence_question(row)
        ),
        *(
            _make_gold_question(
                row.candidate, "invalid", "candidate refuted by evidence", row.verifier_result.detail
            )
            for row in refuted
        ),
        *(
            _make_gold_question(row.candidate, VERDICT_BY_STATUS[row.status], "verified candidate")
            for row in agreed
        ),
    ]


class QuestionsByName:
    """The questions that mention each name in their programs, without existence questions. They are read again when they are sampled.

    Attributes:
        rows_by_name: Singular name -> ascending positions of the questions that mention it, in the order of their ids.

    Args:
        questions: Question id -> question.
        image_ids: Images whose questions are used.
    """

    def __init__(self, questions: Mapping[str, Question], image_ids: Collection[str]) -> None:
        self._questions, self._question_ids = questions, list[str]()
        positions: dict[str, array[int]] = defaultdict(partial(array, "I"))
        own: dict[str, array[int]] = defaultdict(partial(array, "I"))
        for key in sorted(questions):
            question = questions[key]
            if question.image_id in image_ids and question.program and not is_existence_question(question):
                steps = parse_program(question.program, question.question_id)
                for name in {lemmatize(step.name) for step in steps if step.name}:
                    positions[name].append(len(self._question_ids))
                own[question.image_id].append(len(self._question_ids))
                self._question_ids.append(key)
        self.rows_by_name = {name: np.frombuffer(found, np.uint32) for name, found in positions.items()}
        self._rows_by_image = own

    def sample(
        self, names: Iterable[str], excluded_image_id: str, max_questions: int, rng: np.random.Generator
    ) -> list[Question]:
        """Sample at most `max_questions` questions of other images that mention one of these names."""
        is_eligible = np.zeros(len(self._question_ids), bool)
        for name in names:
            is_eligible[self.rows_by_name.get(name, [])] = True
        is_eligible[self._rows_by_image.get(excluded_image_id, [])] = False
        return [
            self._questions[self._question_ids[position]]
            for position in rng.permutation(np.flatnonzero(is_eligible))[:max_questions]
        ]


def find_absent_names(
    names: Collection[str], evidence: Evidence | None, num_trials: int, rng: np.random.Generator
) -> list[str]:
    """Return names of which the image shows nothing.

    These are the names that were stated to be absent. If a graph is complete enough, up to `num_trials` random names are added that it does not list
    and is unlikely to omit.
    """
    if evidence is None:
        return []
    sampled: list[str] = []
    if evidence.completeness:
        ordered = sorted(names)
        sampled = [ordered[i] for i in rng.permutation(len(ordered))[:num_trials]]
    return sorted(
        {*evidence.absent_names, *(lemmatize(name) for name in sampled if not evidence.select_objects(name))}
    )


def sample_foreign_questions(
    image_id: str,
    questions_by_name: QuestionsByName,
    evidence: Evidence | None,
    num_trials: int,
    rng: np.random.Generator,
) -> list[GoldQuestion]:
    """Sample `num_trials` questions of other images, and return those that name something absent in this image."""
    if evidence is None:
        return []
    words = find_absent_names(questions_by_name.rows_by_name, evidence, num_trials, rng)
    absent = {kind for word in words for kind in evidence.lexicon.get_hyponym_closure(word) or ()}
    sampled = questions_by_name.sample(absent, image_id, num_trials, rng)
    verified = (
        (question, verify_question(question.program, evidence, question.text)) for question in sampled
    )
    return [
        _make_gold_question(question, "invalid", "foreign question", result.detail)
        for question, result in verified
        if result.category == "missing object"
    ]


def match_text_style(rows: Iterable[GoldQuestion], texts: Iterable[str]) -> list[GoldQuestion]:
    """Write template questions in the style of the texts with which they may be shown.

    Each takes the letter case of one of these texts, chosen by a hash of its own text, and loses its question mark if that text has none.
    """
    examples = sorted(set(texts))
    return [replace(row, text=_restyle_like(row.text, examples)) for row in rows]


def _restyle_like(text: str, examples: Sequence[str]) -> str:
    example = examples[int(hash_uniform("template", text) * len(examples))] if examples else text
    styled = apply_case_style(text, detect_case_style(example))
    return styled if "?" in example else styled.rstrip("?")


def make_all_template_questions(
    vocabulary: Vocabulary, evidence: Evidence | None, rng: np.random.Generator
) -> list[GoldQuestion]:
    """Make the paper's template questions: all about the scene, some about existence, and up to as many about absent objects."""
    questions = [make_template_question(text, "valid", *steps) for text, steps in SCENE_TEMPLATES.items()]
    names = sorted(vocabulary.objects)
    if not names:
        return questions
    number = {name: entry.number for name, entry in vocabulary.objects.items()}
    sampled = [names[i] for i in rng.permutation(len(names))[:MAX_TEMPLATES_PER_KIND]]
    questions += [make_existence_question(name, number[name]) for name in sampled]
    absent = find_absent_names(names, evidence, 4 * MAX_TEMPLATES_PER_KIND, rng)
    present = sorted({known.label for known in evidence.objects if known.label}) if evidence else []
    for i in rng.permutation(len(absent))[:MAX_TEMPLATES_PER_KIND]:
        other, relation = str(rng.choice(present or names)), str(rng.choice(TEMPLATE_RELATIONS))
        row = make_absent_object_question(absent[i], number.get(absent[i], "singular"), relation, other)
        result = verify_question(row.program, evidence, row.text)
        if result.answerability == "unanswerable":
            questions.append(replace(row, explanation=result.detail))
    return questions


def _make_gold_question(
    row: Question | Candidate, expected: KnownVerdict, source: GoldSource, explanation: str = ""
) -> GoldQuestion:
    return GoldQuestion(
        text=row.text,
        expected_choice=expected,
        source=source,
        explanation=explanation,
        program=row.program,
        question_id=row.question_id,
        candidate_id=row.candidate_id if isinstance(row, Candidate) else None,
        subset=row.subset if isinstance(row, Candidate) else None,
    )
