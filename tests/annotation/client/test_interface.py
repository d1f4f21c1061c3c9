import re
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

from annotation.study.exports import CHOICES
from pipeline.core.records import Category

HOME = Path(__file__).parents[3] / "annotation/client"
TREE = ElementTree.parse(HOME / "interface.xml").getroot()
REASONS = (*get_args(Category), "unclear picture")
CONTROLS = {tag.get("name"): tag for tag in TREE.iter("Choices")}


def test_each_question_has_the_three_choices():
    for name in ("first", "second"):
        assert tuple(choice.get("value") for choice in CONTROLS[name].iter("Choice")) == CHOICES
        assert CONTROLS[name].get("required") == "true"


def test_every_answer_and_every_reason_has_a_key_of_its_own_that_label_studio_leaves_free():
    keys = [choice.get("hotkey") for choice in TREE.iter("Choice")]
    assert None not in keys
    assert len(set(keys)) == len(keys) == 2 * (len(CHOICES) + len(REASONS))
    assert not set(keys) & {
        "u",
        "v",
        "h",
        "enter",
        "escape",
    }  # unselect, move, pan; what 1.23.2 binds on a screen without regions


def test_no_choice_is_made_for_the_annotator():
    assert not [tag for tag in TREE.iter("Choice") if tag.get("selected")]


def test_a_reason_may_be_given_for_invalid_and_is_a_category_or_the_picture():
    for name in ("first", "second"):
        reason = CONTROLS[f"{name}_reason"]
        assert tuple(choice.get("value") for choice in reason.iter("Choice")) == REASONS
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
    for name, keys in zip(
        ("first", "second"),
        re.search(r"why it is invalid \| (.*) for the first question, (.*) for the second", text).groups(),
        strict=True,
    ):
        assert re.findall("`(.)`", keys) == [
            choice.get("hotkey") for choice in CONTROLS[f"{name}_reason"].iter("Choice")
        ]
    for reason in REASONS:
        assert f"**invalid**: {reason}" in text
    assert "When in doubt, say valid." in text


def test_the_styles_hold_no_sign_that_label_studio_escapes():
    style = next(TREE.iter("Style")).text
    assert not set("<>&") & set(style)
