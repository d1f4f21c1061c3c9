import numpy as np
import pytest

from pipeline.candidates.perturbing.attribute_edits import (
    add_negation,
    remove_negation,
    replace_relation,
    swap_center_and_edge,
)
from pipeline.candidates.perturbing.replacements import PerturbParams, WordOptions
from pipeline.candidates.perturbing.surface_realization import edit_program, rewrite_text
from pipeline.core.records import Candidate
from pipeline.language.functional_programs import parse_program
from tests.candidates.perturbing.in_memory import case_of, perturb
from tests.candidates.perturbing.small_vocabulary import CHOICES, LOOKS, made, vocabulary
from tests.notation import question, steps

NO_OPTIONS = WordOptions([], np.zeros(0, int), np.zeros(0))


HARD = [  # text, program, answer, looks that the vocabulary knows of a cup, expected
    # the other value of the same type, in the form that the place wants
    (
        "What is the red cup made of?",
        "select: cup (1)->filter color: red [0]->query: material [1]",
        "wood",
        "red blue wood metal large",
        "What is the blue cup made of?",
    ),
    (
        "What is the cup that is red near?",
        "select: cup (1)->filter color: red [0]->relate: _,near,o (2) [1]->query: name [2]",
        "table",
        "red blue",
        "What is the cup that is blue near?",
    ),
    (
        "What color is the cup made of metal?",
        "select: cup (1)->filter material: metal [0]->query: color [1]",
        "red",
        "wood metal red",
        "What color is the cup made of wood?",
    ),
    (
        "Which side is a large cup on?",
        "select: cup (1)->filter size: large [0]->query: hposition [1]",
        "left",
        "large small",
        "Which side is a small cup on?",
    ),
    (
        "Which side is an open cup on?",
        "select: cup (1)->filter: open [0]->query: hposition [1]",
        "left",
        "open closed red",
        "Which side is a closed cup on?",
    ),
    (
        "Which side is a young cup on?",
        "select: cup (1)->filter age: young [0]->query: hposition [1]",
        "left",
        "young old",
        "Which side is an old cup on?",
    ),
    (
        "Is the red cup large?",
        "select: cup (1)->filter color: red [0]->verify size: large [1]",
        "no",
        "red blue small large",
        "Is the blue cup large?",
    ),
    (
        "Who is holding the red cup that is large?",
        "select: cup (1)->filter color: red [0]->filter size: large [1]->relate: person,holding,s (2) [2]->query: name [3]",
        "man",
        "red blue small large",
        "Who is holding the blue cup that is small?",
    ),
    # the options of a choice are what is asked
    (
        "Is the cup red or white?",
        "select: cup (1)->choose color: red|white [0]",
        "red",
        "red blue",
        "its attributes are asked for, not presupposed",
    ),
    (
        "Is the cup white or red?",
        "select: cup (1)->choose color: white|red [0]",
        "red",
        "red blue",
        "its attributes are asked for, not presupposed",
    ),
    (
        "Is the cup open or closed?",
        "select: cup (1)->choose: open|closed [0]",
        "open",
        "open closed",
        "its attributes are asked for, not presupposed",
    ),
    # no other value of the type is known of this object, or none that may stand there; negated; several at a time
    (
        "What is the red cup near?",
        "select: cup (1)->filter color: red [0]->relate: _,near,o (2) [1]->query: name [2]",
        "table",
        "red wood large",
        "What is the blue cup near?",
    ),  # as of other things
    (
        "What is the cup that is not red near?",
        "select: cup (1)->filter color: not(red) [0]->relate: _,near,o (2) [1]->query: name [2]",
        "table",
        "red blue",
        "What is the cup that is red near?",
    ),
    (
        "What is the cup that is running near?",
        "select: cup (1)->filter activity: running [0]->relate: _,near,o (2) [1]->query: name [2]",
        "table",
        "running red",
        "What is the cup that is sleeping near?",
    ),
    (
        "What color is the standing cup?",
        "select: cup (1)->filter pose: standing [0]->query: color [1]",
        "red",
        "standing;taking a picture;red",
        "What color is the sitting cup?",
    ),
    # asked, not presupposed
    (
        "Is the cup red?",
        "select: cup (1)->verify color: red [0]",
        "yes",
        "red blue",
        "its attributes are asked for, not presupposed",
    ),
    (
        "Are there red cups?",
        "select: cup (1)->filter color: red [0]->exist: ? [1]",
        "yes",
        "red blue",
        "its attributes are asked for, not presupposed",
    ),
    (
        "What color is the cup?",
        "select: cup (1)->query: color [0]",
        "red",
        "red blue",
        "names no attribute and no relation",
    ),
    # relations by their opposites
    (
        "What color is the dog to the left of the cup?",
        "select: cup (1)->relate: dog,to the left of,s (2) [0]->query: color [1]",
        "red",
        "red",
        "What color is the dog to the right of the cup?",
    ),
    (
        "What is the cup the dog is to the right of near?",
        "select: dog (1)->relate: cup,to the right of,o (2) [0]->relate: _,near,o (3) [1]->query: name [2]",
        "table",
        "red",
        "What is the cup the dog is to the left of near?",
    ),
    (
        "What color is the dog above the cup?",
        "select: cup (1)->relate: dog,above,s (2) [0]->query: color [1]",
        "red",
        "red",
        "What color is the dog below the cup?",
    ),
    (
        "Who is in front of the cup?",
        "select: cup (1)->relate: person,in front of,s (2) [0]->query: name [1]",
        "man",
        "red",
        "Who is on top of the cup?",  # somebody may well be behind it
    ),
    (
        "What is the dog that the cup is behind of doing?",
        "select: cup (1)->relate: dog,behind,o (2) [0]->query: activity [1]",
        "sleeping",
        "red",
        "What is the dog that the cup is in front of doing?",
    ),
    (
        "What color is the cup on the left side of the photo?",
        "select: cup (1)->filter hposition: left [0]->query: color [1]",
        "red",
        "red",
        "What color is the cup in the middle of the photo?",
    ),
    (
        "What color is the cup in the bottom of the photo?",
        "select: cup (1)->filter vposition: bottom [0]->query: color [1]",
        "red",
        "red",
        "What color is the cup in the top of the photo?",
    ),
    (
        "What is the young dog to the right of the cup doing?",
        "select: cup (1)->relate: dog,to the right of,s (2) [0]->filter age: young [1]->query: activity [2]",
        "running",
        "red",
        "What is the old dog to the left of the cup doing?",
    ),
    # relations that are asked, that have two sides, or no opposite
    (
        "Is the dog to the left or to the right of the cup?",
        "select: cup (1)->choose rel: dog,to the left of|to the right of,s (2) [0]",
        "left",
        "red",
        "its relations are asked for, not presupposed",
    ),
    (
        "Is the dog to the left of the cup?",
        "select: cup (1)->verify rel: dog,to the left of,s (2) [0]",
        "yes",
        "red",
        "its relations are asked for, not presupposed",
    ),
    (
        "Is the cup on the left?",
        "select: cup (1)->verify hposition: left [0]",
        "yes",
        "red",
        "its relations are asked for, not presupposed",
    ),
    (
        "What is near the cup?",
        "select: cup (1)->relate: _,near,s (2) [0]->query: name [1]",
        "dog",
        "red",
        "its attributes and relations have no counterpart",
    ),
    (
        "What color is the cup to the left of the other cup?",
        "select: cup (1)->relate: cup,to the left of,s (2) [0]->query: color [1]",
        "red",
        "red",
        "its attributes and relations have no counterpart",
    ),
    (
        "What color is the cup in the middle of the photo?",
        "select: cup (1)->filter hposition: middle [0]->query: color [1]",
        "red",
        "red",
        "What color is the cup on the ",
    ),
    (
        "What color is the cup in the middle?",
        "select: cup (1)->filter vposition: middle [0]->query: color [1]",
        "red",
        "red",
        "What color is the cup at the ",
    ),
    (
        "What color is the cup in the center of the photo?",
        "select: cup (1)->filter vposition: middle [0]->query: color [1]",
        "red",
        "red",
        "What color is the cup in the ",
    ),
]


@pytest.mark.parametrize(
    "text, semantic, answer, looks, expected", HARD, ids=lambda value: value if isinstance(value, str) else ""
)
def test_pt_hard_replaces_an_attribute_or_a_relation_of_the_same_object(
    text, semantic, answer, looks, expected
):
    known = tuple(looks.split(";") if ";" in looks else looks.split())
    row = made("pt-hard", text, semantic, vocabulary("cup", looks=known, seen=()), answer)
    assert (row.text if isinstance(row, Candidate) else row.reason).startswith(expected)


@pytest.mark.parametrize(
    ("text", "semantic", "subject", "object_"),
    [
        # "cup,on,s": the cup is on the table.
        (
            "What color is the cup on the table?",
            "select: table (1)->relate: cup,on,s (2) [0]->query: color [1]",
            "cup",
            "table",
        ),
        # "table,on,o": the cup is on the table, which the question asks about.
        (
            "What color is the table the cup is on?",
            "select: cup (2)->relate: table,on,o (1) [0]->query: color [1]",
            "cup",
            "table",
        ),
    ],
)
def test_another_relation_must_fit_the_subject_and_the_object_of_the_relation(
    text, semantic, subject, object_
):
    case = case_of(text, semantic)
    (slot,) = case.presuppositions.relations
    asked = []
    case.replacements.list_relations = lambda *arguments: asked.append(arguments) or NO_OPTIONS
    assert replace_relation(case, slot, (0.0, 0.0), (), False) is None
    assert asked == [("on", subject, object_, False)]


def test_an_attribute_never_changes_its_type():
    words = vocabulary("cup")
    types = {**LOOKS, **dict.fromkeys(CHOICES, "choice")}
    for look, kind in LOOKS.items():
        asked = question(
            f"Where is the {look} cup?",
            f"select: cup (1)->filter {kind}: {look} [0]->query: hposition [1]",
            "left",
        )
        candidates, _ = perturb([asked], {asked.text: ()}, words, PerturbParams())
        for candidate in (c for c in candidates if c.subset == "pt-hard"):
            assert (
                types.get(candidate.program[1].argument, kind) == kind
                and candidate.program[1].argument != look
            )


def test_two_attributes_of_one_object_do_not_become_the_same():
    words = vocabulary("cup", looks=("red", "white", "blue", "green"))
    words.attribute_types.update(white="color", green="color")
    words.presupposed_properties.update(red=5, white=5, blue=5, green=5)
    asked = [
        question(
            "Where is the cup that is red and white?",
            "select: cup (1)->filter color: red [0]->filter color: white [1]->query: hposition [2]",
            "left",
            question_id=f"q{i}",
        )
        for i in range(20)
    ]
    candidates, _ = perturb(asked, {asked[0].text: ()}, words, PerturbParams(balance_words=False))
    assert {c.text for c in candidates if c.subset == "pt-hard"} == {
        "Where is the cup that is blue and green?",
        "Where is the cup that is green and blue?",
    }


MIDDLE = [  # question, type of position, the number drawn, the question out of the middle; "" if it stays
    (
        "What color is the cup in the middle of the photo?",
        "hposition",
        0.2,
        "What color is the cup on the left of the photo?",
    ),
    (
        "What color is the cup in the middle of the photo?",
        "hposition",
        0.7,
        "What color is the cup on the right of the photo?",
    ),
    ("What color is the cup in the middle?", "vposition", 0.2, "What color is the cup at the top?"),
    # "in the left PART"; GQA says "in the top OF the photo"
    (
        "What color is the cup in the middle part?",
        "hposition",
        0.2,
        "What color is the cup in the left part?",
    ),
    (
        "What color is the cup in the middle of the photo?",
        "vposition",
        0.7,
        "What color is the cup in the bottom of the photo?",
    ),
]


def test_half_of_what_is_on_a_side_comes_to_the_middle():
    text, semantic = (
        "What color is the cup on the left side?",
        "select: cup (1)->filter hposition: left [0]->query: color [1]",
    )
    came = [case_of(text, semantic, random=random) for random in (0.49, 0.51)]
    texts = [rewrite_text(case.sentence, swap_center_and_edge(case)) for case in came]
    assert texts == ["What color is the cup in the middle?", text]


@pytest.mark.parametrize("text, position, random, expected", MIDDLE)
def test_what_is_in_the_middle_goes_to_an_edge(text, position, random, expected):
    semantic = f"select: cup (1)->filter {position}: middle [0]->query: color [1]"
    case = case_of(text, semantic, random=random)
    swaps = swap_center_and_edge(case)
    assert rewrite_text(case.sentence, swaps) == expected
    edge = edit_program(steps(semantic), case.program, swaps)[1].argument
    assert edge in expected


def test_a_middle_that_is_asked_for_or_denied_stays():
    asked = case_of("Is the cup in the middle?", "select: cup (1)->verify hposition: middle [0]")
    denied = case_of(
        "What color is the cup that is not in the middle?",
        "select: cup (1)->filter hposition: not(middle) [0]->query: color [1]",
    )
    assert swap_center_and_edge(asked) == swap_center_and_edge(denied) == []


NEGATED = [  # how, question, program, text after it, what the filter then says ("" and no swap: stays)
    (
        remove_negation,
        "What is the cup that is not red on?",
        "select: cup (1)->filter color: not(red) [0]->relate: _,on,o (2) [1]->query: name [2]",
        "What is the cup that is red on?",
        "red",
    ),
    (
        remove_negation,
        "Which kind of food isn't sliced?",
        "select: food (1)->filter: not(sliced) [0]->query: name [1]",
        "Which kind of food is sliced?",
        "sliced",
    ),
    (
        remove_negation,
        "Are the chairs that aren't wooden small?",
        "select: chairs (1)->filter material: not(wood) [0]->verify size: small [1]",
        "Are the chairs that are wooden small?",
        "wood",
    ),
    (
        remove_negation,
        "Is there a cup that is not red?",
        "select: cup (1)->filter color: not(red) [0]->exist: ? [1]",
        "",
        "",
    ),
    (
        remove_negation,
        "Is the cup that is red large?",
        "select: cup (1)->filter color: red [0]->verify size: large [1]",
        "",
        "",
    ),
    (
        add_negation,
        "What is the man that is posing wearing?",
        "select: man (1)->filter activity: posing [0]->relate: _,wearing,o (2) [1]->query: name [2]",
        "What is the man that is not posing wearing?",
        "not(posing)",
    ),
    (
        add_negation,
        "What is the posing man wearing?",
        "select: man (1)->filter activity: posing [0]->relate: _,wearing,o (2) [1]->query: name [2]",
        "",
        "",
    ),
    (
        add_negation,
        "What is the man that is not posing wearing?",
        "select: man (1)->filter activity: not(posing) [0]->relate: _,wearing,o (2) [1]->query: name [2]",
        "",
        "",
    ),
    # "What clothing is not hanging?" nearly always has an answer, and race must not be judged from an image.
    (
        add_negation,
        "What kind of laundry is hanging?",
        "select: laundry (1)->filter: hanging [0]->query: name [1]",
        "",
        "",
    ),
    (
        add_negation,
        "Is the man that is Asian tall?",
        "select: man (1)->filter race: asian [0]->verify height: tall [1]",
        "",
        "",
    ),
    (
        add_negation,
        "Is red the cup?",
        "select: cup (1)->filter color: red [0]->verify size: large [1]",
        "",
        "",
    ),
]


@pytest.mark.parametrize("how, text, semantic, expected, said", NEGATED)
def test_not_is_taken_away_and_put_in(how, text, semantic, expected, said):
    case = case_of(text, semantic)
    swaps = how(case)
    assert (rewrite_text(case.sentence, swaps) if swaps else "") == expected
    if swaps:
        changed = edit_program(steps(semantic), case.program, swaps)
        assert changed[1].argument == said
        assert parse_program(changed)[1].is_negated is said.startswith("not")
