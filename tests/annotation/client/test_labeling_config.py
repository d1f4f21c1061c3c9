import re
from base64 import b64decode
from html.parser import HTMLParser
from io import BytesIO
from typing import get_args

import pytest
from PIL import Image

from annotation.client.consent import save_terms
from annotation.client.labeling_config import TEXTS_DIR, build_instructions, build_labeling_config
from annotation.study.exports import CHOICES
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Category
from tests.annotation.interface import CONTROLS, TREE

REASONS = (*get_args(Category), "unclear image")
# What version 1.23.2 leaves in instructions (SAFE_HTML_TAGS, SAFE_HTML_ATTRIBUTES): of those, what is used here.
TAGS = {
    "style",
    "div",
    "span",
    "h1",
    "h2",
    "p",
    "ul",
    "li",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "strong",
    "em",
    "code",
}
ATTRIBUTES = {"class", "title"}


class Seen(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.open, self.text = set(), set(), [], ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data


@pytest.fixture(autouse=True)
def contact(tiny):
    save_terms(DatasetFolders(), "Lee, lee@example.org")


def test_interface_is_read_from_the_file():
    assert build_labeling_config() == (TEXTS_DIR / "interface.xml").read_text()


def test_instructions_use_only_html_that_label_studio_keeps():
    seen = Seen(build_instructions(DatasetFolders()))
    assert seen.tags <= TAGS
    assert seen.attributes <= ATTRIBUTES


def test_instructions_have_consent_guidelines_and_interface_in_order():
    text = Seen(build_instructions(DatasetFolders())).text
    order = [
        text.index(words)
        for words in (
            "free will",
            "lee@example.org",
            "When in doubt, say valid.",
            "What color is the dog?",
            "Rules of thumb",
            "By answering the first task",
        )
    ]
    assert order == sorted(order)


def test_every_image_is_embedded_byte_for_byte():
    text = build_instructions(DatasetFolders())
    names = re.findall(r"!\[[^\]]*\]\((examples/\w+\.jpg)\)", (TEXTS_DIR / "guidelines.md").read_text())
    assert len(names) == 3
    found = re.findall(
        r"width: (\d+)px; height: (\d+)px; background-image: url\(data:image/jpeg;base64,([^)]*)\)", text
    )
    assert [b64decode(data) for _, _, data in found] == [(TEXTS_DIR / name).read_bytes() for name in names]
    for width, height, data in found:
        assert Image.open(BytesIO(b64decode(data))).size == (int(width), int(height))
    for number in range(3):
        assert text.count(f'class="image image-{number}"') == 1
    assert "A street with a red car" in Seen(text).text  # for who cannot see it


def test_instructions_are_small():
    assert len(build_instructions(DatasetFolders())) < 200_000


def test_texts_can_be_replaced_in_the_study_folder():
    (DatasetFolders().study / "guidelines.md").write_text("# Our own guidelines\n\nBe kind.")
    text = Seen(build_instructions(DatasetFolders())).text
    assert "Our own guidelines" in text
    assert "When in doubt, say valid." not in text
    assert "free will" in text


def test_style_sheet_has_no_character_that_label_studio_escapes():
    style = re.search("<style>(.*?)</style>", build_instructions(DatasetFolders()), re.DOTALL).group(1)
    assert not set("<>&") & set(style)


def test_colours_of_choices_are_readable_and_distinguishable():
    """Contrast as WCAG 2.1 defines it (4.5 for text); sight without one kind of cones by the matrices of Machado, Oliveira and
    Fernandes (2009), severity 1.0, on linear RGB; distances in CIELAB, 20 is more than twice the difference that is visible at a glance."""
    fill = dict(
        re.findall(
            r"nth-child\((\d)\) label.ant-radio-wrapper-checked \{ background: #(\w{6})",
            build_labeling_config(),
        )
    )
    colours = [tuple(int(fill[place][i : i + 2], 16) / 255 for i in (0, 2, 4)) for place in "123"]
    blind = {
        "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
        "no red": (
            (0.152286, 1.052583, -0.204868),
            (0.114503, 0.786281, 0.099216),
            (-0.003882, -0.048116, 1.051998),
        ),
        "no green": (
            (0.367322, 0.860646, -0.227968),
            (0.280085, 0.672501, 0.047413),
            (-0.011820, 0.042940, 0.968881),
        ),
        "no blue": (
            (1.255528, -0.076749, -0.178779),
            (-0.078411, 0.930809, 0.147602),
            (0.004733, 0.691367, 0.303900),
        ),
    }
    for sight, matrix in blind.items():
        seen = [
            lab(tuple(sum(m * c for m, c in zip(row, linear(colour), strict=True)) for row in matrix))
            for colour in colours
        ]
        for a, b in ((0, 1), (0, 2), (1, 2)):
            assert sum((x - y) ** 2 for x, y in zip(seen[a], seen[b], strict=True)) ** 0.5 > 20, (sight, a, b)
    for colour in colours:
        red, green, blue = linear(colour)
        assert 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05) > 4.5  # white on it


def linear(colour):
    return tuple(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour)


def lab(rgb):
    r, g, b = (min(max(c, 0), 1) for c in rgb)
    x, y, z = (
        0.4124 * r + 0.3576 * g + 0.1805 * b,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        0.0193 * r + 0.1192 * g + 0.9505 * b,
    )
    fx, fy, fz = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x / 0.9505, y, z / 1.089))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def test_each_question_has_the_three_choices():
    for name in ("first", "second"):
        assert tuple(choice.get("value") for choice in CONTROLS[name].iter("Choice")) == CHOICES
        assert CONTROLS[name].get("required") == "true"


def test_hotkeys_are_unique_and_free_in_label_studio():
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


def test_no_choice_is_preselected():
    assert not [tag for tag in TREE.iter("Choice") if tag.get("selected")]


def test_reasons_are_offered_for_invalid_only():
    for name in ("first", "second"):
        reason = CONTROLS[f"{name}_reason"]
        assert tuple(choice.get("value") for choice in reason.iter("Choice")) == REASONS
        assert (reason.get("visibleWhen"), reason.get("whenTagName"), reason.get("whenChoiceValue")) == (
            "choice-selected",
            name,
            "invalid",
        )
        assert reason.get("required") != "true"


def test_interface_shows_only_task_data():
    shown = {value[1:] for tag in TREE.iter() for value in tag.attrib.values() if value.startswith("$")}
    assert shown == {"image", "first", "second"}
    image = next(TREE.iter("Image"))
    assert image.get("zoom") == image.get("zoomControl") == "true"


def test_label_studio_accepts_the_interface():
    from label_studio_sdk.label_interface import LabelInterface

    LabelInterface((TEXTS_DIR / "interface.xml").read_text()).validate()


def test_the_guidelines_name_every_choice_key_and_category():
    text = "".join((TEXTS_DIR / name).read_text() for name in ("guidelines.md", "instructions.md"))
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


def test_styles_have_no_character_that_label_studio_escapes():
    style = next(TREE.iter("Style")).text
    assert not set("<>&") & set(style)
