"""What is believed of statements that agree, and of those that contradict each other."""

from pipeline.verifier.statement_merging import merge_statements
from pipeline.verifier.statements import Statement
from tests.notation import LEXICON

CUP, BOX = Statement("name", "2", value="cup"), Statement("name", "3", value="box")


def believed(*statements):
    """Statement i is stated by question i."""
    return merge_statements({statement: (str(i),) for i, statement in enumerate(statements)}, LEXICON)


def test_what_nobody_denies_is_believed():
    behind = Statement("relation", "2", value="behind", other="3")
    facts, contradictions = believed(CUP, BOX, behind, Statement("attribute", "2", "color", "red"))
    assert contradictions == []
    assert [thing.label for thing in facts.objects] == ["cup", "box"]
    assert facts.objects[0].attributes == {"red": "color"}
    # "behind" has an inverse and an opposite: the box is in front of the cup; neither holds the other way round.
    assert facts.relations == {("2", "behind", "3"), ("3", "in front of", "2")}
    assert facts.negated_relations == {
        ("2", "in front of", "3"),
        ("3", "behind", "2"),
    }


def test_what_is_said_and_denied_is_not_believed_and_the_questions_are_named():
    red, not_red = (Statement("attribute", "2", "color", "red", holds=holds) for holds in (True, False))
    facts, (contradiction,) = believed(CUP, red, not_red)
    assert facts.objects[0].attributes == {} and facts.objects[0].negated_attributes == set()
    assert (contradiction.object_id, contradiction.question_ids) == ("2", ("1", "2"))
    assert contradiction.description == "red, and not red" and not contradiction.is_kept


def test_a_thing_may_be_said_to_have_two_colours():
    red, blue = (Statement("attribute", "2", "color", color) for color in ("red", "blue"))
    facts, (contradiction,) = believed(CUP, red, blue)
    assert facts.objects[0].attributes == {"red": "color", "blue": "color"}
    assert contradiction.is_kept


def test_positions_narrow_each_other_down():
    not_left, not_right = (
        Statement("attribute", "2", "hposition", side, holds=False) for side in ("left", "right")
    )
    facts, _ = believed(CUP, not_left)
    assert facts.objects[0].possible_positions == {"hposition": {"middle", "right"}}
    facts, _ = believed(CUP, not_left, not_right)
    assert facts.objects[0].possible_positions == {"hposition": {"middle"}}


def test_no_box_behind_the_cup_denies_it_of_every_known_box():
    facts, _ = believed(CUP, BOX, Statement("absent_relation", "2", value="box,behind,s"))
    assert facts.negated_relations == {("3", "behind", "2"), ("2", "in front of", "3")}


def test_what_is_absent_is_believed_unless_there_is_one():
    dog = Statement("absent", value="dog")
    assert believed(CUP, dog)[0].absent_names == {"dog"}
    facts, (contradiction,) = believed(Statement("name", "4", value="dogs"), dog)
    assert facts.absent_names == frozenset() and contradiction.description == "no dog, and dogs"


def test_two_places_are_none():
    kitchen, beach = (Statement("scene", type="place", value=place) for place in ("kitchen", "beach"))
    assert believed(kitchen)[0].scene["place"] == "kitchen"
    facts, (contradiction,) = believed(kitchen, beach)
    assert "place" not in facts.scene and contradiction.object_id == ""


def test_what_is_said_as_of_the_only_one_is_closed_by_that_word_alone():
    alone = [Statement("unique", value=value) for value in ("person", "cup")]
    facts = believed(CUP, *alone)[0]
    assert facts.fully_listed_names == {"cup", "person"}
    assert [facts.select_objects(name).has_possible_others for name in ("cup", "person", "woman")] == [
        False,
        False,
        True,
    ]
