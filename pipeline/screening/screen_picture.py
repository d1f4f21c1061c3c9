"""Screen the candidates of a picture, or, as the paper does, each by itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipeline.core.records import Candidate, Dropped, Question, Screened, Subset, Vocabulary
from pipeline.judge.facts import Facts
from pipeline.judge.judgement import judge
from pipeline.screening.has_an_answer import plain
from pipeline.screening.screen_case import ScreenCase
from pipeline.screening.screen_rules import RULES, reason_to_drop

PAPER_RULES = tuple(rule for rule in RULES if rule.paper)


@dataclass(frozen=True, slots=True)
class ScreenInputs:
    """What candidates are screened with: picture id -> its candidates, its own questions, the evidence about it."""

    candidates: Mapping[str, Sequence[Candidate]]
    questions: Mapping[str, Sequence[Question]]
    facts: Callable[[str], Facts | None]
    vocabulary: Vocabulary


def screen_picture(inputs: ScreenInputs, picture_id: str) -> list[Screened | Dropped]:
    """Screen the candidates of one picture, in the order of their ids. Of two with one text the first stays."""
    facts = inputs.facts(picture_id)
    own = {question.question_id: question for question in inputs.questions.get(picture_id, ())}
    asked = {plain(question.text) for question in own.values()}
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
        dropped = Dropped(
            candidate_id=candidate.candidate_id,
            subset=candidate.subset,
            picture_id=picture_id,
            question_id=candidate.question_id,
            text=candidate.text,
            stage="screen",
            reason=reason[0],
            detail=reason[1],
        )
        rows.append(dropped)
    return rows


def pass_conflict_filter(candidates: Iterable[Candidate], vocabulary: Vocabulary) -> list[Candidate]:
    """The candidates without those that RGQA's conflict filter removes (section 3.1)."""
    return [row for row in candidates if not reason_to_drop(ScreenCase(row, vocabulary), PAPER_RULES)]
