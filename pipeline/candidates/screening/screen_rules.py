"""All rules by which candidates are dropped, in the order in which they are tried: the first one broken is the reason.

A new rule is a function of a case, in `screen_faults`, and a row here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from pipeline.candidates.screening import screen_checks as faults
from pipeline.candidates.screening.screen_checks import Fault, ScreenCase, plain
from pipeline.core.jsonl_index import Joined
from pipeline.core.records import Candidate, Dropped, Question, Screened, Subset, Vocabulary
from pipeline.verifier.evidence import Facts
from pipeline.verifier.verification import judge

WITHOUT_EFFECT = "edited without effect"
SAME_CHOICE = "offers the same choice twice"
GIVES_AWAY = "gives its answer away"
BADLY_SAID = "badly said, as its source is"
ALREADY_ASKED = "already asked of this picture"
ALWAYS_ANSWERABLE = "always answerable"
BY_EVIDENCE = "answerable by evidence"
TWIN = "same text as another candidate of this picture"


class ScreenRule(NamedTuple):
    """A reason to drop a candidate.

    Attributes:
        fault: tells what is wrong with a case, if anything.
        of_picture: it claims that the picture has an answer, so the truth can tell whether it is right.
        paper: it is part of RGQA's conflict filter (section 3.1).
    """

    reason: str
    fault: Callable[[ScreenCase], Fault]
    of_picture: bool = False
    paper: bool = False


RULES = (
    ScreenRule(WITHOUT_EFFECT, faults.edited_without_effect, of_picture=True),
    ScreenRule(SAME_CHOICE, faults.same_choice, paper=True),
    ScreenRule(GIVES_AWAY, faults.asked_look_is_named, paper=True),
    ScreenRule(GIVES_AWAY, faults.asked_name_is_put_in),
    ScreenRule(GIVES_AWAY, faults.there_and_back, paper=True),
    ScreenRule(GIVES_AWAY, faults.asked_look_is_said, paper=True),
    ScreenRule(BADLY_SAID, faults.slip_of_grammar),
    ScreenRule(ALREADY_ASKED, faults.asked_already, of_picture=True),
    ScreenRule(ALWAYS_ANSWERABLE, faults.answerable_anywhere, of_picture=True),
    ScreenRule(BY_EVIDENCE, faults.answerable_by_evidence, of_picture=True),
    ScreenRule(TWIN, faults.proposed_before),
)
PAPER_RULES = tuple(rule for rule in RULES if rule.paper)
HELD_ANSWERABLE = frozenset(rule.reason for rule in RULES if rule.of_picture)


class ScreenInputs(NamedTuple):
    """What candidates are screened with: picture id -> its candidates, its own questions, the evidence about it."""

    candidates: Mapping[str, Sequence[Candidate]]
    questions: Mapping[str, Sequence[Question]]
    facts: Callable[[str], Facts | None]
    vocabulary: Vocabulary


def reason_to_drop(case: ScreenCase, rules: Iterable[ScreenRule] = RULES) -> tuple[str, str] | None:
    """The reason of the first rule that a case breaks, with what is wrong ("" where that says no more); None to
    keep it."""
    for rule in rules:
        if fault := rule.fault(case):
            return rule.reason, fault if isinstance(fault, str) else ""
    return None


def screen_picture(inputs: ScreenInputs, picture_id: str) -> list[Screened | Dropped]:
    """Screen the candidates of one picture, in the order of their ids. Of two with one text the first stays."""
    facts = inputs.facts(picture_id)
    asked_of_it = ((question.question_id, question) for question in inputs.questions.get(picture_id, ()))
    own = Joined(f"the questions of picture {picture_id} (stage ingest)", asked_of_it)
    asked = {plain(text) for question in own.values() for text in (question.text, question.source_text)}
    kept: dict[Subset, set[str]] = defaultdict(set)
    rows: list[Screened | Dropped] = []
    for candidate in sorted(inputs.candidates.get(picture_id, ()), key=lambda row: row.candidate_id):
        judgement = judge(candidate.program, facts, candidate.text)
        source = own[candidate.question_id] if candidate.edits else None
        case = ScreenCase(candidate, inputs.vocabulary, source, judgement, asked, kept[candidate.subset])
        reason = reason_to_drop(case)
        if reason is None:
            kept[candidate.subset].add(plain(candidate.text))
            rows.append(Screened(candidate=candidate, judgement=judgement))
            continue
        rows.append(candidate.dropped("screen", *reason))
    return rows


def pass_conflict_filter(candidates: Iterable[Candidate], vocabulary: Vocabulary) -> list[Candidate]:
    """The candidates without those that RGQA's conflict filter removes (section 3.1)."""
    return [row for row in candidates if not reason_to_drop(ScreenCase(row, vocabulary), PAPER_RULES)]
