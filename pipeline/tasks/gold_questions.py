"""Build gold questions: questions whose correct choice is known. They check whether an annotator pays
attention.

The templates of RGQA (Zhang et al., appendix D) are easy to recognize. An annotator who recognizes them knows
which of the two questions of a task is the control. So most gold questions here resemble the candidates, and
only a small proportion is made from templates.

The valid gold questions of an image are its own questions, candidates that annotators found answerable in
earlier rounds, and templates. The invalid gold questions are questions about an object that the evidence
shows to be absent, and candidates that annotators found unanswerable in earlier rounds. If only plain
questions are known of an image, `absent_object_questions` writes its invalid gold questions.

Sources that end in ", to be confirmed" (`pipeline.core.records.UNCONFIRMED`) are probably right, but count only
after enough annotators have agreed (`annotation.study.gold_agreement`).
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Literal

import numpy as np
from msgspec import UNSET
from msgspec.structs import replace

from pipeline.core.randomness import hash_uniform
from pipeline.core.records import (
    DRAFTED_AQ,
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
    "template",
    "own question",
    "candidate refuted by evidence",
    "foreign question",
    "edited question",
    "verified candidate",
    "own question, to be confirmed",
    "absent object, to be confirmed",
    "absent object template, to be confirmed",
    "undoubted label, to be confirmed",
]

# Maximum number of existence templates, and of absent-object templates, per image.
MAX_TEMPLATES_PER_KIND = 3
TEMPLATE_RELATIONS = ("next to", "around", "under", "on", "above")
# Questions that can be answered for every photograph, with their programs.
SCENE_TEMPLATES = {
    "Is this indoor or outdoor?": (("select", "scene"), ("choose location", "indoors|outdoors")),
    # This question has no program, because it is about the photograph and not about the scene.
    "Is this a color image?": (),
    "What place is this?": (("select", "scene"), ("query", "place")),
}
# Status of a verified candidate -> correct choice.
VERDICT_BY_STATUS: dict[str, KnownVerdict] = {"unanswerable": "invalid", "answerable": "valid"}


class GoldQuestion(Record):
    """A gold question for one image.

    Attributes:
        text: The text of the question.
        expected_choice: The correct choice.
        source: Where the question comes from.
        explanation: Why this choice is correct, in words.
        program: The program of the question, or () if it has none.
        question_id: The id of the source question, or None if the question is made from a template.
        candidate_id: The id of the candidate that is used as gold question, or None.
        subset: The subset of that candidate, or None.
    """

    text: str
    expected_choice: KnownVerdict
    source: GoldSource
    explanation: str = ""
    program: tuple[Step, ...] = ()
    question_id: str | None = None
    candidate_id: str | None = None
    subset: Subset | None = None

    @property
    def is_template(self) -> bool:
        """Whether the question follows one of RGQA's templates."""
        return "template" in self.source


def make_template_question(text: str, expected: KnownVerdict, *steps: tuple[str, str]) -> GoldQuestion:
    """Make a gold question from a template.

    Args:
        text: The text of the question.
        expected: The correct choice.
        steps: The operation and the argument of each step of the program. The input of each step is the
            previous step.
    """
    program = tuple(
        Step(operation=operation, argument=argument, dependencies=(index - 1,) if index else ())
        for index, (operation, argument) in enumerate(steps)
    )
    return GoldQuestion(text=text, expected_choice=expected, source="template", program=program)


def make_existence_question(name: str, grammatical_number: str) -> GoldQuestion:
    """Make a question such as `Is there a cup?`, `Are there jeans?` or `Is there grass?`.

    An existence question is always valid, because the answer may be "no".
    """
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
    """Collect the gold questions about one image that are not made from templates.

    Args:
        own_questions: The image's own questions. Existence questions are skipped, because they are never
            candidates and annotators would recognize them at once. Those that a model drafted are skipped if annotators judged them in
            an earlier round: that verdict counts.
        candidates: The image's candidates. Candidates that name an absent object can serve as gold questions
            of other tasks.
        earlier_verified: The image's candidates on which annotators agreed in an earlier round.
    """
    refuted = (row for row in candidates if row.verifier_result.category == "missing object")
    agreed = [row for row in earlier_verified if row.status in VERDICT_BY_STATUS]
    judged_drafts = {row.candidate.text for row in agreed if row.candidate.subset == DRAFTED_AQ}
    return [
        *(
            make_gold_question(
                question,
                "valid",
                "own question" if has_source_program(question) else "own question, to be confirmed",
                question.answer,
            )
            for question in own_questions
            if not is_existence_question(question) and question.text not in judged_drafts
        ),
        *(
            make_gold_question(
                row.candidate, "invalid", "candidate refuted by evidence", row.verifier_result.detail
            )
            for row in refuted
        ),
        *(
            make_gold_question(row.candidate, VERDICT_BY_STATUS[row.status], "verified candidate")
            for row in agreed
        ),
    ]


def select_reworded(own_questions: Sequence[Question]) -> Sequence[Question]:
    """Return the questions that have another wording than the source; all questions if there is none.

    A question in the wording of a public source can be looked up. If the source has it for the image, it is no
    candidate.
    """
    return [question for question in own_questions if question.source_text] or own_questions


def has_source_program(question: Question) -> bool:
    """Return whether the source gives the question's program, so that the question can be checked.

    A question that a model drafted may be wrong, with or without a program.
    """
    return bool(question.program) and not question.program_from_text and question.drafted_by is UNSET


class QuestionsByName:
    """An index of questions by the object names in their programs. Existence questions are left out.

    The index keeps only the ids of the questions. Sampled questions are read again.

    Attributes:
        rows_by_name: Singular name -> ascending indices of the questions that mention the name, in the list
            of questions sorted by id.

    Args:
        questions: Question id -> question.
        image_ids: The ids of the images whose questions are used.
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
        self.rows_by_name = {name: np.frombuffer(rows, np.uint32) for name, rows in positions.items()}
        self._rows_by_image = own

    def sample(
        self, names: Iterable[str], excluded_image_id: str, max_questions: int, rng: np.random.Generator
    ) -> list[Question]:
        """Sample at most `max_questions` questions that mention one of the names.

        Args:
            names: Singular names of objects.
            excluded_image_id: The id of an image whose questions are not sampled.
            max_questions: The maximum number of questions.
            rng: The random generator.
        """
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
    """Return names of objects that the image does not show.

    These are the names that questions state to be absent. If the completeness of the graph can be estimated,
    up to `num_trials` random names are tried in addition. A tried name is added if the graph does not list it
    and the image almost certainly shows no such object.

    Args:
        names: The names to choose from.
        evidence: The evidence about the image. Without evidence (None) the result is empty.
        num_trials: The number of random names to try.
        rng: The random generator.
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
    """Sample questions of other images that name an object that is absent in this image.

    Args:
        image_id: The id of this image.
        questions_by_name: The questions of all images.
        evidence: The evidence about this image. Without evidence (None) the result is empty.
        num_trials: The number of random names to try (see `find_absent_names`), and also the number of
            questions to sample. Sampled questions are returned only if the verifier finds that an object is
            missing.
        rng: The random generator.
    """
    if evidence is None:
        return []
    absent_names = find_absent_names(questions_by_name.rows_by_name, evidence, num_trials, rng)
    absent_hyponyms = {
        hyponym for name in absent_names for hyponym in evidence.lexicon.get_hyponym_closure(name) or ()
    }
    sampled = questions_by_name.sample(absent_hyponyms, image_id, num_trials, rng)
    verified = (
        (question, verify_question(question.program, evidence, question.text)) for question in sampled
    )
    return [
        make_gold_question(question, "invalid", "foreign question", result.detail)
        for question, result in verified
        if result.category == "missing object"
    ]


def match_text_style(rows: Iterable[GoldQuestion], texts: Iterable[str]) -> list[GoldQuestion]:
    """Write template questions in the style of the candidates next to which they may be shown.

    Each template question takes the letter case of one of the candidates' texts, and its question mark is
    removed if that text has none. Which text is imitated depends on a hash of the template question.

    Args:
        rows: The template questions.
        texts: The texts of the candidates.
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
    """Make the template questions of RGQA for one image.

    These are all questions of `SCENE_TEMPLATES`, and up to `MAX_TEMPLATES_PER_KIND` questions each about the
    existence of an object and about an absent object.

    Args:
        vocabulary: The vocabulary of the data set.
        evidence: The evidence about the image. Without evidence (None) no absent object is known.
        rng: The random generator.
    """
    questions = [make_template_question(text, "valid", *steps) for text, steps in SCENE_TEMPLATES.items()]
    names = sorted(vocabulary.objects)
    if not names:
        return questions
    grammatical_numbers = {name: entry.number for name, entry in vocabulary.objects.items()}
    sampled = [names[i] for i in rng.permutation(len(names))[:MAX_TEMPLATES_PER_KIND]]
    questions += [make_existence_question(name, grammatical_numbers[name]) for name in sampled]
    absent = find_absent_names(names, evidence, 4 * MAX_TEMPLATES_PER_KIND, rng)
    present = sorted({known.label for known in evidence.objects if known.label}) if evidence else []
    for i in rng.permutation(len(absent))[:MAX_TEMPLATES_PER_KIND]:
        other, relation = str(rng.choice(present or names)), str(rng.choice(TEMPLATE_RELATIONS))
        grammatical_number = grammatical_numbers.get(absent[i], "singular")
        question = make_absent_object_question(absent[i], grammatical_number, relation, other)
        result = verify_question(question.program, evidence, question.text)
        if result.answerability == "unanswerable":
            questions.append(replace(question, explanation=result.detail))
    return questions


def make_gold_question(
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
