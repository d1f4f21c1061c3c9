"""Merging of consistent and of contradictory statements."""

from pipeline.verifier.statement_merging import merge_statements
from pipeline.verifier.statements import Statement
from tests.notation import LEXICON

CUP, BOX = Statement("name", "2", value="cup"), Statement("name", "3", value="box")


def merge(*statements):
    """Merge statements, of which question i states the i-th."""
    return merge_statements({statement: (str(i),) for i, statement in enumerate(statements)}, LEXICON)


def test_consistent_statements_are_kept():
    behind = Statement("relation", "2", value="behind", other="3")
    facts, contradictions = merge(CUP, BOX, behind, Statement("attribute", "2", "color", "red"))
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
    facts, (contradiction,) = merge(CUP, red, not_red)
    assert facts.objects[0].attributes == {} and facts.objects[0].negated_attributes == set()
    assert (contradiction.object_id, contradiction.question_ids) == ("2", ("1", "2"))
    assert contradiction.description == "red, and not red" and not contradiction.is_kept


def test_two_colors_of_an_object_are_kept():
    red, blue = (Statement("attribute", "2", "color", color) for color in ("red", "blue"))
    facts, (contradiction,) = merge(CUP, red, blue)
    assert facts.objects[0].attributes == {"red": "color", "blue": "color"}
    assert contradiction.is_kept


def test_positions_restrict_each_other():
    not_left, not_right = (
        Statement("attribute", "2", "hposition", side, holds=False) for side in ("left", "right")
    )
    facts, _ = merge(CUP, not_left)
    assert facts.objects[0].possible_positions == {"hposition": {"middle", "right"}}
    facts, _ = merge(CUP, not_left, not_right)
    assert facts.objects[0].possible_positions == {"hposition": {"middle"}}


def test_an_absent_relation_denies_the_relation_of_every_known_object():
    facts, _ = merge(CUP, BOX, Statement("absent_relation", "2", value="box,behind,s"))
    assert facts.negated_relations == {("3", "behind", "2"), ("2", "in front of", "3")}


def test_an_absent_name_is_kept_unless_there_is_such_an_object():
    dog = Statement("absent", value="dog")
    assert merge(CUP, dog)[0].absent_names == {"dog"}
    facts, (contradiction,) = merge(Statement("name", "4", value="dogs"), dog)
    assert facts.absent_names == frozenset() and contradiction.description == "no dog, and dogs"


def test_two_places_contradict_each_other():
    kitchen, beach = (Statement("scene", type="place", value=place) for place in ("kitchen", "beach"))
    assert merge(kitchen)[0].scene["place"] == "kitchen"
    facts, (contradiction,) = merge(kitchen, beach)
    assert "place" not in facts.scene and contradiction.object_id == ""


def test_a_unique_name_is_fully_listed_only_under_that_name():
    unique = [Statement("unique", value=value) for value in ("person", "cup")]
    facts = merge(CUP, *unique)[0]
    assert facts.fully_listed_names == {"cup", "person"}
    assert [facts.select_objects(name).has_possible_others for name in ("cup", "person", "woman")] == [
        False,
        False,
        True,
    ]
