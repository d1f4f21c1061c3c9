import re
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

from annotation.exports import CHOICES
from pipeline.core.records import Category

HOME = Path(__file__).parent.parent.parent / "annotation"
TREE = ElementTree.parse(HOME / "interface.xml").getroot()
CONTROLS = {tag.get("name"): tag for tag in TREE.iter("Choices")}


def test_each_question_has_the_three_choices_and_all_hot_keys_differ():
    keys = [choice.get("hotkey") for name in ("first", "second") for choice in CONTROLS[name].iter("Choice")]
    assert len(set(keys)) == 6
    assert None not in keys
    for name in ("first", "second"):
        assert tuple(choice.get("value") for choice in CONTROLS[name].iter("Choice")) == CHOICES
        assert CONTROLS[name].get("required") == "true"


def test_no_choice_is_made_for_the_annotator():
    assert not [tag for tag in TREE.iter("Choice") if tag.get("selected")]


def test_a_reason_may_be_given_for_invalid_and_is_one_of_the_categories():
    for name in ("first", "second"):
        reason = CONTROLS[f"{name}_reason"]
        assert tuple(choice.get("value") for choice in reason.iter("Choice")) == get_args(Category)
        assert (reason.get("visibleWhen"), reason.get("whenTagName"), reason.get("whenChoiceValue")) == (
            "choice-selected",
            name,
            "invalid",
        )
        assert reason.get("required") != "true"


def test_the_screen_shows_what_a_task_holds_and_no_more():
    shown = {value[1:] for tag in TREE.iter() for value in tag.attrib.values() if value.startswith("$")}
    assert shown == {"image", "first", "second"}
    image = next(TREE.iter("Image"))
    assert image.get("zoom") == image.get("zoomControl") == "true"


def test_label_studio_accepts_the_interface():
    from label_studio_sdk.label_interface import LabelInterface

    LabelInterface((HOME / "interface.xml").read_text()).validate()


def test_the_guidelines_name_every_choice_key_and_category():
    text = (HOME / "guidelines.md").read_text()
    for name in ("first", "second"):
        for choice in CONTROLS[name].iter("Choice"):
            assert re.search(rf"\*\*{choice.get('value')}\*\*.*`{choice.get('hotkey')}`", text)
    for category in get_args(Category):
        assert f"**invalid**: {category}" in text
    assert "When in doubt, say valid." in text
