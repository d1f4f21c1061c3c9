import msgspec
import numpy as np
import pytest

from pipeline.core.records import (
    Candidate,
    Judgement,
    Question,
    Relation,
    Scene,
    SceneObject,
    Screened,
    Step,
    Verified,
)
from pipeline.language.lexicon import Lexicon
from pipeline.tasks.gold_questions import (
    Naming,
    absent_object,
    existence,
    foreign,
    in_style_of,
    of_the_picture,
    template,
    templates,
)
from pipeline.verifier.verification import evidence_for
from research.simulated_annotators.answerability import obstacle
from research.simulated_annotators.word_senses import WordSenses
from tests import notation
from tests.notation import Gaps, graphs

EMPTY = WordSenses(categories={}, attribute_types={"red": "color"})


def scene(*objects):
    return Scene(
        picture_id="p",
        split="val",
        width=9,
        height=9,
        objects=objects,
        location="park",
        weather="sunny",
        complete=True,
    )


@pytest.mark.parametrize(
    ("name", "number", "text"),
    [
        ("cup", "singular", "Is there a cup?"),
        ("umbrella", "singular", "Is there an umbrella?"),
        ("jeans", "plural", "Are there jeans?"),
        ("grass", "mass", "Is there grass?"),
    ],
)
def test_a_filter_on_existence_is_answerable_even_where_there_is_nothing(name, number, text):
    found = existence(name, number)
    assert (found.text, found.expected) == (text, "valid")
    assert obstacle(found.program, scene(), EMPTY) is None


def test_a_filter_on_an_absent_object_asks_for_its_color_by_its_place():
    found = absent_object("jeans", "plural", "next to", "table")
    assert (found.text, found.expected) == ("What color are the jeans next to the table?", "invalid")
    assert absent_object("cup", "singular", "on", "table").text == "What color is the cup on the table?"
    table = SceneObject(object_id="1", name="table", x=0, y=0, w=1, h=1)
    assert obstacle(found.program, scene(table), EMPTY) == "missing object"
    jeans = SceneObject(
        object_id="2",
        name="jeans",
        x=0,
        y=0,
        w=1,
        h=1,
        attributes=("red",),
        relations=(Relation(name="next to", object_id="1"),),
    )
    assert obstacle(found.program, scene(table, jeans), EMPTY) is None


def test_the_three_questions_of_the_paper_about_the_scene_are_there(vocabulary):
    nameless = msgspec.structs.replace(vocabulary, objects={})
    made = templates(nameless, None, np.random.default_rng(0))
    assert [row.text for row in made] == [
        "Is this indoor or outdoor?",
        "Is this a color image?",
        "What place is this?",
    ]
    assert {row.expected for row in made} == {"valid"}
    assert made[2].program == (
        Step(operation="select", argument="scene", dependencies=()),
        Step(operation="query", argument="place", dependencies=(0,)),
    )


LEXICON = Lexicon({"animal": ("dog", "cat")}, {"red": "color"})


def question(number, picture_id, text, answer, *steps):
    program = tuple(
        Step(operation=operation, argument=argument, dependencies=(i - 1,) if i else ())
        for i, (operation, argument) in enumerate(steps)
    )
    return Question(
        question_id=str(number), picture_id=picture_id, split="val", text=text, answer=answer, program=program
    )


def color_of(number, picture_id, name):
    return question(
        number, picture_id, f"What color is the {name}?", "red", ("select", f"{name} (1)"), ("query", "color")
    )


NO_DOG = question(1, "here", "Is there a dog?", "no", ("select", "dog (-)"), ("exist", "?"))
TABLE = color_of(2, "here", "table")
DOGS = [color_of(number, "there", "dog") for number in (3, 4, 5)]
CUP = color_of(6, "there", "cup")
FACTS = evidence_for("here", {}, graphs({"here": [NO_DOG, TABLE]}, LEXICON), LEXICON)


def naming_of(*questions):
    return Naming({row.question_id: row for row in questions}, {"here", "there"})


def test_own_questions_are_offered_but_for_those_on_existence():
    (filters,) = of_the_picture([NO_DOG, TABLE], [], [])
    assert (filters.text, filters.expected, filters.question_id) == ("What color is the table?", "valid", "2")


def test_a_foreign_question_is_offered_only_where_something_it_names_is_known_to_be_absent():
    naming = naming_of(NO_DOG, TABLE, *DOGS, CUP)
    rng = np.random.default_rng(0)
    filters = foreign("here", naming, FACTS, 10, rng)
    assert sorted(row.question_id for row in filters) == ["3", "4", "5"]  # of a cup nobody knows
    assert {row.expected for row in filters} == {"invalid"}
    assert len(foreign("here", naming, FACTS, 2, rng)) == 2
    assert foreign("there", naming, FACTS, 10, rng) == []  # its own questions are not foreign
    assert foreign("here", naming, None, 10, rng) == []


def test_questions_are_found_by_the_names_they_say_on_other_pictures_alone_whatever_their_order():
    naming = naming_of(*DOGS[::-1], CUP, TABLE, NO_DOG)
    assert {name: places.tolist() for name, places in naming.names.items()} == {
        "table": [0],
        "dog": [1, 2, 3],
        "cup": [4],
    }  # of "2" to "6": the one on existence is left out
    drawn = naming.drawn(["dog", "cup", "table", "cow"], "here", 9, np.random.default_rng(0))
    assert sorted(row.question_id for row in drawn) == ["3", "4", "5", "6"]
    again = naming_of(CUP, *DOGS).drawn(["cup", "dog"], "here", 9, np.random.default_rng(0))
    assert again == drawn
    # The lot is that of a list of their ids.
    assert [row.question_id for row in drawn] == np.random.default_rng(0).permutation(
        ["3", "4", "5", "6"]
    ).tolist()
    elsewhere = Naming({row.question_id: row for row in (*DOGS, CUP)}, {"here"})
    assert elsewhere.names == {} and elsewhere.drawn(["dog"], "here", 9, np.random.default_rng(0)) == []


def test_by_a_graph_that_leaves_little_out_what_it_does_not_list_is_absent():
    listed = {"here": notation.scene("table 1", "cup 2", complete=False)}
    naming = naming_of(TABLE, *DOGS, CUP)

    def offered(left_out):
        facts = evidence_for("here", listed, {}, LEXICON, unlisted=Gaps(left_out))
        return sorted(row.question_id for row in foreign("here", naming, facts, 10, np.random.default_rng(0)))

    assert offered(0.001) == ["3", "4", "5"] and offered(0.1) == []  # the dogs, not the cup


def test_templates_name_what_a_nearly_complete_graph_does_not_list(vocabulary):
    name = sorted(vocabulary.objects)[0]
    for left_out, number in ((0.001, 3), (0.1, 0)):
        facts = evidence_for(
            "here",
            {"here": notation.scene(f"{name} 1", complete=False)},
            {},
            LEXICON,
            unlisted=Gaps(left_out),
        )
        invalid = [
            row for row in templates(vocabulary, facts, np.random.default_rng(0)) if row.expected == "invalid"
        ]
        assert len(invalid) == number and all(row.text.endswith(f" the {name}?") for row in invalid)


def test_candidates_are_offered_only_for_something_missing():
    def row(category):
        candidate = Candidate(
            candidate_id="c", subset="pt-hard", picture_id="here", question_id="9", text="?"
        )
        return Screened(
            candidate=candidate, judgement=Judgement(answerability="unanswerable", category=category)
        )

    assert [f.expected for f in of_the_picture([], [row("missing object")], [])] == ["invalid"]
    assert of_the_picture([], [row("wrong attribute"), row("underspecified"), row(None)], []) == []


@pytest.mark.parametrize(
    ("status", "expected"),
    [("unanswerable", ["invalid"]), ("answerable", ["valid"]), ("doubtful", []), ("unjudged", [])],
)
def test_what_annotators_agreed_on_is_offered_as_they_said(status, expected):
    candidate = Candidate(candidate_id="c", subset="pt-hard", picture_id="here", question_id="9", text="?")
    row = Verified(
        candidate=candidate,
        judgement=Judgement(answerability="unknown"),
        status=status,
        votes_invalid=0,
        votes_valid=0,
        votes_set_aside=0,
        verdict_ids=(),
        simulated=False,
    )
    assert [filters.expected for filters in of_the_picture([], [], [row])] == expected


def test_templates_ask_for_absent_things_beside_present_ones(vocabulary):
    made = templates(vocabulary, FACTS, np.random.default_rng(0))
    (invalid,) = [row for row in made if row.expected == "invalid"]
    assert invalid.text.startswith("What color is the dog ")
    assert invalid.text.endswith(" the table?")
    assert len(made) == 3 + 3 + 1  # on the scene, on existence, on the dog
    assert {row.expected for row in templates(vocabulary, None, np.random.default_rng(0))} == {"valid"}


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        ("WHAT IS IT?", "IS THIS INDOOR OR OUTDOOR?"),
        ("What Is the Red Cup?", "Is This Indoor or Outdoor?"),
        ("what is it", "is this indoor or outdoor"),
        ("What is it?", "Is this indoor or outdoor?"),
    ],
)
def test_templates_are_written_like_the_texts_beside_them(example, expected):
    made = in_style_of([template("Is this indoor or outdoor?", "valid")], [example])
    assert [row.text for row in made] == [expected]
