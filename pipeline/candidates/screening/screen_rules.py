"""All rules by which candidates are dropped, in the order in which they are tried: the first one broken is the reason.

A new rule is a function of a case, in `screen_faults`, and a row here.
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
        fault: tells what is wrong with a case, if anything.
        of_image: it claims that the image has an answer, so the truth can tell whether it is right.
        paper: it is part of RGQA's conflict filter (section 3.1).
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
    """What candidates are screened with: image id -> its candidates, its own questions, the evidence about it."""

    candidates: Mapping[str, Sequence[Candidate]]
    questions: Mapping[str, Sequence[Question]]
    get_evidence: Callable[[str], Evidence | None]
    vocabulary: Vocabulary


def find_drop_reason(case: ScreenCase, rules: Iterable[ScreenRule] = RULES) -> tuple[str, str] | None:
    """The reason of the first rule that a case breaks, with what is wrong ("" where that says no more); None to
    keep it."""
    for rule in rules:
        if fault := rule.find_fault(case):
            return rule.reason, fault if isinstance(fault, str) else ""
    return None


def screen_image(inputs: ScreenInputs, image_id: str) -> list[ScreenedCandidate | DroppedCandidate]:
    """Screen the candidates of one image, in the order of their ids. Of two with one text the first stays."""
    facts = inputs.get_evidence(image_id)
    asked_of_it = ((question.question_id, question) for question in inputs.questions.get(image_id, ()))
    own = RecordLookup(f"the questions of image {image_id} (stage ingest)", asked_of_it)
    asked = {
        normalize_text(text) for question in own.values() for text in (question.text, question.source_text)
    }
    kept: dict[Subset, set[str]] = defaultdict(set)
    rows: list[ScreenedCandidate | DroppedCandidate] = []
    for candidate in sorted(inputs.candidates.get(image_id, ()), key=lambda row: row.candidate_id):
        judgement = verify_question(candidate.program, facts, candidate.text)
        source = own[candidate.question_id] if candidate.edits else None
        case = ScreenCase(candidate, inputs.vocabulary, source, judgement, asked, kept[candidate.subset])
        reason = find_drop_reason(case)
        if reason is None:
            kept[candidate.subset].add(normalize_text(candidate.text))
            rows.append(ScreenedCandidate(candidate=candidate, verifier_result=judgement))
            continue
        rows.append(candidate.as_dropped("screen", *reason))
    return rows


def apply_conflict_filter(candidates: Iterable[Candidate], vocabulary: Vocabulary) -> list[Candidate]:
    """The candidates without those that RGQA's conflict filter removes (section 3.1)."""
    return [row for row in candidates if not find_drop_reason(ScreenCase(row, vocabulary), PAPER_RULES)]
