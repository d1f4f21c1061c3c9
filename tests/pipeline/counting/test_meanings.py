"""What a few programs tell of words, by hand."""

from pipeline.counting.meanings import Meanings
from tests.notation import question

NAMES = {("n1", "1"): "cup", ("n1", "2"): "table", ("n1", "3"): "jeans"}  # by the picture's graph


def meanings(questions):
    counts = Meanings(NAMES)
    for asked in questions:
        counts.add(asked)
    return counts


def test_programs_tell_the_type_of_an_attribute_and_what_it_is_offered_with():
    asked = [
        question("1", "select: cup (1)->filter color: red [0]->verify material: wood [1]", "yes"),
        question("2", "select: cup (1)->query: color [0]", "blue"),
        question("3", "select: cup (1)->choose size: small|large [0]", "small"),
        question("4", "select: door (1)->choose: open|closed [0]", "open"),
        question("5", "select: cup (1)->filter length: short [0]->query: color [1]", "blue"),
        question("6", "select: cup (1)->filter height: short [0]->query: hposition [1]", "left"),
        question("7", "select: cup (1)->filter height: not(short) [0]->query: name [1]", "mug"),
        question("8", "select: scene->query: place [0]", "park"),
        question("9", "select: scene->choose weather: sunny|rainy [0]", "sunny"),
    ]
    found = meanings(asked)
    # "short" is a height in two questions and a length in one; where things are, names, the scene are no looks.
    assert found.attribute_types() == {
        "blue": "color",
        "large": "size",
        "red": "color",
        "short": "height",
        "small": "size",
        "wood": "material",
    }
    assert found.alternatives() == {"closed": ("open",), "open": ("closed",)}


def test_a_category_is_what_graphs_and_answers_call_by_other_names():
    asked = [
        question(
            "1", "select: furniture (2)->query: name [0]", "table"
        ),  # n1's graph calls object 2 a table, too
        question("2", "select: cup (1)->relate: furniture,on,o (9) [0]->query: name [1]", "shelf"),
        question("3", "select: furniture (8)->choose name: bed|table [0]", "bed"),
        question("4", "select: cup (1)->query: color [0]", "red"),
        question("5", "select: it (1)->query: name [0]", "cup"),
        question(
            "6", "select: dishes (1)->query: color [0]", "red"
        ),  # one member only: no category by min_members
    ]
    assert meanings(asked).categories(2) == {"furniture": ("bed", "shelf", "table")}
    assert meanings(asked).categories(1)["dishes"] == ("cup",)


def test_what_questions_take_for_granted_is_counted_once_a_question():
    asked = [
        question("1", "select: cup (1)->relate: cup,near,s (2) [0]->query: color [1]", "red"),
        question("2", "select: table (1)->relate: cup,on,s (2) [0]->exist: ? [1]", "yes"),
        question("3", "select: dog (-)->exist: ? [0]", "no"),
    ]
    assert meanings(asked).asked == {"cup": 1, "table": 1}


def test_what_is_said_of_things_is_counted_where_it_is_taken_for_granted():
    counts = meanings(
        [
            question(
                "1",
                "select: table (1)->filter color: red [0]->relate: cup,on,s (2) [1]->query: size [2]",
                "big",
            ),
            question("2", "select: table (1)->filter color: not(red) [0]->query: size [1]", "big"),  # denied
            question("3", "select: table (1)->filter color: red [0]->exist: ? [1]", "yes"),  # asked for
            question("4", ""),  # without a program
        ]
    )
    assert counts.described == {"red": 1, "on": 1}
    assert counts.programs == 3
