"""Kinds of edits, their slots, their text, and the edits of one image."""

import dataclasses
from collections import Counter

import pytest

from pipeline.candidates.perturbing.edit_kinds import QUERY_ONLY_QUOTA_REACHED, edit_question
from pipeline.candidates.perturbing.replacements import PerturbParams
from pipeline.language.word_classification import WordClassifier
from tests.candidates.perturbing.in_memory import case_of, perturb
from tests.candidates.perturbing.small_vocabulary import made, plain_tags, vocabulary
from tests.notation import question, scene, steps

# Edit kinds


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


# Edit slots


def test_one_word_is_replaced_once_even_if_two_steps_name_it():
    words = vocabulary("kite", "vase")
    row = made(
        "pt-easy",
        "Is the person in front or behind the fence?",
        "select: person (2)->choose rel: person,in front of|behind,s (2) [0]",
        words,
        "front",
        {"2": "2"},
    )
    assert len(row.edits) == 1


def test_the_whole_compound_goes():
    """ "Laptop computer": with half of it kept, it would be a "kite computer"."""
    tags = ((0, 2, "VBZ"), (3, 6, "DT"), (7, 10, "NN"), (11, 19, "NN"), (20, 23, "JJ"))
    words = vocabulary("cup", "kite")
    row = made(
        "pt-easy", "Is the cup computer red?", "select: cup (1)->verify color: red [0]", words, tags=tags
    )
    assert row.text == "Is the kite red?"


def test_a_verb_that_the_tagger_takes_for_a_noun_ends_no_compound():
    tags = ((0, 4, "VBZ"), (5, 8, "DT"), (9, 12, "NN"), (13, 17, "NN"), (18, 21, "JJ"))
    row = made(
        "pt-easy",
        "Does the cup look red?",
        "select: cup (1)->verify color: red [0]",
        vocabulary("cup", "kite"),
        tags=tags,
    )
    assert row.text == "Does the kite look red?"


def test_an_object_with_unparsed_modifiers_is_not_replaced():
    tags = ((0, 4, "WDT"), (5, 10, "NN"), (11, 13, "VBZ"), (14, 17, "DT"), (18, 21, "NN"))
    juggles = (*tags, (22, 26, "WDT"), (27, 34, "VBZ"))
    words, semantic = vocabulary("cup", "kite"), "select: cup (1)->query: color [0]"
    assert (
        made("pt-easy", "What color is the cup?", semantic, words, tags=tags).text
        == "What color is the kite?"
    )
    row = made("pt-easy", "What color is the cup that juggles?", semantic, words, tags=juggles)
    assert row.reason == "no other object makes sense there"


def test_an_edit_does_not_change_the_case_of_the_next_one():
    case = case_of("What color is the cup?", "select: cup (1)->query: color [0]")
    with pytest.raises(dataclasses.FrozenInstanceError):
        case.program = ()


def test_the_reason_why_no_relation_is_replaced_is_reported():
    # Nothing of a cup and a vase was ever seen, and there is no other thing.
    text = "What color is the cup above the vase?"
    asked = question(text, "select: vase (1)->relate: cup,above,s (2) [0]->query: color [1]", "red")
    _, dropped = perturb([asked], {text: ()}, vocabulary("cup", "vase", seen=()), PerturbParams())
    assert {row.subset: row.reason for row in dropped} == {
        "pt-easy": "no other object fits",
        "pt-hard": "no other relation fits",
    }


# Perturb image


def test_edits_are_spans_of_the_source_text_and_agreement_is_not_among_them():
    row = made(
        "pt-easy", "What color is the cup?", "select: cup (1)->query: color [0]", vocabulary("scissors")
    )
    assert row.text == "What color are the scissors?"
    assert [(e.start, e.end, e.old, e.new) for e in row.edits] == [(18, 21, "cup", "scissors")]


def test_the_same_seed_gives_the_same_edits_whatever_else_is_asked_and_another_seed_gives_others():
    words = vocabulary("kite", "vase", "ball", "drum", "igloo", "lemon")
    asked = [
        question("What color is the cup?", "select: cup (1)->query: color [0]", "red", question_id=f"q{i}")
        for i in range(30)
    ]
    tags = {asked[0].text: ()}

    def texts(questions, seed=1):
        return [c.text for c in perturb(questions, tags, words, PerturbParams(seed=seed))[0]]

    assert texts(asked) == texts(asked[::-1])
    assert texts(asked[:5]) == [
        c.text
        for c in perturb(asked, tags, words, PerturbParams())[0]
        if c.question_id in {q.question_id for q in asked[:5]}
    ]
    assert texts(asked) != texts(asked, seed=2)


def test_what_a_scene_graph_lists_is_not_put_in():
    words, semantic = vocabulary("kite", "vase", "drum"), "select: cup (1)->query: color [0]"
    asked = [question("What color is the cup?", semantic, "red", question_id=f"q{i}") for i in range(20)]
    listed = {"n1": scene("cup 1", "vase 2", "drum 3", complete=False)}

    def put_in(scenes):
        found, _ = perturb(
            asked, {asked[0].text: ()}, words, PerturbParams(), anything_fits=True, scenes=scenes
        )
        return {edit.new for row in found for edit in row.edits}

    assert put_in({}) == {"kite", "vase", "drum"} and put_in(listed) == {"kite"}


# Paper rules


def test_the_papers_rule_edits_blindly_what_is_asked_too():
    words = vocabulary("cup", "kite", looks=("red", "blue"))
    asked = "Is the cup red?"
    easy = made("pt-easy", asked, "select: cup (1)->verify color: red [0]", words, preset="paper")
    hard = made("pt-hard", asked, "select: cup (1)->verify color: red [0]", words, preset="paper")
    assert (easy.text, hard.text) == ("Is the kite red?", "Is the cup blue?")
    assert hard.edits[0].step_index == 1 and hard.program == steps("select: cup (1)->verify color: blue [0]")
    exist = made("pt-easy", "Is there a cup?", "select: cup (1)->exist: ? [0]", words, preset="paper")
    assert exist.text == "Is there a kite?"
    both = made(
        "pt-hard",
        "Is the cup to the left or to the right of the dog?",
        "select: dog (1)->choose rel: cup,to the left of|to the right of,s (2) [0]",
        words,
        preset="paper",
    )
    assert (
        both.text == "Is the cup to the right or to the left of the dog?"
        or both.text == "Is the cup to the left or to the left of the dog?"
    )


def test_a_question_without_a_program_is_edited_in_its_definite_phrases_only():
    words = vocabulary("cup", "kite", looks=("red", "blue"))
    tags = (
        (0, 4, "WP"),
        (5, 7, "VBZ"),
        (8, 11, "DT"),
        (12, 15, "JJ"),
        (16, 19, "NN"),
        (20, 24, "VBN"),
        (25, 27, "IN"),
    )
    easy = made("pt-easy", "What is the red cup made of?", "", words, tags=tags)
    hard = made("pt-hard", "What is the red cup made of?", "", words, tags=tags)
    assert (easy.text, hard.text) == ("What is the red kite made of?", "What is the blue cup made of?")
    assert easy.program == () and easy.edits[0].step_index == -1
    assert made("pt-easy", "Is there a cup?", "", words).reason == "names no object"


def test_replaceable_objects_are_replaced_and_others_stay():
    asked = "select: cup (1)->relate: furniture,near,s (2) [0]->query: name [1]"
    words = vocabulary("cup", "kite", "chair", kinds={"furniture": ("chair",)})  # no other kind to ask for
    row = made("pt-easy", "What kind of furniture is near the cup?", asked, words, preset="paper")
    assert [edit.old for edit in row.edits] == ["cup"]
    both = "select: kite (1)->relate: cup,near,s (2) [0]->exist: ? [1]"
    row = made("pt-easy", "Is the cup near the kite?", both, vocabulary("cup", "kite", "hat"), preset="paper")
    assert [edit.old for edit in row.edits] == ["cup", "kite"]


# Surface realization


def test_the_program_is_edited_in_step_with_the_text():
    text = "What is the red cup to the left of the dog made of?"
    semantic = (
        "select: dog (4)->relate: cup,to the left of,s (7) [0]->filter color: red [1]->query: material [2]"
    )
    words = vocabulary("cup", looks=("red", "blue", "wood"), seen=())
    hard = made("pt-hard", text, semantic, words)
    assert hard.text == "What is the blue cup to the right of the dog made of?"
    assert hard.program == steps(
        "select: dog (4)->relate: cup,to the right of,s (-) [0]->filter color: blue [1]->query: material [2]"
    )
    assert [(e.kind, e.old, e.new, e.step_index) for e in hard.edits] == [
        ("attribute", "red", "blue", 2),
        ("relation", "to the left of", "to the right of", 1),
    ]
    assert all(text[e.start : e.end] == e.old for e in hard.edits)
    easy = made("pt-easy", text, semantic, vocabulary("kite"))
    # One offer: the first step in the program takes it, and none is left for the other.
    assert easy.program[0].argument == "kite (-)"
    assert easy.text == "What is the red cup to the left of the kite made of?"


PIECES = [  # question on a thing of a category, and what may be said of another category there
    ("What color is the vehicle?", "vehicle", ("piece of clothing", "clothing item")),
    ("What color are the vehicles?", "vehicle", ("pieces of clothing", "clothing items")),
    ("What color is the piece of clothing?", "clothing", ("vehicle",)),
    ("What color are the pieces of clothing?", "clothing", ("vehicles",)),
    ("What color are the clothing items?", "clothing", ("vehicles",)),
]


@pytest.mark.parametrize(("text", "kind", "others"), PIECES)
def test_partitive_forms_keep_the_number_of_the_original_words(text, kind, others):
    words = vocabulary("hat", "bus", kinds={"clothing": ("hat",), "vehicle": ("bus",)})
    row = made("pt-easy", text, f"select: {kind} (1)->query: color [0]", words, "red")
    said = text.split(" the ")[1].removesuffix("?")
    assert row.text in {text.replace(said, other) for other in others}


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        ("Are the sheep white?", "Are the zebras white?"),
        ("Is the sheep white?", "Is the zebra white?"),
        ("What color do these sheep have?", "What color do these zebras have?"),
        ("What color do the sheep have?", "What color do the zebras have?"),
        ("Were the sheep white?", "Were the zebras white?"),
        ("What color would these sheep be?", "What color would these zebras be?"),
    ],
)
def test_nouns_with_one_form_take_the_number_of_their_context(text, edited):
    row = made("pt-easy", text, "select: sheep (1)->query: color [0]", vocabulary("sheep", "zebra"), "white")
    assert row.text == edited
