from collections import Counter

import msgspec

from pipeline.perturbing.replacements import PerturbParams
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
            f"What is {relation} the cup?",
            f"select: cup (1)->relate: _,{relation},s (2) [0]->query: name [1]",
            "dog",
            question_id=f"q{i}",
        )
        for i, relation in enumerate(relations)
    ]
    tags = {f"What is {relation} the cup?": () for relation in said}

    def put(even_words: bool) -> Counter[str]:
        candidates, _ = perturb(asked, tags, words, PerturbParams(even_words=even_words))
        return Counter(edit.new for c in candidates if c.subset == "pt-hard" for edit in c.edits)

    even = put(True)
    assert even.total() == 400 and all(abs(even[relation] - count) < 25 for relation, count in said.items())
    # By frequency alone: "on" in 180 / 280 of the 120 and 180 / 300 of the 100, about 137 times.
    assert put(False)["on"] < 155


def test_looks_follow_their_real_frequencies():
    # 90 blue and 10 white cups: of 500 red ones about 450 become blue (standard deviation 6.7).
    words = vocabulary("cup", looks=("red",))
    words.objects["cup"] = msgspec.structs.replace(
        words.objects["cup"], attributes={"red": 5, "blue": 90, "white": 10}
    )
    words.attribute_types["white"] = "color"
    words.described.update({"red": 5, "blue": 90, "white": 10})
    asked = [
        question(
            "Where is the red cup?",
            "select: cup (1)->filter color: red [0]->query: hposition [1]",
            "left",
            question_id=f"q{i}",
        )
        for i in range(500)
    ]
    candidates, _ = perturb(asked, {"Where is the red cup?": ()}, words, PerturbParams())
    blue = sum("blue" in c.text for c in candidates if c.subset == "pt-hard")
    assert 420 <= blue <= 480
