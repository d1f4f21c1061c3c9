"""Simulated graphs are complete and give the questions they were made for their answers."""

import pytest

from pipeline.language.functional_programs import parse_program
from pipeline.language.lexicon import Lexicon
from pipeline.verifier.evidence import build_scene_evidence
from pipeline.verifier.verification import execute_program
from pipeline.verifier.vocabulary import VocabularyParams, build_vocabulary
from research.simulated_annotators.answerability import find_obstacle
from research.studies.simulated_graphs import OBJECTS_PER_IMAGE, GraphSimulator
from research.studies.verifier_completeness import reconstruct_graphs
from tests.notation import question

ASKED = {
    "a": [
        ("select: table (1)->relate: cup,on,s (2) [0]->query: color [1]", "red"),
        ("select: lamp (3)->choose rel: table,to the left of|to the right of,s (1) [0]", "left"),
        ("select: cup (2)->query: hposition [0]", "right"),
        ("select: dog (-)->exist: ? [0]", "no"),
    ],
    "b": [
        ("select: cup (5)->query: color [0]", "blue"),
        ("select: table (6)->relate: dog,under,s (7) [0]->query: color [1]", "black"),
    ],
    "c": [("select: dog (8)->relate: hat,wearing,o (9) [0]->query: color [1]", "green")],
    "d": [("select: boat (10)->relate: kite,above,s (11) [0]->query: color [1]", "red")],
}


@pytest.fixture(scope="module")
def worlds():
    rows = [
        question(program, program, answer, question_id=f"{key}{number}", image_id=key)
        for key, asked in ASKED.items()
        for number, (program, answer) in enumerate(asked)
    ]
    asked = {key: [row for row in rows if row.image_id == key] for key in ASKED}
    vocabulary = build_vocabulary(
        (), rows, VocabularyParams(use_default="never"), lambda lexicon, _: reconstruct_graphs(asked, lexicon)
    )
    lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
    return GraphSimulator(asked, reconstruct_graphs(asked, lexicon), vocabulary, 1)


def test_every_question_has_its_answer_in_its_scene(worlds):
    for key, asked in ASKED.items():
        scene, kept = worlds.simulate_scene(key)
        assert [row.answer for row in kept] == [answer for _, answer in asked]
        facts = build_scene_evidence(scene, worlds.lexicon)
        for row in kept:
            assert find_obstacle(row.program, scene, worlds.words) is None
            assert execute_program(parse_program(row.program), facts).answers == (row.answer,)


def test_a_scene_is_full_of_objects_with_colors_but_has_none_that_is_absent(worlds):
    scene, _ = worlds.simulate_scene("a")
    assert scene.is_complete and 5 <= len(scene.objects) <= OBJECTS_PER_IMAGE
    assert "dog" not in {thing.name for thing in scene.objects}
    colours = {"red", "blue", "black", "green"}
    assert all(len(colours & set(thing.attributes)) == 1 for thing in scene.objects)


def test_relations_that_hold_are_listed_both_ways(worlds):
    scene, _ = worlds.simulate_scene("b")
    edges = {(thing.object_id, e.name, e.object_id) for thing in scene.objects for e in thing.relations}
    left = {(one, other) for one, name, other in edges if name == "to the left of"}
    assert left and left == {(other, one) for one, name, other in edges if name == "to the right of"}
    assert ("7", "under", "6") in edges


def test_the_same_seed_makes_the_same_scene(worlds):
    assert worlds.simulate_scene("c") == worlds.simulate_scene("c")
