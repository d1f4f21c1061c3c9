from collections import Counter

import pytest

from pipeline.candidates.perturbing.edit_kinds import QUERY_ONLY_QUOTA_REACHED, edit_question
from pipeline.candidates.perturbing.replacements import PerturbParams
from pipeline.language.word_classification import WordClassifier
from tests.candidates.perturbing.in_memory import case_of, perturb
from tests.candidates.perturbing.small_vocabulary import made, plain_tags, vocabulary
from tests.notation import question


def test_of_several_objects_those_stay_that_are_rarely_inserted():
    # 200 times a man and a kite, and nobody says "vase" or "hat": so the man, the kite, or both have to give way to
    # them. Evened out, only one of them goes; else both do.
    words = vocabulary("man", "kite", "vase", "hat")
    text, semantic = (
        "Is the man near the kite?",
        "select: kite (1)->relate: man,near,s (2) [0]->verify pose: standing [1]",
    )
    asked = [question(text, semantic, "yes", question_id=f"q{i}") for i in range(200)]

    def edits(balance_words: bool) -> set[int]:
        candidates, _ = perturb(asked, {text: ()}, words, PerturbParams(balance_words=balance_words))
        return {len(c.edits) for c in candidates if c.subset == "pt-easy"}

    assert (edits(True), edits(False)) == ({1}, {2})


def test_the_only_replaceable_object_must_be_replaced():
    # Seen alone "man", which nobody puts in, should stay as often as it can; there is no other category for furniture.
    words = vocabulary("man", "vase", "hat", "chair", kinds={"furniture": ("chair",)})
    text = "Is the furniture near the man?"
    semantic = "select: man (1)->relate: furniture,near,s (2) [0]->verify pose: standing [1]"
    asked = [question(text, semantic, "yes", question_id=f"q{i}") for i in range(20)]
    candidates, _ = perturb(asked, {text: ()}, words, PerturbParams())
    assert [[edit.old for edit in row.edits] for row in candidates if row.subset == "pt-easy"] == [
        ["man"]
    ] * 20


def test_negation_is_added_only_if_there_is_no_other_edit():
    glazed = "select: cup (1)->filter other: glazed [0]->query: material [1]"
    swaps, reason = edit_question("pt-hard", case_of("What is the cup that is glazed made of?", glazed))
    assert ([swap.new for swap in swaps], reason) == (["not(glazed)"], "")
    both = "select: cup (1)->filter other: glazed [0]->filter color: not(red) [1]->query: material [2]"
    swaps, reason = edit_question(
        "pt-hard", case_of("What is the cup that is glazed and is not red made of?", both)
    )
    assert ([swap.new for swap in swaps], reason) == (["red"], "")


def test_a_question_without_objects_has_no_edit():
    assert edit_question("pt-easy", case_of("What place is this?", "select: scene->query: place [0]")) == (
        [],
        "names no object",
    )


WEAK = [  # where what is asked for is gives way only where nothing else can; question, program, edited, weak
    (
        "What is above the cup?",
        "select: cup (1)->relate: _,above,s (2) [0]->query: name [1]",
        "What is below the cup?",
        True,
    ),
    (
        "What is in front of the old cup?",
        "select: cup (1)->filter age: old [0]->relate: _,in front of,s (2) [1]->query: name [2]",
        "What is in front of the young cup?",
        False,
    ),
    (
        "What is above the cup behind the vase?",
        "select: vase (1)->relate: cup,behind,s (2) [0]->relate: _,above,s (3) [1]->query: name [2]",
        "What is above the cup in front of the vase?",
        False,
    ),
    (
        "What is above the cup that is glazed?",
        "select: cup (1)->filter other: glazed [0]->relate: _,above,s (3) [1]->query: name [2]",
        "What is above the cup that is not glazed?",
        False,
    ),
]


@pytest.mark.parametrize("text, semantic, edited, weak", WEAK)
def test_the_queried_location_is_replaced_only_if_nothing_else_can_be(text, semantic, edited, weak):
    row = made("pt-hard", text, semantic, vocabulary("cup", "vase", seen=("above", "in front of", "behind")))
    assert (row.text, row.query_only) == (edited, weak)


def test_query_only_edits_do_not_exceed_their_proportion():
    # 90 questions have other edits, 60 have only query-only ones. 10 of 100 are a tenth. If 10 of 60 are sampled at random, the
    # standard deviation is 2.9.
    made_of = {
        ("What color is the cup above the vase?", "relate: cup,above,s (2) [0]->query: color [1]"): 90,
        ("What is above the vase?", "relate: _,above,s (2) [0]->query: name [1]"): 60,
    }
    asked = [
        question(
            text, f"select: vase (1)->{semantic}", "", question_id=f"q{i} {text}", image_id=f"n{i} {text}"
        )
        for (text, semantic), count in made_of.items()
        for i in range(count)
    ]
    words, tags = vocabulary("cup", "vase", seen=("above",)), {text: () for text, _ in made_of}

    def weak(share):
        rows, dropped = perturb(
            asked, tags, words, PerturbParams(), anything_fits=True, max_query_only_proportion=share
        )
        hard = [row for row in rows if row.subset == "pt-hard"]
        reasons = [row.reason for row in dropped if row.subset == "pt-hard"]
        assert len(hard) + reasons.count(QUERY_ONLY_QUOTA_REACHED) == 150
        return sum(row.query_only for row in hard)

    assert (weak(0.0), weak(1.0)) == (0, 60)
    assert abs(weak(0.1) - 10) < 9


def test_a_question_with_only_a_query_only_edit_reports_that_the_quota_is_reached():
    text, semantic = (
        "What kind of food is not red?",
        "select: food (1)->filter color: not(red) [0]->query: name [1]",
    )
    asked, words = [question(text, semantic)], vocabulary("cup")
    _, dropped = perturb(asked, {text: ()}, words, PerturbParams(), max_query_only_proportion=0.0)
    assert [row.reason for row in dropped if row.subset == "pt-hard"] == [QUERY_ONLY_QUOTA_REACHED]
    (row,) = [row for row in perturb(asked, {text: ()}, words, PerturbParams())[0] if row.subset == "pt-hard"]
    assert (row.text, row.query_only) == ("What kind of food is red?", True)


def candidates_of(count_of, words, subset):
    """The candidates of a subset from so many questions of each (text, program), tagged by their words."""
    asked = [
        question(text, semantic, "", question_id=f"q{i} {text}", image_id=f"n{i} {text}")
        for (text, semantic), count in count_of.items()
        for i in range(count)
    ]
    classes = WordClassifier(words)
    tags = {text: classes.classify(text, plain_tags(text)) for text, _ in count_of}
    candidates, _ = perturb(asked, tags, words, PerturbParams(), anything_fits=True)
    return [row for row in candidates if row.subset == subset]


def test_not_is_put_in_as_often_as_it_is_taken_out():
    # 60 "not" go, so 60 of 300 others come: a standard deviation of 7.
    count_of = {
        ("What is the cup that is not red on?", "select: cup (1)->filter color: not(red) [0]->relate: _,on,o (2) [1]->query: name [2]"): 60,
        ("What is the cup that is red on?", "select: cup (1)->filter color: red [0]->relate: _,on,o (2) [1]->query: name [2]"): 300,
    }  # fmt: skip
    made = candidates_of(count_of, vocabulary("cup", "table", looks=("red", "blue")), "pt-hard")
    texts = Counter(row.text for row in made)
    assert texts["What is the cup that is red on?"] == 60
    assert 30 < texts["What is the cup that is not red on?"] < 90
    assert texts.total() == 360 and all("not blue" not in text for text in texts)


def test_who_is_inserted_and_removed_and_categories_use_the_phrases_of_the_source():
    # All 60 "who" become "which kind of animal", in the source's form. By its weight alone, a tenth, "who" would take the place
    # of 200 / 11 = 18 of 200 animals; as 60 are taken out, more are put in.
    count_of = {
        ("Who is standing?", "select: person (1)->filter pose: standing [0]->query: name [1]"): 60,
        ("Which kind of animal is standing?", "select: animal (1)->filter pose: standing [0]->query: name [1]"): 200,
    }  # fmt: skip
    kinds = {"animal": ("zebra", "giraffe"), "person": ("man",), "furniture": ("chair", "table")}
    made = candidates_of(
        count_of, vocabulary(*(name for of in kinds.values() for name in of), kinds=kinds), "pt-easy"
    )
    first = Counter(row.text.removesuffix(" is standing?") for row in made)
    assert first["Which kind of animal"] == 60 and 18 < first["Who"] <= 60
    assert first["Which kind of furniture"] == 200 - first["Who"]


def test_a_question_that_says_nothing_else_about_an_animal_never_becomes_who():
    count_of = {
        ("Who is standing?", "select: person (1)->filter pose: standing [0]->query: name [1]"): 40,
        ("What animal is it?", "select: animal (1)->query: name [0]"): 40,
    }
    kinds = {"animal": ("zebra", "giraffe"), "furniture": ("chair",), "person": ("man",)}
    made = candidates_of(count_of, vocabulary("chair", "zebra", "giraffe", "man", kinds=kinds), "pt-easy")
    assert any("furniture is it?" in row.text for row in made)
    assert not any(row.text == "Who is it?" for row in made)


def test_the_middle_is_entered_as_often_as_it_is_left():
    # 60 leave it, so 60 of 300 from the left enter it: a standard deviation of 7.
    count_of = {
        (f"What color is the cup in the {zone} of the photo?", f"select: cup (1)->filter vposition: {zone} [0]->query: color [1]"): count
        for zone, count in (("middle", 60), ("top", 300))
    }  # fmt: skip
    texts = Counter(row.text for row in candidates_of(count_of, vocabulary("cup"), "pt-hard"))
    assert texts.total() == 360 and 30 < texts["What color is the cup in the middle of the photo?"] < 90
    assert texts["What color is the cup in the bottom of the photo?"] > 200
