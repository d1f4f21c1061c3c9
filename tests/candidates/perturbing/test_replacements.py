from collections import Counter

import msgspec
import numpy as np

from pipeline.candidates.perturbing.replacements import PerturbParams, ReplacementSampler
from pipeline.verifier.presence_model import PresenceModel
from tests.candidates.perturbing.in_memory import perturb
from tests.candidates.perturbing.small_vocabulary import vocabulary
from tests.notation import question


def test_each_relation_is_inserted_as_often_as_it_is_removed():
    # 180 "on", 120 "in front of", 100 "behind": none is more than half of all, so that it can be done; "under",
    # which nobody says, is not said. A count of 400 draws has a standard deviation of at most 10.
    said = {"on": 180, "in front of": 120, "behind": 100}
    words = msgspec.structs.replace(vocabulary("cup", seen=()), presupposed_properties=said)
    relations = [relation for relation, count in said.items() for _ in range(count)]
    asked = [
        question(
            f"What color is the dog {relation} the cup?",
            f"select: cup (1)->relate: dog,{relation},s (2) [0]->query: color [1]",
            "red",
            question_id=f"q{i}",
        )
        for i, relation in enumerate(relations)
    ]
    tags = {f"What color is the dog {relation} the cup?": () for relation in said}

    def put(balance_words: bool) -> Counter[str]:
        candidates, _ = perturb(
            asked, tags, words, PerturbParams(balance_words=balance_words), anything_fits=True
        )
        return Counter(edit.new for c in candidates if c.subset == "pt-hard" for edit in c.edits)

    even = put(True)
    assert even.total() == 400 and all(abs(even[relation] - count) < 25 for relation, count in said.items())
    # By frequency alone: "on" in 180 / 280 of the 120 and 180 / 300 of the 100, about 137 times.
    assert put(False)["on"] < 155


def test_attributes_are_sampled_by_frequency_and_by_how_rarely_an_image_shows_them():
    words = vocabulary("cup", looks=("red",))
    words.objects["cup"] = msgspec.structs.replace(
        words.objects["cup"], attributes={"red": 5, "blue": 90, "white": 10}
    )
    words = msgspec.structs.replace(words, attribute_types=dict.fromkeys(("red", "blue", "white"), "color"))
    words.attributes.update({"red": 5, "blue": 90, "white": 10})
    presence = PresenceModel(words)
    blue, white = (
        seen * (1 - presence.estimate_attribute_presence(look, "cup"))
        for look, seen in (("blue", 90.5), ("white", 10.5))
    )
    asked = [
        question(
            "Where is the red cup?",
            "select: cup (1)->filter color: red [0]->query: hposition [1]",
            "left",
            question_id=f"q{i}",
        )
        for i in range(500)
    ]
    candidates, _ = perturb(asked, {"Where is the red cup?": ()}, words, PerturbParams(balance_words=False))
    drawn = sum("blue" in c.text for c in candidates if c.subset == "pt-hard")
    share = blue / (blue + white)
    assert abs(drawn - 500 * share) < 4 * (500 * share * (1 - share)) ** 0.5


def test_an_object_is_sampled_by_its_probability_of_absence_and_never_if_it_is_likely_present():
    replacements = ReplacementSampler(vocabulary("kite", "vase", "drum"), PerturbParams())
    present = {"kite": 0.1, "vase": 0.58, "drum": 0.59}
    rows = replacements.object_table.row_by_name
    of_each = np.array([present.get(name, 0.0) for name in replacements.object_table.names])
    replacements.presence.estimate_probabilities = lambda known: of_each
    absent = replacements.estimate_absence(None)
    assert [round(float(absent[rows[name]]), 6) for name in present] == [0.9, 0.42, 0.0]


def test_a_rare_context_uses_the_factors_of_its_sort():
    words = vocabulary("cup")
    numbers = ReplacementSampler(words, PerturbParams()).index_by_word["attribute"]
    only = {look: np.eye(len(numbers))[numbers[look]] for look in ("blue", "metal")}
    replacements = ReplacementSampler(
        words, PerturbParams(), {("attribute", ""): only["blue"], ("attribute", "common"): only["metal"]}
    )
    for context, drawn in (("rare", "blue"), ("common", "metal")):
        options = {"blue": 1.0, "metal": 1.0}
        assert {
            replacements.sample_from_weights(("attribute", context), "red", options, r) for r in (0.1, 0.9)
        } == {drawn}


def test_an_object_is_replaced_by_a_sibling_at_the_requested_rate():
    # Three others, of which one is of its category: in half of the draws that one, in the other half any; 60 * 2 / 3 = 40, with
    # a standard deviation of 3.7.
    kinds = {"furniture": ("table", "chair"), "animal": ("zebra", "giraffe")}
    words = vocabulary("table", "chair", "zebra", "giraffe", kinds=kinds)
    text = "What color is the table?"
    asked = [
        question(text, "select: table (1)->query: color [0]", "red", question_id=f"q{i}") for i in range(60)
    ]

    def chairs(share: float) -> int:
        params = PerturbParams(balance_words=False, same_category_rate=share)
        candidates, _ = perturb(asked, {text: ()}, words, params, anything_fits=True)
        return sum(edit.new == "chair" for c in candidates if c.subset == "pt-easy" for edit in c.edits)

    assert abs(chairs(0.0) - 20) < 12 and abs(chairs(0.5) - 40) < 12 and chairs(1.0) == 60
