import base64
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from pipeline.benchmark.report.gallery import (
    LARGE_IMAGE,
    MAX_CARDS,
    SMALL_IMAGE,
    HighlightedObjects,
    find_objects,
    highlight_edits,
    make_gallery,
    make_image_data_uri,
    make_vote,
    sample_uqs,
)
from pipeline.core.errors import UserError
from pipeline.core.records import (
    Edit,
    Item,
    Question,
    SceneGraph,
    SceneObject,
    Step,
    Task,
    TaskQuestion,
    Verdict,
)
from pipeline.language.lexicon import Lexicon
from tests.benchmark.report.conftest import changed
from tests.conftest import ATTRIBUTE_TYPES, CATEGORIES


def items(count):
    return [
        Item(
            item_id=f"{i:03}",
            subset="pt-easy",
            image_id="n1",
            question_id="1",
            text="?",
            unanswerable=i % 2 == 0,
            answer="",
            pair_id="p",
            split="test",
        )
        for i in range(count)
    ]


def test_distinct_uqs_are_sampled_and_depend_only_on_the_ids():
    some = sample_uqs(items(100), 12, "pt-easy")
    assert len({item.item_id for item in some}) == 12 and all(item.unanswerable for item in some)
    assert some == sample_uqs(items(100)[::-1], 12, "pt-easy") == sorted(some, key=lambda item: item.item_id)
    assert some != sample_uqs(items(100), 12, "pt-hard")


def test_a_sample_of_more_than_there_are_has_all():
    assert len(sample_uqs(items(10), 25, "pt-easy")) == 5
    assert sample_uqs(items(10), 0, "pt-easy") == []


def task(candidate_first):
    candidate = TaskQuestion(key="c", text="candidate", role="candidate", candidate_id="x")
    gold = TaskQuestion(key="f", text="gold", role="gold", expected_choice="valid")
    first, second = (candidate, gold) if candidate_first else (gold, candidate)
    return Task(task_id="t", image_id="n1", subset="pt-easy", first=first, second=second)


@pytest.mark.parametrize("candidate_first", [True, False])
def test_a_vote_is_the_verdict_on_the_candidate_in_either_position(candidate_first):
    on_candidate, on_gold = ("invalid", "missing object"), ("valid", "")
    (first, why_first), (second, why_second) = (
        (on_candidate, on_gold) if candidate_first else (on_gold, on_candidate)
    )
    verdict = Verdict(
        verdict_id="v",
        task_id="t",
        annotator="ann",
        first=first,
        second=second,
        first_reason=why_first,
        second_reason=why_second,
    )
    found = make_vote(task(candidate_first), verdict, "x", "gold question failed")
    assert (found.annotator, found.choice, found.reason, found.exclusion_reason) == (
        "ann",
        "invalid",
        "missing object",
        "gold question failed",
    )


def test_unsure_is_shown_with_its_meaning():
    verdict = Verdict(verdict_id="v", task_id="t", annotator="ann", first="unsure", second="valid")
    assert make_vote(task(True), verdict, "x", "").choice == "unsure (counts as valid)"


@pytest.fixture
def cards(run):
    return make_gallery(run, 25)


def test_every_subset_shows_its_items_with_all_votes(cards, run):
    assert list(cards) == list(run.items)
    for subset, shown in cards.items():
        assert len(shown) == min(25, sum(item.unanswerable for item in run.items[subset]))
        for card in shown:
            assert "".join(span.text for span in card.text) == card.item.text
            # verified.jsonl has the number of votes, and the card shows each of them, and the verdicts of adjudicators.
            counted = [
                vote.choice
                for vote in card.votes
                if not vote.exclusion_reason and not vote.annotator.startswith("adjudicator-")
            ]
            found = run.verified[card.item.item_id]
            assert (counted.count("invalid"), len(counted), len(card.votes)) == (
                found.votes_invalid,
                found.votes_invalid + found.votes_valid,
                len(found.verdict_ids),
            )


def test_the_paired_aq_is_that_of_the_pair(cards, run):
    answered = {item.item_id: item for rows in run.items.values() for item in rows if not item.unanswerable}
    for subset, shown in cards.items():
        for card in shown:
            source = run.questions[card.item.question_id]
            assert card.paired_question.question_id in answered and card.paired_question.answer
            assert bool(card.paired_image) == (card.paired_question.image_id != card.item.image_id)
            if subset.startswith("pt"):
                assert card.paired_question == source and source.image_id == card.item.image_id
            else:
                assert card.paired_question.text == card.item.text and source.image_id != card.item.image_id


def test_boxes_are_shown_only_with_scene_graphs(cards, run):
    own = [card for subset in ("pt-easy", "pt-hard") for card in cards[subset]]
    assert own and all(card.objects.boxes for card in own)
    assert any(card.objects.edited_ids for card in own)
    bare = make_gallery(changed(run, scenes={}), 2)
    assert not [
        card for shown in bare.values() for card in shown if card.objects.boxes or card.objects.unlisted_names
    ]


LEXICON = Lexicon(CATEGORIES, ATTRIBUTE_TYPES)
SCENE = SceneGraph(
    image_id="n1",
    split="val",
    width=400,
    height=300,
    objects=(
        SceneObject(object_id="11", name="table", x=100, y=200, w=150, h=80, attributes=("red",)),
        SceneObject(object_id="12", name="cup", x=120, y=170, w=30, h=30),
        SceneObject(object_id="13", name="dog", x=10, y=190, w=60, h=70),
        SceneObject(object_id="14", name="cat", x=300, y=190, w=60, h=70),
    ),
)
STEPS = (  # "What color is the cup on the red table?"
    Step(operation="select", argument="table (11)", dependencies=()),
    Step(operation="filter color", argument="red", dependencies=(0,)),
    Step(operation="relate", argument="cup,on,s (12)", dependencies=(1,)),
    Step(operation="query", argument="color", dependencies=(2,)),
)


def question(program=STEPS, image="n1"):
    return Question(question_id="1", image_id=image, split="val", text="?", answer="blue", program=program)


def edited_item(*steps):
    edits = tuple(Edit(start=0, end=1, kind="object", old="a", new="b", step_index=step) for step in steps)
    return Item(
        item_id="x",
        subset="pt-easy",
        image_id="n1",
        question_id="1",
        text="?",
        unanswerable=True,
        answer="",
        pair_id="p",
        split="test",
        edits=edits,
    )


def summarize(found: HighlightedObjects):
    return [(box.name, box.object_id in found.edited_ids) for box in found.boxes]


@pytest.mark.parametrize(
    ("edited", "expected"),
    [
        ((), [("table", False), ("cup", False)]),
        ((0,), [("table", True), ("cup", False)]),  # The object is replaced.
        ((1,), [("table", True), ("cup", False)]),  # The attribute is replaced.
        ((2,), [("table", False), ("cup", True)]),
        ((-1,), [("table", False), ("cup", False)]),  # The edit belongs to no step.
    ],
)
def test_a_question_about_its_own_image_shows_the_objects_of_its_program(edited, expected):
    assert summarize(find_objects(edited_item(*edited), question(), SCENE, LEXICON)) == expected


def test_a_box_is_that_of_the_graph():
    box = find_objects(edited_item(), question(), SCENE, LEXICON).boxes[1]
    assert (box.x, box.y, box.w, box.h) == (120, 170, 30, 30)


def test_a_question_of_another_image_shows_the_objects_with_its_names():
    # "Is the animal near the tractor?": the dog and the cat are animals; no tractor is listed.
    program = (
        Step(operation="select", argument="tractor (99)", dependencies=()),
        Step(operation="relate", argument="animal,near,s (98)", dependencies=(0,)),
        Step(operation="exist", argument="?", dependencies=(1,)),
    )
    found = find_objects(edited_item(), question(program, image="n2"), SCENE, LEXICON)
    assert summarize(found) == [("dog", False), ("cat", False)]
    assert found.unlisted_names == ("tractor",)


def test_object_ids_of_another_image_are_not_used():
    # Object 12 of image n2 is a bench. The cup with the same id in this image is a different object.
    program = (
        Step(operation="select", argument="bench (12)", dependencies=()),
        Step(operation="query", argument="color", dependencies=(0,)),
    )
    found = find_objects(edited_item(), question(program, image="n2"), SCENE, LEXICON)
    assert (found.boxes, found.unlisted_names) == ((), ("bench",))


def test_the_scene_itself_is_not_an_object():
    program = (
        Step(operation="select", argument="scene", dependencies=()),
        Step(operation="query", argument="place", dependencies=(0,)),
    )
    assert find_objects(edited_item(), question(program, image="n2"), SCENE, LEXICON) == HighlightedObjects()


@pytest.mark.parametrize(("program", "scene"), [((), SCENE), (STEPS, None)])
def test_without_a_graph_or_a_program_there_are_no_boxes(program, scene):
    assert find_objects(edited_item(), question(program), scene, LEXICON) == HighlightedObjects()


def decoded(uri):
    head, _, body = uri.partition(",")
    assert head == "data:image/jpeg;base64"
    return base64.b64decode(body)


def noise(path, mode="RGB", size=(1600, 1200)):
    """Write an image of noise, the worst case for JPEG."""
    shape = size[::-1] if mode in ("L", "P") else (*size[::-1], len(mode))
    Image.fromarray(
        np.random.default_rng(0).integers(0, 256, shape, np.uint8), None if mode in ("RGB", "RGBA") else "L"
    ).convert(mode).save(path)
    return path


@pytest.mark.parametrize("size", [LARGE_IMAGE, SMALL_IMAGE])
@pytest.mark.parametrize(("mode", "ending"), [("RGB", "jpg"), ("L", "png"), ("P", "gif")])
def test_any_image_becomes_a_small_jpeg_of_the_same_shape(tmp_path, mode, ending, size):
    data = decoded(make_image_data_uri(noise(tmp_path / f"x.{ending}", mode), size))
    with Image.open(io.BytesIO(data)) as image:
        assert image.format == "JPEG" and image.size == (size[0], size[0] * 3 // 4)
    assert len(data) <= size[1]


def test_a_square_image_of_noise_stays_within_the_limit(tmp_path):
    assert (
        len(decoded(make_image_data_uri(noise(tmp_path / "x.png", size=(900, 900)), LARGE_IMAGE)))
        <= LARGE_IMAGE[1]
    )


def test_the_largest_gallery_is_below_ten_megabytes():
    # There are 4 subsets, and a large and a small image per item. Base64 turns 3 bytes into 4.
    assert 4 * MAX_CARDS * (LARGE_IMAGE[1] + SMALL_IMAGE[1]) * 4 / 3 < 9e6


def test_a_small_image_is_not_enlarged(tmp_path):
    Image.new("RGB", (40, 20), "red").save(tmp_path / "x.png")
    with Image.open(io.BytesIO(decoded(make_image_data_uri(tmp_path / "x.png", LARGE_IMAGE)))) as image:
        assert image.size == (40, 20)


def test_the_same_file_gives_the_same_bytes(tmp_path):
    path = noise(tmp_path / "x.png")
    assert make_image_data_uri(path, LARGE_IMAGE) == make_image_data_uri(path, LARGE_IMAGE)


@pytest.mark.parametrize("content", [None, b"no image", b"\x89PNG\r\n\x1a\n"])
def test_a_missing_or_damaged_image_is_reported(tmp_path, content):
    path = tmp_path / "n1.png"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match="n1.png: "):
        make_image_data_uri(path, LARGE_IMAGE)


def edit(source: str, old: str, new: str, kind: str = "object") -> Edit:
    start = source.index(old)
    return Edit(start=start, end=start + len(old), kind=kind, old=old, new=new)


def marks(spans):
    return [(span.text, span.highlight) for span in spans if span.highlight]


@pytest.mark.parametrize(
    ("source", "edited", "swaps", "removed", "inserted"),
    [
        (
            "What color is the cup?",
            "What color is the dog?",
            [("cup", "dog")],
            [("cup", "edit")],
            [("dog", "edit")],
        ),
        # A changed article is an agreement change.
        (
            "Is there a cup on an apple?",
            "Is there an owl on an apple?",
            [("cup", "owl")],
            [("a", "agreement"), ("cup", "edit")],
            [("an", "agreement"), ("owl", "edit")],
        ),
        # A changed verb at a distance is an agreement change.
        (
            "Is the red cup full?",
            "Are the red hats full?",
            [("cup", "hats")],
            [("Is", "agreement"), ("cup", "edit")],
            [("Are", "agreement"), ("hats", "edit")],
        ),
        (
            "Is the traffic light on?",
            "Is the dog on?",
            [("traffic light", "dog")],
            [("traffic light", "edit")],
            [("dog", "edit")],
        ),
        (
            "Is the dog on?",
            "Is the traffic light on?",
            [("dog", "traffic light")],
            [("dog", "edit")],
            [("traffic light", "edit")],
        ),
        # Of "to the left of" only the word that differs is highlighted.
        (
            "Is it to the left of the car?",
            "Is it to the right of the car?",
            [("to the left of", "to the right of")],
            [("left", "edit")],
            [("right", "edit")],
        ),
        (
            "What is the dog near the dog?",
            "What is the cat near the dog?",
            [("dog", "cat")],
            [("dog", "edit")],
            [("cat", "edit")],
        ),
        ("What is this?", "What is this?", [], [], []),
    ],
)
def test_edits_are_highlighted(source, edited, swaps, removed, inserted):
    before, after = highlight_edits(source, edited, [edit(source, *swap) for swap in swaps])
    assert (marks(before), marks(after)) == (removed, inserted)


@given(st.text(max_size=40), st.text(max_size=40), st.integers(0, 40), st.integers(0, 10))
def test_the_spans_joined_are_the_whole_text(source, edited, start, length):
    swap = Edit(start=start, end=start + length, kind="object", old="", new="")
    before, after = highlight_edits(source, edited, [swap])
    assert ("".join(p.text for p in before), "".join(p.text for p in after)) == (source, edited)


def test_every_edit_of_a_run_is_highlighted(run):
    edited = [item for rows in run.items.values() for item in rows if item.edits]
    assert edited
    for item in edited:
        source = run.questions[item.question_id].text
        before, after = highlight_edits(source, item.text, item.edits)
        assert any(mark == "edit" for _, mark in marks(before)) and any(
            mark == "edit" for _, mark in marks(after)
        ), item.text
