"""A simulated vision-language model sees the synthetic world with errors at known rates."""

import json
from pathlib import Path

import pytest

from pipeline.drafting.images import Photographs
from pipeline.drafting.look_reader import read_look
from pipeline.drafting.prompts import DraftPrompts
from pipeline.inference.probe import BLUE, PROBE_QUESTION, RED, make_square_png
from research.synthetic_world.ontology import COLORS
from research.synthetic_world.served_models import ChatTurn
from research.synthetic_world.vision_model import VisionErrors, load_vision_model

IMAGES, TRUTH = Path("data/sample/source/images"), Path("data/sample/truth")
PROMPTS = DraftPrompts()


def open_model(**errors):
    return load_vision_model(IMAGES, TRUTH, VisionErrors(**errors))


@pytest.fixture(scope="module")
def faultless():
    return open_model()


def say(model, text, image):
    return "".join(next(iter(token)) for token in model.generate("vlm", [ChatTurn("user", text, image)]))


def read(image_id):
    return (IMAGES / f"{image_id}.jpg").read_bytes()


def test_without_errors_it_lists_the_truth(faultless):
    for image_id in [*faultless._scenes][:5]:
        look = read_look(image_id, say(faultless, PROMPTS.look((448, 336)), read(image_id)), (448, 336))
        truth = faultless._scenes[image_id]
        assert sorted(obj.name for obj in look.objects) == sorted(obj.name for obj in truth.objects)
        boxes = {obj.object_id: (obj.x, obj.y, obj.w, obj.h) for obj in truth.objects}
        for obj in look.objects:
            left, top = boxes[obj.object_id][:2]
            clipped = max(left, 0), max(top, 0)
            # A thousandth of 448 pixels is less than half a pixel, at both ends of a box.
            assert all(abs(one - other) <= 1 for one, other in zip(obj.box[:2], clipped, strict=True)), obj
        # About twelve are written. Some only ask whether something is there, and are left out.
        assert len(look.questions) >= 8 and look.absent and not look.is_damaged


def test_without_errors_it_answers_its_own_questions_again(faultless):
    for image_id in [*faultless._scenes][:5]:
        for row in json.loads(say(faultless, PROMPTS.look((448, 336)), read(image_id)))["questions"]:
            assert say(faultless, PROMPTS.question(row["question"]), read(image_id)) == row["answer"]


def test_a_part_of_an_image_is_recognized(faultless):
    images = Photographs(IMAGES)
    image_id, scene = next(iter(faultless._scenes.items()))
    named = 0
    for obj in scene.objects:
        part = images.encode(image_id, (obj.x, obj.y, obj.w, obj.h)).data
        named += json.loads(say(faultless, PROMPTS.crop(), part))["name"] == obj.name
    # Parts of 96 pixels may show two small objects equally well.
    assert named >= len(scene.objects) - 2


def test_it_names_the_colors_of_the_probe(faultless):
    said = [say(faultless, PROBE_QUESTION, make_square_png(color)) for color in (RED, BLUE)]
    assert said == ["red", "blue"]


def test_another_image_is_refused(faultless):
    with pytest.raises(ValueError, match="none of the images"):
        say(faultless, "What is it?", make_square_png(RED))


@pytest.mark.parametrize("kind", ["miss_rate", "invention_rate", "color_error_rate"])
def test_errors_have_the_given_rate(kind):
    model = open_model(**{kind: 0.2})
    errors = total = 0
    for image_id, truth in model._scenes.items():
        seen = {obj.object_id: obj for obj in model.perceive(image_id, "look").objects}
        for obj in truth.objects:
            colors = {one for one in obj.attributes if one in COLORS}
            total += bool(colors) if kind == "color_error_rate" else 1
            if kind == "miss_rate":
                errors += obj.object_id not in seen
            elif kind == "invention_rate":
                errors += f"{obj.object_id}9" in seen
            else:
                errors += not colors <= {*seen[obj.object_id].attributes}
    # About 1,400 objects: three standard errors are 0.033. Kinds with one color keep it.
    assert 0.16 < errors / total < 0.235, errors / total


def test_persistent_errors_are_made_in_all_looks():
    for persistence, expected in ((1.0, {True}), (0.0, {True, False})):
        model = open_model(miss_rate=0.3, persistence=persistence)
        looks = [[model.perceive(image_id, f"look {n}") == model.perceive(image_id, "look") for image_id in model._scenes] for n in range(3)]  # fmt: skip
        assert {same for row in looks for same in row} == expected


def test_broken_replies_are_read_as_far_as_possible():
    model = open_model(json_fault_rate=1.0)
    looks = [
        read_look(image_id, say(model, PROMPTS.look((448, 336)), read(image_id)), (448, 336))
        for image_id in [*model._scenes][:40]
    ]
    # Half of them are truncated, the others have text around them.
    assert 10 <= sum(look.is_damaged for look in looks) <= 30
    assert all(look.objects for look in looks)


def test_the_same_request_gets_the_same_reply():
    errors = {"miss_rate": 0.2, "invention_rate": 0.2, "color_error_rate": 0.2, "json_fault_rate": 0.5}
    one, other = open_model(**errors), open_model(**errors)
    image_id = next(iter(one._scenes))
    for text in (PROMPTS.look((448, 336)), PROMPTS.question("What color is the chair?")):
        assert say(one, text, read(image_id)) == say(other, text, read(image_id))
    assert say(open_model(**errors, seed=1), PROMPTS.look((448, 336)), read(image_id)) != say(
        one, PROMPTS.look((448, 336)), read(image_id)
    )
