"""Measure how well programs derived from the text agree with the programs of a source: `rgqa study
derived-programs`.

Each question of a source with functional programs is read twice: with its own program, and with the program
that is derived from its text alone. The presuppositions of both programs are matched by their position in the
text. The precision is the proportion of the presuppositions derived from the text that are also derived from
the question's own program. The recall is the reverse. For both, words are tagged with the default vocabulary, as
a data set without scene graphs does. Its types and categories were counted in questions of GQA's val and
testdev, so figures on these are slightly too good.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from pipeline.core.errors import Problems, UserError
from pipeline.core.progress import track
from pipeline.core.records import Question, Split, Word
from pipeline.core.rendering import format_markdown_table
from pipeline.language.alignment import align_program
from pipeline.language.functional_programs import parse_program
from pipeline.language.letter_case import to_sentence_case
from pipeline.language.presuppositions import Presuppositions, find_presuppositions
from pipeline.language.tagger import Tagger
from pipeline.language.text_programs import derive_program
from pipeline.language.word_classification import WordClassifier, tag_texts
from pipeline.sources.gqa_files import read_questions
from pipeline.verifier.vocabulary import load_default_vocabulary

KINDS = ("object", "attribute", "relation")


def measure_derived_programs(source: Path, split: Split) -> str:
    """Return a table of the agreement.

    Args:
        source: the source folder, with GQA's question files.
        split: the split of the questions.

    Raises:
        UserError: the files are missing or malformed, or no question has a program.
    """
    problems = Problems(str(source))
    questions = [question for question in read_questions(source, (split,), problems) if question.program]
    problems.raise_if_any()
    if not questions:
        raise UserError(f"{source}: no question of {split} has a program")
    tagger = Tagger()
    words = {
        row.text: row.words
        for row in tag_texts(
            (question.text for question in questions), WordClassifier(load_default_vocabulary()), tagger
        )
    }
    tags = tagger.tag(to_sentence_case(question.text) for question in questions)
    counts: Counter[tuple[str, str]] = Counter()
    for question, tokens in zip(track(questions, "derived-programs", unit="question"), tags, strict=True):
        expected = _read(question, words[question.text])
        steps = derive_program(to_sentence_case(question.text), tokens, question.answer)
        derived = msgspec.structs.replace(question, program=steps, annotations={})
        found = _read(derived, words[question.text])
        for kind in KINDS:
            one, other = _find_places(expected, kind), _find_places(found, kind)
            counts[kind, "both"] += len(one & other)
            counts[kind, "program"] += len(one)
            counts[kind, "text"] += len(other)
    header = ("presupposed", "by the program", "by the text", "precision", "recall")
    rows = [
        (
            kind,
            f"{counts[kind, 'program']:,}",
            f"{counts[kind, 'text']:,}",
            _format_rate(counts[kind, "both"], counts[kind, "text"]),
            _format_rate(counts[kind, "both"], counts[kind, "program"]),
        )
        for kind in KINDS
    ]
    return f"{len(questions):,} questions of {split}\n\n{format_markdown_table([header, *rows], 1)}"


def _read(question: Question, words: Sequence[Word]) -> Presuppositions:
    program = parse_program(question.program, question.question_id) if question.program else ()
    return find_presuppositions(program, align_program(question.text, program, question.annotations, words))


def _find_places(found: Presuppositions, kind: str) -> set[int]:
    """Return the tokens of the presuppositions of a kind: the last token of an object, the first token of an attribute or relation."""
    rows = {"object": found.objects, "attribute": found.attributes, "relation": found.relations}[kind]
    return {row.span.end_token if kind == "object" else row.span.first_token for row in rows}


def _format_rate(count: int, total: int) -> str:
    return f"{count / total:.3f}" if total else "-"
