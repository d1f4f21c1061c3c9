"""List all rules by which candidates are dropped, in the order in which they are tried.

The first rule that applies to a candidate is the reported reason. To add a rule, write a function of a
`ScreenCase` in the module `screen_checks`, and add a row to `RULES`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from pipeline.candidates.screening import screen_checks as faults
from pipeline.candidates.screening.screen_checks import Fault, ScreenCase, normalize_text
from pipeline.core.jsonl_index import RecordLookup
from pipeline.core.records import Candidate, DroppedCandidate, Question, ScreenedCandidate, Subset, Vocabulary
from pipeline.verifier.evidence import Evidence
from pipeline.verifier.verification import verify_question

EDITED_WITHOUT_EFFECT = "edited without effect"
REPEATED_OPTION = "offers the same option twice"
REVEALS_ANSWER = "reveals its answer"
UNGRAMMATICAL = "ungrammatical, like its source"
ALREADY_ASKED = "already asked of this image"
ALWAYS_ANSWERABLE = "always answerable"
ANSWERABLE_BY_EVIDENCE = "answerable by evidence"
DUPLICATE_TEXT = "same text as another candidate of this image"


class ScreenRule(NamedTuple):
    """A reason to drop a candidate.

    Attributes:
        reason: The reason as it is reported.
        find_fault: A function that returns the fault of a case, or a falsy value if there is none.
        claims_answerable: Whether the rule claims that the question is answerable. Such a claim can be
            compared with the truth.
        is_paper_rule: Whether the rule belongs to the conflict filter of RGQA (section 3.1).
    """

    reason: str
    find_fault: Callable[[ScreenCase], Fault]
    claims_answerable: bool = False
    is_paper_rule: bool = False


RULES = (
    ScreenRule(EDITED_WITHOUT_EFFECT, faults.is_unchanged_by_edit, claims_answerable=True),
    ScreenRule(REPEATED_OPTION, faults.find_repeated_option, is_paper_rule=True),
    ScreenRule(REVEALS_ANSWER, faults.find_given_attribute, is_paper_rule=True),
    ScreenRule(REVEALS_ANSWER, faults.find_given_name),
    ScreenRule(REVEALS_ANSWER, faults.find_inverse_relation, is_paper_rule=True),
    ScreenRule(REVEALS_ANSWER, faults.find_given_attribute_in_text, is_paper_rule=True),
    ScreenRule(UNGRAMMATICAL, faults.is_ungrammatical),
    ScreenRule(ALREADY_ASKED, faults.is_already_asked, claims_answerable=True),
    ScreenRule(ALWAYS_ANSWERABLE, faults.is_image_independent, claims_answerable=True),
    ScreenRule(ANSWERABLE_BY_EVIDENCE, faults.is_answerable_by_evidence, claims_answerable=True),
    ScreenRule(DUPLICATE_TEXT, faults.is_duplicate),
)
PAPER_RULES = tuple(rule for rule in RULES if rule.is_paper_rule)
ANSWERABLE_REASONS = frozenset(rule.reason for rule in RULES if rule.claims_answerable)


class ScreenInputs(NamedTuple):
    """The inputs of screening.

    Attributes:
        candidates: Image id -> candidates of the image.
        questions: Image id -> own questions of the image.
        get_evidence: A function that returns the evidence about an image by its id, or None if there is none.
        vocabulary: The vocabulary of the data set.
    """

    candidates: Mapping[str, Sequence[Candidate]]
    questions: Mapping[str, Sequence[Question]]
    get_evidence: Callable[[str], Evidence | None]
    vocabulary: Vocabulary


def find_drop_reason(case: ScreenCase, rules: Iterable[ScreenRule] = RULES) -> tuple[str, str] | None:
    """Return the first reason to drop a case.

    Returns:
        The reason and a description of the fault ("" if the reason is description enough). None if no rule
        applies.
    """
    for rule in rules:
        if fault := rule.find_fault(case):
            return rule.reason, fault if isinstance(fault, str) else ""
    return None


def screen_image(inputs: ScreenInputs, image_id: str) -> list[ScreenedCandidate | DroppedCandidate]:
    """Screen the candidates of one image, in the order of their ids.

    Of several candidates of a subset with the same text, only the first is kept.
    """
    evidence = inputs.get_evidence(image_id)
    own_questions = ((question.question_id, question) for question in inputs.questions.get(image_id, ()))
    own = RecordLookup(f"the questions of image {image_id} (stage ingest)", own_questions)
    own_texts = {
        normalize_text(text) for question in own.values() for text in (question.text, question.source_text)
    }
    kept: dict[Subset, set[str]] = defaultdict(set)
    rows: list[ScreenedCandidate | DroppedCandidate] = []
    for candidate in sorted(inputs.candidates.get(image_id, ()), key=lambda row: row.candidate_id):
        result = verify_question(candidate.program, evidence, candidate.text)
        source = own[candidate.question_id] if candidate.edits else None
        case = ScreenCase(candidate, inputs.vocabulary, source, result, own_texts, kept[candidate.subset])
        reason = find_drop_reason(case)
        if reason is None:
            kept[candidate.subset].add(normalize_text(candidate.text))
            rows.append(ScreenedCandidate(candidate=candidate, verifier_result=result))
            continue
        rows.append(candidate.as_dropped("screen", *reason))
    return rows


def apply_conflict_filter(candidates: Iterable[Candidate], vocabulary: Vocabulary) -> list[Candidate]:
    """Return the candidates that the conflict filter of RGQA (section 3.1) keeps."""
    return [row for row in candidates if not find_drop_reason(ScreenCase(row, vocabulary), PAPER_RULES)]
