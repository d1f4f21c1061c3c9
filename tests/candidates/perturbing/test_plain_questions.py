"""What may be edited in questions of a plain table, whose programs are derived from their texts, with the default vocabulary."""

from __future__ import annotations

import pytest

from pipeline.candidates.perturbing.image_mentions import collect_mentions
from pipeline.candidates.perturbing.replacements import PerturbParams
from pipeline.core.records import Question, Vocabulary
from pipeline.language.letter_case import to_sentence_case
from pipeline.language.tagger import Tagger
from pipeline.language.text_programs import add_programs
from pipeline.language.word_classification import WordClassifier
from pipeline.verifier.vocabulary import add_default_vocabulary
from tests.candidates.perturbing.in_memory import NO_WORDS, perturb

SEEDS = range(8)


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return Tagger()


@pytest.fixture(scope="module")
def words() -> Vocabulary:
    return add_default_vocabulary(NO_WORDS, 1.0)


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


def test_positions_stay_where_the_image_may_show_another_such_object(tagger, words):
    asked = "What color is the car on the left?"
    edits = make_edits(tagger, words, (asked, "red"), ("Is the nearest car big?", "yes"), subset="pt-hard")
    assert not edits[asked]


def test_positions_of_the_only_object_of_a_name_are_edited(tagger, words):
    asked = "What color is the rocket on the left?"
    edits = make_edits(
        tagger, words, (asked, "red"), ("What is behind the rocket?", "tower"), subset="pt-hard"
    )
    assert edits[asked] <= {
        "What color is the rocket on the right?",
        "What color is the rocket in the middle?",
    }
    assert edits[asked]


def test_no_attribute_is_inserted_that_a_text_mentions_beside_the_object(tagger, words):
    asked = "What is written on the vest of the golden dog?"
    other = "Which of the two dogs is larger, the brown one or the white one?"
    edits = make_edits(tagger, words, (asked, "rescue"), (other, "white"), subset="pt-hard")
    colors = {text.split()[-2] for text in edits[asked]}  # black, gray, ...
    assert colors and colors.isdisjoint({"brown", "white", "golden"})


def test_sizes_stay_because_people_disagree_on_them(tagger, words):
    asked = "What drink is in the small cup?"
    assert not make_edits(tagger, words, (asked, "coffee"), subset="pt-hard")[asked]


def test_no_object_is_inserted_that_an_answer_mentions(tagger, words):
    asked = "What color is the cup on the table?"
    answers = [("Where is the small spoon?", f"on the {name}") for name in ("saucer", "plate")]
    edits = make_edits(tagger, words, (asked, "white"), *answers, subset="pt-easy")
    assert edits[asked] and not [text for text in edits[asked] if "saucer" in text or "plate" in text]


def test_the_owner_is_replaced_and_not_its_part(tagger, words):
    asked = "What color is the nose of the golden dog?"
    edits = make_edits(tagger, words, (asked, "black"), subset="pt-easy")
    assert edits[asked] and all(
        text.startswith("What color is the nose of the golden ") for text in edits[asked]
    )


def test_objects_are_replaced_by_objects_of_their_kind(tagger, words):
    asked = "What color is the dog behind the tree?"
    edits = make_edits(tagger, words, (asked, "black"), subset="pt-easy")
    animals = {
        "cat",
        "cow",
        "horse",
        "bird",
        "bear",
        "sheep",
        "elephant",
        "zebra",
        "giraffe",
        "lion",
        "duck",
        "monkey",
    }
    inserted = {text.split()[4] for text in edits[asked]} - {"dog"}
    assert inserted and len(inserted & animals) >= 0.5 * len(inserted)
    assert inserted.isdisjoint({"cup", "car", "shirt", "table"})


@pytest.mark.parametrize(
    "asked",
    [
        "Is there a cup on the table?",
        "What color are the shirts of the group of three?",
        "What color is the sky?",
        "What color is the traffic light in the distance showing?",
    ],
)
def test_some_objects_have_no_other_word(tagger, words, asked):
    assert not make_edits(tagger, words, (asked, "red"), subset="pt-easy")[asked]


def test_mentions_come_from_plain_questions_only():
    def ask(**fields):
        return Question(
            question_id="1", image_id="1", split="testdev", text="Is it?", answer="a Cup's", **fields
        )

    assert collect_mentions([ask(program_from_text=True)]).texts == (("is", "it", "a", "cup", "s"),)
    assert collect_mentions([ask()]).texts == ()
