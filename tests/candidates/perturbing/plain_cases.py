"""Edit plain questions in memory, with the default vocabulary."""

from __future__ import annotations

from pipeline.candidates.perturbing.replacements import PerturbParams
from pipeline.core.records import Question
from pipeline.language.letter_case import to_sentence_case
from pipeline.language.text_programs import add_programs
from pipeline.language.word_classification import WordClassifier
from tests.candidates.perturbing.in_memory import perturb

SEEDS = range(8)


def make_edits(tagger, words, *rows, subset):
    """Question -> the edited texts over all seeds, for one image with these questions and answers."""
    questions = list(
        add_programs(
            Question(
                question_id=f"q{index}",
                image_id="1",
                split="testdev",
                text=to_sentence_case(text),
                answer=answer,
            )
            for index, (text, answer) in enumerate(rows)
        )
    )
    texts = [question.text for question in questions]
    classifier = WordClassifier(words)
    tags = {
        text: classifier.classify(text, tokens) for text, tokens in zip(texts, tagger.tag(texts), strict=True)
    }
    edits: dict[str, set[str]] = {text: set() for text, _ in rows}
    for seed in SEEDS:
        candidates, _ = perturb(
            questions, tags, words, PerturbParams(seed=seed), max_query_only_proportion=0.01
        )
        for row in candidates:
            if row.subset == subset:
                edits[rows[int(row.question_id[1:])][0]].add(row.text)
    return edits


def edit_one(tagger, words, asked, *others, subset="pt-easy"):
    """The edited texts of a question over all seeds, with the answer "x". Other questions are of the same image."""
    return make_edits(tagger, words, (asked, "x"), *((text, "x") for text in others), subset=subset)[asked]
