from collections import Counter

import msgspec
import numpy as np

from pipeline.counting.presence import Presence
from pipeline.perturbing.replacements import PerturbParams, Replacements
from tests.notation import question
from tests.pipeline.perturbing.in_memory import perturb
from tests.pipeline.perturbing.small_vocabulary import vocabulary


def test_each_relation_is_put_in_as_often_as_it_is_taken_out():
    # 180 "on", 120 "in front of", 100 "behind": none is more than half of all, so that it can be done; "under",
    # which nobody says, is not said. A count of 400 draws has a standard deviation of at most 10.
    said = {"on": 180, "in front of": 120, "behind": 100}
    words = msgspec.structs.replace(vocabulary("cup", seen=()), described=said)
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

    def put(even_words: bool) -> Counter[str]:
        candidates, _ = perturb(asked, tags, words, PerturbParams(even_words=even_words), anything_fits=True)
        return Counter(edit.new for c in candidates if c.subset == "pt-hard" for edit in c.edits)

    even = put(True)
    assert even.total() == 400 and all(abs(even[relation] - count) < 25 for relation, count in said.items())
    # By frequency alone: "on" in 180 / 280 of the 120 and 180 / 300 of the 100, about 137 times.
    assert put(False)["on"] < 155


def test_looks_are_drawn_by_how_often_they_are_seen_and_how_seldom_a_picture_has_them_anyway():
    words = vocabulary("cup", looks=("red",))
    words.objects["cup"] = msgspec.structs.replace(
        words.objects["cup"], attributes={"red": 5, "blue": 90, "white": 10}
    )
    words = msgspec.structs.replace(words, attribute_types=dict.fromkeys(("red", "blue", "white"), "color"))
    words.attributes.update({"red": 5, "blue": 90, "white": 10})
    presence = Presence(words)
    blue, white = (
        seen * (1 - presence.look(look, "cup")) for look, seen in (("blue", 90.5), ("white", 10.5))
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
    candidates, _ = perturb(asked, {"Where is the red cup?": ()}, words, PerturbParams(even_words=False))
    drawn = sum("blue" in c.text for c in candidates if c.subset == "pt-hard")
    share = blue / (blue + white)
    assert abs(drawn - 500 * share) < 4 * (500 * share * (1 - share)) ** 0.5


def test_a_thing_is_drawn_by_how_probably_the_picture_does_not_show_it_and_never_if_it_likely_does():
    replacements = Replacements(vocabulary("kite", "vase", "drum"), PerturbParams())
    present = {"kite": 0.1, "vase": 0.58, "drum": 0.59}
    rows = replacements.table.row
    of_each = np.array([present.get(name, 0.0) for name in replacements.table.names])
    replacements.presence.given = lambda known: of_each
    absent = replacements.absent(None)
    assert [round(float(absent[rows[name]]), 6) for name in present] == [0.9, 0.42, 0.0]
