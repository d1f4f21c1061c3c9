"""Statements of programs with their answers, and their merging."""

import msgspec
import pytest

from pipeline.language.functional_programs import parse_program
from pipeline.verifier.statement_merging import merge_statements
from pipeline.verifier.statements import (
    Statement,
    extract_full_answer_statements,
    extract_program_statements,
    make_name_statements,
    make_scene_statement,
)
from tests.notation import LEXICON, answered_question, steps

# Statements
# Statements of programs with their answers, and of full answers.


TABLE, CUP = Statement("name", "1", value="table"), Statement("name", "2", value="cup")
ON = Statement("relation", "2", value="on", other="1")
THERE = "select: table (1)->relate: cup,on,s (2) [0]->exist: ? [1]"


@pytest.mark.parametrize(
    ("program", "answer", "expected"),
    [
        # It presupposes a table and a cup on it, and asks for the color of the cup.
        (
            "select: table (1)->relate: cup,on,s (2) [0]->query: color [1]",
            "red",
            [TABLE, CUP, ON, Statement("name", "2"), Statement("attribute", "2", "color", "red")],
        ),
        # "The table" is mentioned without further description.
        (
            "select: table (1)->query: color [0]",
            "red",
            [
                TABLE,
                Statement("unique", value="table"),
                Statement("name", "1"),
                Statement("attribute", "1", "color", "red"),
            ],
        ),
        (THERE, "yes", [TABLE, CUP, ON]),
        (THERE, "no", [TABLE, CUP, Statement("relation", "2", value="on", other="1", holds=False)]),
        (
            THERE.replace("(2)", "(-)"),
            "no",
            [TABLE, Statement("absent_relation", "1", value="cup,on,s")],
        ),
        # A "no" to two claims at once denies neither of them.
        (
            "select: table (1)->relate: cup,on,s (2) [0]->filter color: red [1]->exist: ? [2]",
            "no",
            [TABLE, CUP],
        ),
        ("select: dogs (-)->exist: ? [0]", "no", [Statement("absent", value="dog")]),
        # A false "and" denies neither of its sides.
        (
            "select: cup (2)->verify color: red [0]->verify size: big [0]->and:  [1, 2]",
            "no",
            [CUP, Statement("unique", value="cup")],
        ),
        ("select: scene->query: place [0]", "park", [make_scene_statement("place", "park")]),
        ("select: scene->verify location: indoors [0]", "no", [make_scene_statement("location", "outdoors")]),
        ("select: scene->verify weather: sunny [0]", "no", [make_scene_statement("weather", "sunny", False)]),
    ],
)
def test_an_answered_question_states(program, answer, expected):
    assert list(extract_program_statements(parse_program(steps(program)), answer)) == expected


def test_an_option_that_is_not_chosen_is_denied():
    chosen = list(
        extract_program_statements(
            parse_program(steps("select: cup (2)->choose color: red|blue [0]")), "blue"
        )
    )
    colors = {statement.value: statement.holds for statement in chosen if statement.kind == "attribute"}
    assert colors == {"red": False, "blue": True}


@pytest.mark.parametrize(
    ("name", "known"), [("she", "person"), ("this", ""), ("scene", ""), ("lamp", "lamp")]
)
def test_a_pronoun_names_a_person_or_nothing(name, known):
    assert list(make_name_statements(name, ("7",))) == [Statement("name", "7", value=known)]


def test_a_room_is_a_place():
    assert (
        make_scene_statement("room", "kitchen")
        == make_scene_statement("place", "kitchen")
        == make_scene_statement("", "kitchen")
    )


def list_full_answer_statements(
    program: str, answer: str, sentence: str, marks: str, kind: str
) -> list[tuple[str, ...]]:
    """Return the statements of one kind of a full answer.

    `marks` "2=7 5:7=8" means that word 2 is object 7, and that words 5 and 6 are object 8.
    """
    asked = msgspec.structs.replace(
        answered_question(program, answer),
        full_answer=sentence,
        full_answer_annotations=dict(mark.split("=") for mark in marks.split()),
    )
    fields = [
        msgspec.structs.astuple(s)
        for s in extract_full_answer_statements(asked, parse_program(asked.program))
        if s.kind == kind
    ]
    return [tuple(field for field in row[1:-1] if field) for row in fields]


VERIFY_RED = "select: kite (7)->verify color: red [0]"
TWO = "select: knives (7)->verify color: black [0]->verify material: metal [0]->and:  [1, 2]"
THERE = "select: door (7)->filter color: red [0]->exist: ? [1]->select: windows (-)->filter color: red [3]->exist: ? [4]->or:  [2, 5]"
BEHIND = "select: boat (8)->relate: buoy,in front of,s (7) [0]->exist: ? [1]"
WEARS = "select: girl (7)->verify rel: scarf,wearing,o (-) [0]"


@pytest.mark.parametrize(
    ("sentence", "marks", "names"),
    [
        ("The lady is yawning.", "1=7", [("7", "lady")]),
        (
            "The piece of furniture is a dining table.",
            "1:4=7 6:8=7",
            [("7", "furniture"), ("7", "dining table")],
        ),
        ("The clothing items are mittens.", "1:3=7 4=7", [("7", "clothing"), ("7", "mittens")]),
        ("Yes, the lady's umbrella is wet.", "2=7 3=8", [("7", "lady"), ("8", "umbrella")]),
        ("It is a harbor.", "", []),
        # These annotations point to no word.
        ("The kite is red.", "x=7 9=8", []),
    ],
)
def test_marked_words_name_their_objects(sentence, marks, names):
    assert (
        list_full_answer_statements("select: kite (7)->query: color [0]", "red", sentence, marks, "name")
        == names
    )


@pytest.mark.parametrize(
    ("program", "answer", "sentence", "marks", "attributes"),
    [
        (VERIFY_RED, "no", "No, the kite is light blue.", "2=7", [("7", "color", "light blue")]),
        # The program states this already.
        (VERIFY_RED, "yes", "Yes, the kite is red.", "2=7", []),
        (VERIFY_RED.replace("red", "not(red)"), "no", "No, the kite is red.", "2=7", []),
        (
            "select: kite (7)->verify material: wood [0]",
            "no",
            "No, the kite is made of paper.",
            "2=7",
            [("7", "material", "paper")],
        ),
        (
            "select: kite (7)->verify hposition: left [0]",
            "no",
            "No, the kite is on the right of the image.",
            "2=7",
            [("7", "hposition", "right")],
        ),
        (
            "select: kite (7)->verify vposition: top [0]",
            "no",
            "No, the kite is in the bottom of the photo.",
            "2=7",
            [("7", "vposition", "bottom")],
        ),
        # One of two values is confirmed and the other one corrected. GQA writes "metallic" for metal.
        (
            TWO,
            "no",
            "No, the knives are metallic but silver.",
            "2=7",
            [("7", "material", "metal"), ("7", "color", "silver")],
        ),
        (
            TWO,
            "no",
            "No, the knives are black but plastic.",
            "2=7",
            [("7", "color", "black"), ("7", "material", "plastic")],
        ),
        # It is not clear which value is corrected.
        (TWO, "no", "No, the knives are plastic but silver.", "2=7", []),
        (THERE, "no", "No, there is a door but it is white.", "4=7", [("7", "color", "white")]),
        (
            "select: door (7)->filter color: red [0]->filter size: large [1]->exist: ? [2]",
            "no",
            "No, there is a door but it is white.",
            "4=7",
            [],
        ),
        (
            "select: hat (7)->select: coat (8)->different color:  [0, 1]",
            "yes",
            "Yes, the hat is green and the coat is gray.",
            "2=7 7=8",
            [("7", "color", "green"), ("8", "color", "gray")],
        ),
        (
            "select: hat (7)->select: coat (8)->same color:  [0, 1]",
            "no",
            "No, the hat is green and the coat is gray.",
            "2=7 7=8",
            [("7", "color", "green"), ("8", "color", "gray")],
        ),
        (
            "select: hat (7)->select: coat (8)->same color:  [0, 1]",
            "yes",
            "Yes, both the hat and the coat are gray.",
            "3=7 6=8",
            [("7", "color", "gray"), ("8", "color", "gray")],
        ),
        (
            "select: person (7,8)->same: gender [0]",
            "yes",
            "Yes, all the people are male.",
            "",
            [("7", "gender", "male"), ("8", "gender", "male")],
        ),
    ],
)
def test_full_answers_state_attributes(program, answer, sentence, marks, attributes):
    assert list_full_answer_statements(program, answer, sentence, marks, "attribute") == attributes


def test_full_answers_state_names_of_all_objects_of_a_kind():
    program, sentence = "select: animal (7,8)->same: type [0]", "Yes, all the animals are llamas."
    assert list_full_answer_statements(program, "yes", sentence, "", "name") == [
        ("7", "llamas"),
        ("8", "llamas"),
    ]


@pytest.mark.parametrize(
    ("program", "sentence", "marks", "relations"),
    [
        (BEHIND, "No, the buoy is behind the boat.", "2=7 6=8", [("7", "behind", "8")]),
        (BEHIND, "No, there is a pier in front of the boat.", "4=9 9=8", [("9", "in front of", "8")]),
        (WEARS, "No, the girl is wearing a raincoat.", "2=7 6=9", [("7", "wearing", "9")]),
        (WEARS, "No, the girl wears a raincoat.", "2=7 5=9", [("7", "wears", "9")]),
        # The relation is not the one that was asked about.
        (WEARS, "No, the girl is holding a raincoat.", "2=7 6=9", []),
    ],
)
def test_full_answers_state_corrected_relations(program, sentence, marks, relations):
    assert list_full_answer_statements(program, "no", sentence, marks, "relation") == relations


def test_full_answers_state_scene_values():
    assert list_full_answer_statements(
        "select: scene->verify weather: rainy [0]", "no", "No, it is sunny.", "", "scene"
    ) == [("weather", "sunny")]
    assert (
        list_full_answer_statements(
            "select: scene->query: place [0]", "harbor", "It is a harbor.", "", "scene"
        )
        == []
    )


# Statement merging
# Merging of consistent and of contradictory statements.


MERGED_CUP, MERGED_BOX = Statement("name", "2", value="cup"), Statement("name", "3", value="box")


def merge(*statements):
    """Merge statements, of which question i states the i-th."""
    return merge_statements({statement: (str(i),) for i, statement in enumerate(statements)}, LEXICON)


def test_consistent_statements_are_kept():
    behind = Statement("relation", "2", value="behind", other="3")
    facts, contradictions = merge(MERGED_CUP, MERGED_BOX, behind, Statement("attribute", "2", "color", "red"))
    assert contradictions == []
    assert [thing.label for thing in facts.objects] == ["cup", "box"]
    assert facts.objects[0].attributes == {"red": "color"}
    # The inverse also holds: the box is in front of the cup. The opposite and the other directions do not
    # hold.
    assert facts.relations == {("2", "behind", "3"), ("3", "in front of", "2")}
    assert facts.negated_relations == {
        ("2", "in front of", "3"),
        ("3", "behind", "2"),
    }


def test_contradictory_statements_are_dropped_and_their_questions_named():
    red, not_red = (Statement("attribute", "2", "color", "red", holds=holds) for holds in (True, False))
    facts, (contradiction,) = merge(MERGED_CUP, red, not_red)
    assert facts.objects[0].attributes == {} and facts.objects[0].negated_attributes == set()
    assert (contradiction.object_id, contradiction.question_ids) == ("2", ("1", "2"))
    assert contradiction.description == "red, and not red" and not contradiction.is_kept


def test_two_colors_of_an_object_are_kept():
    red, blue = (Statement("attribute", "2", "color", color) for color in ("red", "blue"))
    facts, (contradiction,) = merge(MERGED_CUP, red, blue)
    assert facts.objects[0].attributes == {"red": "color", "blue": "color"}
    assert contradiction.is_kept


def test_positions_restrict_each_other():
    not_left, not_right = (
        Statement("attribute", "2", "hposition", side, holds=False) for side in ("left", "right")
    )
    facts, _ = merge(MERGED_CUP, not_left)
    assert facts.objects[0].possible_positions == {"hposition": {"middle", "right"}}
    facts, _ = merge(MERGED_CUP, not_left, not_right)
    assert facts.objects[0].possible_positions == {"hposition": {"middle"}}


def test_an_absent_relation_denies_the_relation_of_every_known_object():
    facts, _ = merge(MERGED_CUP, MERGED_BOX, Statement("absent_relation", "2", value="box,behind,s"))
    assert facts.negated_relations == {("3", "behind", "2"), ("2", "in front of", "3")}


def test_an_absent_name_is_kept_unless_there_is_such_an_object():
    dog = Statement("absent", value="dog")
    assert merge(MERGED_CUP, dog)[0].absent_names == {"dog"}
    facts, (contradiction,) = merge(Statement("name", "4", value="dogs"), dog)
    assert facts.absent_names == frozenset() and contradiction.description == "no dog, and dogs"


def test_two_places_contradict_each_other():
    kitchen, beach = (Statement("scene", type="place", value=place) for place in ("kitchen", "beach"))
    assert merge(kitchen)[0].scene["place"] == "kitchen"
    facts, (contradiction,) = merge(kitchen, beach)
    assert "place" not in facts.scene and contradiction.object_id == ""


def test_a_unique_name_is_fully_listed_only_under_that_name():
    unique = [Statement("unique", value=value) for value in ("person", "cup")]
    facts = merge(MERGED_CUP, *unique)[0]
    assert facts.fully_listed_names == {"cup", "person"}
    assert [facts.select_objects(name).has_possible_others for name in ("cup", "person", "woman")] == [
        False,
        False,
        True,
    ]
