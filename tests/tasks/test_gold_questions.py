import msgspec
import numpy as np
import pytest

from pipeline.core.records import (
    Candidate,
    CollectedCandidate,
    Question,
    Relation,
    SceneGraph,
    SceneObject,
    ScreenedCandidate,
    Step,
    VerifierResult,
)
from pipeline.language.lexicon import Lexicon
from pipeline.tasks.gold_questions import (
    QuestionsByName,
    collect_known_questions,
    make_absent_object_question,
    make_all_template_questions,
    make_existence_question,
    make_template_question,
    match_text_style,
    sample_foreign_questions,
)
from pipeline.verifier.verification import build_evidence
from research.simulated_annotators.answerability import find_obstacle
from research.simulated_annotators.word_senses import WordSenses
from tests import notation
from tests.notation import Gaps, graphs

EMPTY = WordSenses(categories={}, attribute_types={"red": "color"})


def scene(*objects):
    return SceneGraph(
        image_id="p",
        split="val",
        width=9,
        height=9,
        objects=objects,
        location="park",
        weather="sunny",
        is_complete=True,
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
def test_an_existence_question_is_always_answerable(name, number, text):
    found = make_existence_question(name, number)
    assert (found.text, found.expected_choice) == (text, "valid")
    assert find_obstacle(found.program, scene(), EMPTY) is None


def test_a_filter_on_an_absent_object_asks_for_its_color_by_its_place():
    found = make_absent_object_question("jeans", "plural", "next to", "table")
    assert (found.text, found.expected_choice) == ("What color are the jeans next to the table?", "invalid")
    assert (
        make_absent_object_question("cup", "singular", "on", "table").text
        == "What color is the cup on the table?"
    )
    table = SceneObject(object_id="1", name="table", x=0, y=0, w=1, h=1)
    assert find_obstacle(found.program, scene(table), EMPTY) == "missing object"
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
    assert find_obstacle(found.program, scene(table, jeans), EMPTY) is None


def test_the_three_questions_of_the_paper_about_the_scene_are_there(vocabulary):
    nameless = msgspec.structs.replace(vocabulary, objects={})
    made = make_all_template_questions(nameless, None, np.random.default_rng(0))
    assert [row.text for row in made] == [
        "Is this indoor or outdoor?",
        "Is this a color image?",
        "What place is this?",
    ]
    assert {row.expected_choice for row in made} == {"valid"}
    assert made[2].program == (
        Step(operation="select", argument="scene", dependencies=()),
        Step(operation="query", argument="place", dependencies=(0,)),
    )


LEXICON = Lexicon({"animal": ("dog", "cat")}, {"red": "color"})


def question(number, image_id, text, answer, *steps):
    program = tuple(
        Step(operation=operation, argument=argument, dependencies=(i - 1,) if i else ())
        for i, (operation, argument) in enumerate(steps)
    )
    return Question(
        question_id=str(number), image_id=image_id, split="val", text=text, answer=answer, program=program
    )


def color_of(number, image_id, name):
    return question(
        number, image_id, f"What color is the {name}?", "red", ("select", f"{name} (1)"), ("query", "color")
    )


NO_DOG = question(1, "here", "Is there a dog?", "no", ("select", "dog (-)"), ("exist", "?"))
TABLE = color_of(2, "here", "table")
DOGS = [color_of(number, "there", "dog") for number in (3, 4, 5)]
CUP = color_of(6, "there", "cup")
FACTS = build_evidence("here", {}, graphs({"here": [NO_DOG, TABLE]}, LEXICON), LEXICON)


def naming_of(*questions):
    return QuestionsByName({row.question_id: row for row in questions}, {"here", "there"})


def test_own_questions_are_offered_but_for_those_on_existence():
    (filters,) = collect_known_questions([NO_DOG, TABLE], [], [])
    assert (filters.text, filters.expected_choice, filters.question_id) == (
        "What color is the table?",
        "valid",
        "2",
    )


def test_a_foreign_question_is_offered_only_if_it_names_something_known_to_be_absent():
    naming = naming_of(NO_DOG, TABLE, *DOGS, CUP)
    rng = np.random.default_rng(0)
    filters = sample_foreign_questions("here", naming, FACTS, 10, rng)
    assert sorted(row.question_id for row in filters) == ["3", "4", "5"]  # of a cup nobody knows
    assert {row.expected_choice for row in filters} == {"invalid"}
    assert len(sample_foreign_questions("here", naming, FACTS, 2, rng)) == 2
    assert (
        sample_foreign_questions("there", naming, FACTS, 10, rng) == []
    )  # its own questions are not foreign
    assert sample_foreign_questions("here", naming, None, 10, rng) == []


def test_questions_are_found_by_the_names_they_say_on_other_images_alone_whatever_their_order():
    naming = naming_of(*DOGS[::-1], CUP, TABLE, NO_DOG)
    assert {name: places.tolist() for name, places in naming.rows_by_name.items()} == {
        "table": [0],
        "dog": [1, 2, 3],
        "cup": [4],
    }  # of "2" to "6": the one on existence is left out
    drawn = naming.sample(["dog", "cup", "table", "cow"], "here", 9, np.random.default_rng(0))
    assert sorted(row.question_id for row in drawn) == ["3", "4", "5", "6"]
    again = naming_of(CUP, *DOGS).sample(["cup", "dog"], "here", 9, np.random.default_rng(0))
    assert again == drawn
    # The lot is that of a list of their ids.
    assert [row.question_id for row in drawn] == np.random.default_rng(0).permutation(
        ["3", "4", "5", "6"]
    ).tolist()
    elsewhere = QuestionsByName({row.question_id: row for row in (*DOGS, CUP)}, {"here"})
    assert (
        elsewhere.rows_by_name == {} and elsewhere.sample(["dog"], "here", 9, np.random.default_rng(0)) == []
    )


def test_unlisted_names_are_absent_in_a_nearly_complete_graph():
    listed = {"here": notation.scene("table 1", "cup 2", complete=False)}
    naming = naming_of(TABLE, *DOGS, CUP)

    def offered(left_out):
        facts = build_evidence("here", listed, {}, LEXICON, completeness=Gaps(left_out))
        return sorted(
            row.question_id
            for row in sample_foreign_questions("here", naming, facts, 10, np.random.default_rng(0))
        )

    assert offered(0.001) == ["3", "4", "5"] and offered(0.1) == []  # the dogs, not the cup


def test_templates_name_what_a_nearly_complete_graph_does_not_list(vocabulary):
    name = sorted(vocabulary.objects)[0]
    for left_out, number in ((0.001, 3), (0.1, 0)):
        facts = build_evidence(
            "here",
            {"here": notation.scene(f"{name} 1", complete=False)},
            {},
            LEXICON,
            completeness=Gaps(left_out),
        )
        invalid = [
            row
            for row in make_all_template_questions(vocabulary, facts, np.random.default_rng(0))
            if row.expected_choice == "invalid"
        ]
        assert len(invalid) == number and all(row.text.endswith(f" the {name}?") for row in invalid)


def test_candidates_are_offered_only_if_an_object_is_missing():
    def row(category):
        candidate = Candidate(candidate_id="c", subset="pt-hard", image_id="here", question_id="9", text="?")
        return ScreenedCandidate(
            candidate=candidate,
            verifier_result=VerifierResult(answerability="unanswerable", category=category),
        )

    assert [f.expected_choice for f in collect_known_questions([], [row("missing object")], [])] == [
        "invalid"
    ]
    assert collect_known_questions([], [row("wrong attribute"), row("underspecified"), row(None)], []) == []


@pytest.mark.parametrize(
    ("status", "expected"),
    [("unanswerable", ["invalid"]), ("answerable", ["valid"]), ("doubtful", []), ("no_votes", [])],
)
def test_agreed_candidates_are_offered_with_their_verdict(status, expected):
    candidate = Candidate(candidate_id="c", subset="pt-hard", image_id="here", question_id="9", text="?")
    row = CollectedCandidate(
        candidate=candidate,
        verifier_result=VerifierResult(answerability="unknown"),
        status=status,
        votes_invalid=0,
        votes_valid=0,
        votes_excluded=0,
        verdict_ids=(),
        simulated=False,
    )
    assert [filters.expected_choice for filters in collect_known_questions([], [], [row])] == expected


def test_templates_ask_about_absent_objects_near_present_ones(vocabulary):
    made = make_all_template_questions(vocabulary, FACTS, np.random.default_rng(0))
    (invalid,) = [row for row in made if row.expected_choice == "invalid"]
    assert invalid.text.startswith("What color is the dog ")
    assert invalid.text.endswith(" the table?")
    assert len(made) == 3 + 3 + 1  # on the scene, on existence, on the dog
    assert {
        row.expected_choice for row in make_all_template_questions(vocabulary, None, np.random.default_rng(0))
    } == {"valid"}


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
    made = match_text_style([make_template_question("Is this indoor or outdoor?", "valid")], [example])
    assert [row.text for row in made] == [expected]
