"""Evidence about an image, and how it is loaded."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from pipeline.core.json_files import write_jsonl
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import SceneGraph
from pipeline.verifier.evidence import (
    MAX_FALSE_PROBABILITY,
    UNKNOWN_PROBABILITY,
    ObjectEvidence,
    Selection,
)
from pipeline.verifier.evidence_loading import make_evidence_loader
from pipeline.verifier.verification import verify_question
from tests.notation import LEXICON, Gaps, facts, scene, steps

# Evidence
# Truth values (True, False, None for not known) and selections of the evidence about an image.


@pytest.mark.parametrize(
    ("listed", "asked", "truth"),
    [
        ("red", "red", True),
        # An object has one color.
        ("red", "blue", False),
        ("red", "wood", None),
        ("", "red", None),
        # Light blue is also blue.
        ("blue", "light blue", None),
        ("open", "closed", False),
        # The type is not known, so both may be true.
        ("muddy", "dusty", None),
    ],
)
def test_in_incomplete_evidence_only_contradicted_facts_are_false(listed, asked, truth):
    known = facts(f"door 1: {listed}", complete=False)
    assert known.evaluate_attribute(known.objects[0], asked) is truth


@pytest.mark.parametrize(("listed", "asked"), [("red", "red"), ("red", "blue"), ("red", "wood"), ("", "red")])
def test_in_a_complete_scene_unlisted_facts_are_false(listed, asked):
    known = facts(f"door 1: {listed}")
    assert known.evaluate_attribute(known.objects[0], asked) is (listed == asked)


def test_the_type_of_an_attribute_may_come_from_the_program():
    known = facts("door 1: red", complete=False)
    assert known.evaluate_attribute(known.objects[0], "mauve", "color") is False
    assert known.evaluate_attribute(known.objects[0], "mauve") is None
    assert LEXICON.get_attribute_type("mauve") == ""


@pytest.mark.parametrize(
    ("relation", "asked", "truth"),
    [
        ("to the left of", "to the left of", True),
        ("left of", "to the left of", True),
        ("to the left of", "to the right of", False),
        ("above", "below", False),
        ("in front of", "behind", False),
        ("on", "under", False),
        ("on top of", "on", True),
        ("sitting on", "on", True),
        ("beside", "next to", True),
        ("to the left of", "above", None),
        ("on", "near", None),
    ],
)
def test_relations_have_synonyms_and_antonyms(relation, asked, truth):
    known = facts(f"cup 1; {relation} 2", "box 2", complete=False)
    cup, box = known.objects
    assert known.evaluate_relation(cup, asked, box) is truth


@pytest.mark.parametrize(
    ("relation", "inverse", "truth"),
    [
        ("to the left of", "to the right of", True),
        ("above", "below", True),
        ("in front of", "behind", True),
        ("near", "near", True),
        ("to the left of", "to the left of", False),
        ("behind", "behind", False),
        ("on", "on", False),
        ("on", "under", None),
        ("wearing", "wearing", None),
    ],
)
def test_relations_imply_or_exclude_the_other_direction(relation, inverse, truth):
    known = facts(f"cup 1; {relation} 2", "box 2", complete=False)
    cup, box = known.objects
    assert known.evaluate_relation(box, inverse, cup) is truth


@pytest.mark.parametrize(
    ("x", "zones"),
    [
        (0, {"left"}),
        (359, {"left"}),
        (361, {"left", "middle"}),
        (439, {"left", "middle"}),
        (441, {"middle"}),
        (500, {"middle"}),
        (559, {"middle"}),
        (561, {"middle", "right"}),
        (641, {"right"}),
        (1000, {"right"}),
    ],
)
def test_the_image_has_three_zones_and_four_percent_of_doubt_around_their_borders(x, zones):
    known = facts(f"cup 1 at {x} 500")
    assert known.objects[0].possible_positions["hposition"] == zones


def test_a_changed_copy_of_evidence_does_not_reuse_selections():
    known = facts("cup 1", complete=False)
    assert known.select_objects("lamp").has_possible_others
    assert not replace(known, completeness=Gaps(0.01)).select_objects("lamp").has_possible_others


CUP = ObjectEvidence("1", ("cup",), "cup")


def test_object_evidence_is_compared_by_identity():
    assert ObjectEvidence("1", ("cup",), "cup") != ObjectEvidence("1", ("cup",), "cup")


@pytest.mark.parametrize(
    ("selection", "others", "is_open", "some"),
    [
        (Selection((CUP,)), 0, False, True),
        (Selection(()), 0, False, False),
        # The expected number is at most MAX_FALSE_PROBABILITY.
        (Selection((), ((CUP, 0.02),), 0.01), 0.03, False, False),
        (Selection((), ((CUP, 0.02),), 0.02), 0.04, True, True),
        (Selection((CUP,), expected_unlisted=UNKNOWN_PROBABILITY), UNKNOWN_PROBABILITY, True, True),
    ],
)
def test_an_improbable_selection_is_empty(selection, others, is_open, some):
    assert MAX_FALSE_PROBABILITY == 0.03
    assert (selection.expected_others, selection.has_possible_others, bool(selection)) == (
        pytest.approx(others),
        is_open,
        some,
    )


# Evidence loading
# Evidence that is loaded from the files of the stages.


def test_evidence_is_loaded_from_the_files_of_the_stages(tmp_path, monkeypatch, vocabulary):
    monkeypatch.chdir(tmp_path)
    folders = DatasetFolders("d")
    write_jsonl(folders.record_file(SceneGraph), [scene("cup 1 at 500 500: red", complete=False)])
    write_jsonl(folders.stage_dir("vocabulary") / "reconstructed.jsonl", [])
    dog = steps("select: dog (-)->query: color [0]")
    for complete, answerability in ((False, "unknown"), (True, "unanswerable")):
        load_evidence = make_evidence_loader(folders, vocabulary, complete)
        assert verify_question(dog, load_evidence("p")).answerability == answerability
        assert load_evidence("q") is None


def test_loaded_evidence_has_completeness_if_the_recall_is_known(tmp_path, monkeypatch, vocabulary):
    monkeypatch.chdir(tmp_path)
    folders = DatasetFolders("d")
    write_jsonl(folders.record_file(SceneGraph), [scene("cup 1 at 500 500: red", complete=False)])
    write_jsonl(folders.stage_dir("vocabulary") / "reconstructed.jsonl", [])
    with_recall = msgspec.structs.replace(vocabulary, annotation_recall={"object": 0.9})
    assert make_evidence_loader(folders, vocabulary)("p").completeness is None
    assert make_evidence_loader(folders, with_recall)("p").completeness is not None
