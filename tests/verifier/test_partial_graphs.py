"""Partial graphs that are built from answered questions."""

from __future__ import annotations

import msgspec
import pytest

from pipeline.language.functional_programs import parse_program
from pipeline.verifier.partial_graphs import (
    PartialGraph,
    build_partial_graph,
    build_question_evidence,
    cite_facts,
)
from pipeline.verifier.verification import execute_program, verify_question
from tests.notation import LEXICON, answered_question, steps


def collect_evidence(*answered: tuple[str, str]):
    """Return the evidence of (program, answer) pairs about one image."""
    graph = build_partial_graph(
        [answered_question(program, answer, str(i)) for i, (program, answer) in enumerate(answered)], LEXICON
    )
    return build_question_evidence(graph, LEXICON)


RED_CUP = ("select: table (1)->relate: cup,on,s (2) [0]->filter size: small [1]->query: color [2]", "red")
IN_FRONT = (
    "select: dog (3)->filter color: not(red) [0]->relate: _,in front of,o (4) [1]->query: name [2]",
    "chair",
)


@pytest.mark.parametrize(
    ("answered", "program", "expected"),
    [
        # Presuppositions and answers are known.
        (RED_CUP, "select: cup (2)->filter color: red [0]->query: size [1]", "answerable"),
        (
            RED_CUP,
            "select: table (1)->relate: _,on,s (2) [0]->filter color: red [1]->verify size: small [2]",
            "answerable",
        ),
        # "What is the red thing on the table?" asks for one object, and there may be more than the cup.
        (
            RED_CUP,
            "select: table (1)->relate: _,on,s (2) [0]->filter color: red [1]->query: name [2]",
            "unknown",
        ),
        (RED_CUP, "select: cup (2)->relate: _,under,s (2) [0]->query: name [1]", "unknown"),
        (RED_CUP, "select: lamp (2)->query: color [0]", "unknown"),
        # The description distinguishes the cup from other cups, of which nothing is known. "The table" is
        # unique.
        (RED_CUP, "select: cup (2)->filter color: blue [0]->query: size [1]", "unknown"),
        (
            ("select: table (1)->query: color [0]", "red"),
            "select: table (1)->filter color: blue [0]->query: size [1]",
            "wrong attribute",
        ),
        (
            ("select: animal (1)->query: name [0]", "dog"),
            "select: animal (1)->filter size: small [0]->query: name [1]",
            "unknown",
        ),
        (
            ("select: animal (1)->query: name [0]", "dog"),
            "select: cat (1)->query: color [0]",
            "unknown",
        ),
        # Negations, blanks and inverse relations.
        (IN_FRONT, "select: chair (4)->relate: dog,in front of,s (3) [0]->query: color [1]", "unknown"),
        (IN_FRONT, "select: dog (4)->filter color: red [0]->query: size [1]", "unknown"),
        (IN_FRONT, "select: chair (4)->verify rel: animal,behind,o (3) [0]", "answerable"),
        (IN_FRONT, "select: chair (4)->verify rel: animal,in front of,s (3) [0]", "answerable"),
        # Yes and no.
        (
            ("select: cup (2)->verify color: red [0]", "yes"),
            "select: cup (2)->query: color [0]",
            "answerable",
        ),
        (
            ("select: cup (2)->verify color: red [0]", "no"),
            "select: cup (2)->filter color: red [0]->query: size [1]",
            "wrong attribute",
        ),
        (
            ("select: cup (2)->verify color: red [0]", "no"),
            "select: cup (2)->filter color: blue [0]->query: size [1]",
            "unknown",
        ),
        (
            ("select: cup (2)->verify rel: box,in,o (3) [0]", "yes"),
            "select: box (3)->verify rel: cup,inside,s (2) [0]",
            "answerable",
        ),
        (
            ("select: cup (2)->verify rel: box,left of,s (3) [0]", "no"),
            "select: cup (2)->relate: box,to the left of,s (3) [0]->query: size [1]",
            "unknown",
        ),
        (
            ("select: umbrella (-)->exist: ? [0]", "no"),
            "select: umbrellas (9)->query: color [0]",
            "missing object",
        ),
        (("select: animal (-)->exist: ? [0]", "no"), "select: dog (9)->query: color [0]", "missing object"),
        (
            ("select: umbrella (8)->exist: ? [0]", "yes"),
            "select: umbrella (9)->verify color: red [0]",
            "answerable",
        ),
        (
            ("select: hat (8)->filter color: red [0]->exist: ? [1]", "yes"),
            "select: hat (9)->query: color [0]",
            "answerable",
        ),
        # and: yes to both; or: no to both.
        (
            ("select: cup (2)->verify color: red [0]->verify size: small [0]->and:  [1, 2]", "yes"),
            "select: cup (2)->query: size [0]",
            "answerable",
        ),
        (
            ("select: cup (2)->verify color: red [0]->verify size: small [0]->and:  [1, 2]", "no"),
            "select: cup (2)->query: size [0]",
            "unknown",
        ),
        (
            ("select: cat (-)->exist: ? [0]->select: dog (-)->exist: ? [2]->or:  [1, 3]", "no"),
            "select: dog (9)->query: color [0]",
            "missing object",
        ),
        (
            ("select: cat (-)->exist: ? [0]->select: dog (4)->exist: ? [2]->or:  [1, 3]", "yes"),
            "select: cat (9)->query: color [0]",
            "missing object",
        ),
        # Choices state which option is true and which is not.
        (
            ("select: cup (2)->choose color: red|blue [0]", "blue"),
            "select: cup (2)->query: color [0]",
            "answerable",
        ),
        (
            ("select: cup (2)->choose material: wood|metal [0]", "wooden"),
            "select: cup (2)->filter material: wood [0]->exist: ? [1]",
            "answerable",
        ),
        (
            ("select: cup (2)->choose rel: box,in front of|behind,s (3) [0]", "front"),
            "select: cup (2)->verify rel: box,in front of,s (3) [0]",
            "answerable",
        ),
        (
            ("select: animal (2)->choose name: cow|horse [0]", "cow"),
            "select: cow (2)->verify size: small [0]",
            "answerable",
        ),
        # The scene.
        (
            ("select: scene->query: room [0]", "kitchen"),
            "select: scene->choose location: indoors|outdoors [0]",
            "answerable",
        ),
        (
            ("select: scene->verify location: indoors [0]", "no"),
            "select: scene->choose location: indoors|outdoors [0]",
            "answerable",
        ),
        (("select: scene->verify weather: rainy [0]", "no"), "select: scene->query: weather [0]", "unknown"),
        (
            ("select: scene->verify weather: rainy [0]", "yes"),
            "select: scene->query: weather [0]",
            "answerable",
        ),
        # Positions.
        (
            ("select: cup (2)->query: hposition [0]", "left"),
            "select: cup (2)->filter hposition: right [0]->query: color [1]",
            "wrong attribute",
        ),
        (
            ("select: cup (2)->verify hposition: left [0]", "no"),
            "select: cup (2)->filter hposition: left [0]->query: color [1]",
            "wrong attribute",
        ),
        (
            ("select: cup (2)->verify hposition: left [0]", "no"),
            "select: cup (2)->query: hposition [0]",
            "unknown",
        ),
        # A person may be a man, and a man is a person.
        (("select: person (5)->query: pose [0]", "standing"), "select: man (5)->query: pose [0]", "unknown"),
        (
            ("select: man (5)->query: pose [0]", "standing"),
            "select: person (5)->filter pose: standing [0]->exist: ? [1]",
            "answerable",
        ),
        (
            ("select: she (5)->verify pose: standing [0]", "yes"),
            "select: person (5)->query: pose [0]",
            "answerable",
        ),
    ],
)
def test_answers_and_presuppositions_are_evidence(answered, program, expected):
    judgement = verify_question(steps(program), collect_evidence(answered))
    assert (judgement.category or judgement.answerability, judgement.evidence_source) == (
        expected,
        "other questions",
    )


def test_a_no_denies_a_single_claim_but_not_one_of_two():
    one = collect_evidence(("select: hat (8)->filter color: red [0]->exist: ? [1]", "no"))
    assert one.evaluate_attribute(one.objects[0], "red") is False
    two = collect_evidence(
        ("select: hat (8)->filter color: red [0]->filter size: small [1]->exist: ? [2]", "no")
    )
    assert two.evaluate_attribute(two.objects[0], "red") is None
    assert [thing.label for thing in two.objects] == ["hat"]


def test_an_absent_relation_is_false_for_every_known_object():
    known = collect_evidence(
        ("select: table (1)->relate: cup,on,s (-) [0]->exist: ? [1]", "no"),
        ("select: cup (2)->query: color [0]", "red"),
    )
    cup, table = known.select_objects("cup").certain[0], known.select_objects("table").certain[0]
    assert known.evaluate_relation(cup, "on", table) is False
    # There is a cup elsewhere.
    assert known.absent_names == frozenset()


def test_facts_of_several_questions_are_joined_by_object_id():
    known = collect_evidence(
        ("select: clothing (7)->filter color: red [0]->query: name [1]", "hat"),
        ("select: man (5)->relate: hat,wearing,o (7) [0]->query: size [1]", "small"),
    )
    (hat,) = known.select_objects("hat").certain
    assert (hat.names, hat.label, hat.attributes) == (
        ("hat", "clothing"),
        "hat",
        {"red": "color", "small": "size"},
    )


def test_absent_names_are_stated():
    assert collect_evidence(("select: umbrellas (-)->exist: ? [0]", "no")).absent_names == {"umbrella"}


def graph(*answered: tuple[str, str]):
    return build_partial_graph(
        [answered_question(program, answer, str(i)) for i, (program, answer) in enumerate(answered)], LEXICON
    )


def test_the_graph_keeps_each_fact_with_the_questions_that_state_it():
    made = graph(
        ("select: cup (2)->query: color [0]", "red"),
        ("select: cup (2)->verify color: red [0]", "yes"),
        ("select: table (1)->relate: cup,on,s (2) [0]->verify size: small [1]", "no"),
    )
    assert (made.image_id, made.reconstructed, made.num_questions) == ("p", True, 3)
    table, cup = made.objects
    assert [(fact.value, fact.question_ids) for fact in cup.names] == [
        ("", ("0", "1", "2")),
        ("cup", ("0", "1", "2")),
    ]
    assert [(fact.type, fact.value, fact.holds, fact.question_ids) for fact in cup.attributes] == [
        ("color", "red", True, ("0", "1")),
        ("size", "small", False, ("2",)),
    ]
    assert [(fact.value, fact.object_id, fact.question_ids) for fact in cup.relations] == [
        ("on", "1", ("2",))
    ]
    assert [(fact.value, fact.question_ids) for fact in table.names] == [("table", ("2",))]
    assert [(fact.value, fact.question_ids) for fact in made.unique] == [("cup", ("0", "1"))]
    assert made.contradictions == ()


def test_facts_of_excluded_questions_are_ignored():
    made = graph(("select: cup (2)->query: color [0]", "red"), ("select: cup (2)->query: size [0]", "small"))
    assert build_question_evidence(made, LEXICON, excluded_question_ids={"0"}).objects[0].attributes == {
        "small": "size"
    }
    assert build_question_evidence(made, LEXICON, excluded_question_ids={"0", "1"}).objects == ()


def test_a_graph_survives_a_round_trip():
    made = graph(
        RED_CUP,
        IN_FRONT,
        ("select: umbrella (-)->exist: ? [0]", "no"),
        ("select: scene->query: place [0]", "kitchen"),
        ("select: table (1)->relate: dog,on,s (-) [0]->exist: ? [1]", "no"),
    )
    again = msgspec.json.decode(msgspec.json.encode(made), type=PartialGraph)
    one, other = build_question_evidence(made, LEXICON), build_question_evidence(again, LEXICON)
    for name in ("relations", "negated_relations", "scene", "absent_names", "fully_listed_names"):
        assert getattr(one, name) == getattr(other, name)
    assert one.negated_relations and one.scene["place"] == "kitchen" and one.absent_names == {"umbrella"}


@pytest.mark.parametrize(
    ("answered", "description", "is_kept"),
    [
        (
            [
                ("select: cup (2)->verify color: red [0]", "yes"),
                ("select: cup (2)->verify color: red [0]", "no"),
            ],
            "red, and not red",
            False,
        ),
        (
            [("select: cup (2)->query: color [0]", "red"), ("select: cup (2)->query: color [0]", "blue")],
            "color: blue and red",
            True,
        ),
        (
            [
                ("select: cup (2)->query: hposition [0]", "left"),
                ("select: cup (2)->query: hposition [0]", "right"),
            ],
            "hposition: left, right",
            False,
        ),
        (
            [
                ("select: box (3)->verify rel: cup,in front of,s (2) [0]", "yes"),
                ("select: box (3)->verify rel: cup,behind,s (2) [0]", "yes"),
            ],
            "2 behind 3, and not",
            False,
        ),
        (
            [("select: scene->query: place [0]", "kitchen"), ("select: scene->query: place [0]", "beach")],
            "place: beach, kitchen",
            False,
        ),
        (
            [("select: animal (-)->exist: ? [0]", "no"), ("select: dog (4)->query: pose [0]", "sitting")],
            "no animal, and dog",
            False,
        ),
    ],
)
def test_contradictions_are_listed_with_their_questions(answered, description, is_kept):
    made = graph(*answered)
    assert next(row.question_ids for row in made.contradictions) == ("0", "1")
    assert made.contradictions[0].description == description
    assert {row.is_kept for row in made.contradictions} == {is_kept}


def test_contradicted_facts_are_not_known():
    known = collect_evidence(
        ("select: cup (2)->verify color: red [0]", "yes"), ("select: cup (2)->verify color: red [0]", "no")
    )
    assert known.evaluate_attribute(known.objects[0], "red") is None
    near = collect_evidence(
        ("select: box (3)->verify rel: cup,in front of,s (2) [0]", "yes"),
        ("select: box (3)->verify rel: cup,behind,s (2) [0]", "yes"),
    )
    cup, box = near.select_objects("cup").certain[0], near.select_objects("box").certain[0]
    assert (
        near.evaluate_relation(cup, "in front of", box) is near.evaluate_relation(cup, "behind", box) is None
    )
    assert (
        collect_evidence(
            ("select: animal (-)->exist: ? [0]", "no"), ("select: dog (4)->query: pose [0]", "sitting")
        ).absent_names
        == frozenset()
    )


def test_the_most_frequent_specific_name_comes_first():
    known = collect_evidence(
        ("select: clothing (2)->query: color [0]", "red"),
        ("select: vest (2)->query: size [0]", "small"),
        ("select: hat (2)->query: size [0]", "small"),
        ("select: hat (2)->verify color: red [0]", "yes"),
    )
    assert (known.objects[0].label, known.objects[0].names) == ("hat", ("hat", "vest", "clothing"))


def test_an_object_has_no_relation_to_itself():
    made = graph(("select: car (2)->relate: car,behind,s (2) [0]->query: color [1]", "red"))
    assert made.objects[0].relations == () and made.contradictions == ()


@pytest.mark.parametrize(
    ("answered", "program", "expected"),
    [
        # A question about "the table" means the only one. A question about a described table does not.
        (
            ("select: table (1)->query: color [0]", "red"),
            "select: table (1)->filter color: blue [0]->query: size [1]",
            "wrong attribute",
        ),
        (
            ("select: table (1)->filter size: small [0]->query: color [1]", "red"),
            "select: table (1)->filter color: blue [0]->query: size [1]",
            "unknown",
        ),
        (
            ("select: hat (1)->relate: man,wearing,s (2) [0]->query: pose [1]", "sitting"),
            "select: hat (1)->filter color: blue [0]->query: size [1]",
            "unknown",
        ),
        # "What animal is this?" states that an animal exists. There may be others.
        (
            ("select: animal (1)->query: name [0]", "dog"),
            "select: cat (1)->query: color [0]",
            "unknown",
        ),
        (("select: animal (1)->query: color [0]", "red"), "select: cat (1)->query: color [0]", "unknown"),
        (
            ("select: windows (-)->filter color: red [0]->exist: ? [1]", "no"),
            "select: window (1)->query: color [0]",
            "missing object",
        ),
    ],
)
def test_the_description_of_an_object_shows_whether_there_may_be_others(answered, program, expected):
    judgement = verify_question(steps(program), collect_evidence(answered))
    assert (judgement.category or judgement.answerability) == expected


def test_a_unique_animal_that_is_a_dog_does_not_exclude_a_cat():
    animal, dog = (
        ("select: animal (1)->query: color [0]", "red"),
        ("select: dog (1)->filter color: red [0]->query: pose [1]", "sitting"),
    )
    assert (
        verify_question(
            steps("select: cat (1)->query: color [0]"), collect_evidence(animal, dog)
        ).answerability
        == "unknown"
    )


@pytest.mark.parametrize(
    ("known_color", "asked", "expected"),
    [
        ("blue", "red", "unanswerable"),
        ("gold", "tan", "unknown"),
        ("dark", "red", "unknown"),
        ("light blue", "blue", "unknown"),
    ],
)
def test_a_similar_color_is_no_contradiction(known_color, asked, expected):
    known = collect_evidence(("select: cup (2)->query: color [0]", known_color))
    assert (
        verify_question(
            steps(f"select: cup (2)->filter color: {asked} [0]->query: size [1]"), known
        ).answerability
        == expected
    )


def answers(program: str, *answered: tuple[str, str]):
    outcome = execute_program(parse_program(steps(program)), collect_evidence(*answered))
    return outcome.answerability, outcome.answers


def test_the_answer_is_known_only_for_the_object_that_questions_mention():
    man = ("select: hat (1)->relate: man,wearing,s (2) [0]->query: pose [1]", "sitting")
    assert answers("select: man (2)->query: pose [0]", man) == ("answerable", ("sitting",))
    # Another person may wear a hat.
    assert answers("select: hat (1)->relate: person,wearing,s (2) [0]->query: pose [1]", man) == (
        "answerable",
        (),
    )
    assert answers("select: hat (1)->relate: person,wearing,s (2) [0]->query: name [1]", man) == (
        "unknown",
        (),
    )


def test_several_possible_objects_leave_the_verdict_unknown():
    wearers = (
        ("select: hat (1)->relate: person,wearing,s (2) [0]->query: name [1]", "man"),
        ("select: hat (3)->relate: person,wearing,s (4) [0]->query: name [1]", "woman"),
    )
    assert answers("select: hat (1)->relate: person,wearing,s (2) [0]->query: name [1]", *wearers) == (
        "unknown",
        (),
    )


def test_without_questions_there_is_no_graph():
    assert build_partial_graph([], LEXICON) is None


GRAPH = build_partial_graph(
    [
        answered_question("select: table (1)->relate: cup,on,s (2) [0]->query: color [1]", "red", "q1"),
        answered_question("select: cup (2)->query: size [0]", "small", "q2"),
        answered_question("select: umbrella (-)->exist: ? [0]", "no", "q3"),
        answered_question("select: table (1)->relate: hat,on,s (-) [0]->exist: ? [1]", "no", "q4"),
        answered_question("select: scene->query: place [0]", "kitchen", "q5"),
        answered_question("select: animal (3)->query: name [0]", "dog", "q6"),
        answered_question("select: cup (2)->verify color: blue [0]", "no", "q7"),
    ],
    LEXICON,
)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (
            "select: cup (9)->query: color [0]",
            [
                "2 is called cup (q1 q2 q7)",
                "cup (2): color red (q1)",
                "cup (2): not color blue (q7)",
                "the cup, mentioned as the only one (q2 q7)",
            ],
        ),
        (
            "select: table (9)->relate: cup,on,s (8) [0]->query: size [1]",
            [
                "1 is called table (q1 q4)",
                "2 is called cup (q1 q2 q7)",
                "cup (2): on table (1) (q1)",
                "cup (2): size small (q2)",
                "the cup, mentioned as the only one (q2 q7)",
            ],
        ),
        (
            "select: table (9)->relate: hat,on,s (8) [0]->query: size [1]",
            ["1 is called table (q1 q4)", "no hat on table (1) (q4)"],
        ),
        (
            "select: table (9)->relate: _,on,s (8) [0]->query: name [1]",
            ["1 is called table (q1 q4)", "2 is called cup (q1 q2 q7)", "cup (2): on table (1) (q1)"],
        ),
        ("select: umbrella (9)->query: color [0]", ["no umbrella in the image (q3)"]),
        ("select: scene->query: weather [0]", ["place: kitchen (q5)"]),
        ("select: cat (9)->query: color [0]", []),
        ("select: lamp (9)->query: color [0]", []),
    ],
)
def test_only_relevant_facts_are_cited(program, expected):
    assert [
        f"{row.fact} ({' '.join(row.question_ids)})" for row in cite_facts(steps(program), GRAPH, LEXICON)
    ] == expected


def test_facts_of_excluded_questions_are_not_cited():
    assert [
        row.fact
        for row in cite_facts(steps("select: umbrella (9)->query: color [0]"), GRAPH, LEXICON, {"q3"})
    ] == []
    assert [
        row.question_ids
        for row in cite_facts(steps("select: cup (9)->query: color [0]"), GRAPH, LEXICON, {"q1", "q2"})
    ] == [("q7",)] * 3


def test_without_a_program_nothing_is_cited():
    assert cite_facts((), GRAPH, LEXICON) == []
