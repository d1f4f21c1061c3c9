"""Replacement words: plausibility, the table of objects and raking."""

from collections import Counter

import msgspec
import numpy as np
import pytest

from pipeline.candidates.perturbing.object_table import ObjectTable
from pipeline.candidates.perturbing.plausibility import (
    MIN_LIFT,
    PRIOR_STRENGTH,
    ObjectConstraints,
    PlausibilityModel,
)
from pipeline.candidates.perturbing.raking import SlotOptions, fit_word_factors, rake_word_weights
from pipeline.candidates.perturbing.replacements import PerturbParams, ReplacementSampler
from pipeline.core.records import ObjectEntry, Vocabulary
from pipeline.verifier.presence_model import PresenceModel
from tests.candidates.perturbing.in_memory import NO_WORDS, perturb
from tests.candidates.perturbing.small_vocabulary import LOOKS, vocabulary
from tests.notation import question

# Replacements


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


# Plausibility
# What fits, where little was counted and where much was.


def model(
    *names: str,
    count: int = 1,
    related: tuple[tuple[str, str, str, int], ...] = (),
    looks: dict[str, dict[str, int]] | None = None,
    kinds: dict[str, tuple[str, ...]] | None = None,
) -> PlausibilityModel:
    """Things of these names, each seen so often, with relations between them and looks."""
    objects = {}
    for name in names:
        subject_of, object_of = {}, {}
        for relation, subject, other, seen in related:
            if subject == name:
                subject_of[relation] = subject_of.get(relation, 0) + seen
            if other == name:
                object_of[relation] = object_of.get(relation, 0) + seen
        objects[name] = ObjectEntry(
            name=name,
            count=count,
            number="singular",
            attributes=(looks or {}).get(name, {}),
            subject_of=subject_of,
            object_of=object_of,
        )
    words = Vocabulary(
        objects=objects,
        attributes={},
        attribute_types=LOOKS,
        relations={},
        categories=kinds or {},
        locations={},
        weathers={},
        relation_counts=related,
    )
    return PlausibilityModel(words, sorted({*names, *(kinds or {})}))


def fitting(one: PlausibilityModel, demanded: ObjectConstraints) -> set[str]:
    return {name for name, fit in zip(one.names, one.score_objects(demanded), strict=True) if fit}


def test_without_counts_common_sense_decides():
    one = model("man", "statue", "zebra", "fence", "hat", "sky", "brick")
    assert fitting(one, ObjectConstraints(relations=(("wearing", "s", "hat"),))) == {"man", "statue"}
    assert fitting(one, ObjectConstraints(relations=(("wearing", "o", "man"),))) == {"hat"}
    assert "sky" not in fitting(one, ObjectConstraints(relations=(("in front of", "o", "man"),)))
    assert fitting(one, ObjectConstraints(attributes=(("young",),))) == {"man", "zebra"}


def test_all_constraints_of_an_object_must_hold_at_once():
    # Elephants may be old, people may wear jeans; who does both is a person.
    one = model("elephant", "man", "couch", "jeans")
    old, wearing = (("old",),), (("wearing", "s", "jeans"),)
    assert fitting(one, ObjectConstraints(attributes=old)) >= {"elephant", "man", "couch"}
    assert fitting(one, ObjectConstraints(attributes=old, relations=wearing)) == {"man"}


def test_two_objects_must_fit_as_a_pair():
    # Cups are on tables, birds on trees.
    one = model("cup", "bird", "table", "tree")
    assert fitting(one, ObjectConstraints(relations=(("on", "s", "tree"),))) == {"bird"}
    assert fitting(one, ObjectConstraints(relations=(("on", "o", "cup"),))) == {"table"}


def test_counts_overrule_common_sense_both_ways():
    # 1,000 things of each of four names, 200 zebras seen in hats, of 400 hats worn; no statue.
    worn = (("wearing", "man", "hat", 200), ("wearing", "zebra", "hat", 200))
    one = model("man", "statue", "zebra", "hat", count=1000, related=worn)
    assert fitting(one, ObjectConstraints(relations=(("wearing", "s", "hat"),))) == {"man", "zebra"}


def test_three_sightings_against_common_sense_are_errors_and_four_are_not():
    # Of three names a third of the sightings is expected.
    assert 3 / (1 + PRIOR_STRENGTH) < MIN_LIFT < 4 / (4 / 3 + PRIOR_STRENGTH)
    for seen, found in ((3, {"man"}), (4, {"man", "fence"})):
        related = (("wearing", "fence", "hat", seen),)
        one = model("man", "fence", "hat", related=related)
        assert fitting(one, ObjectConstraints(relations=(("wearing", "s", "hat"),))) == found


def test_the_lift_is_the_shrunken_ratio_of_seen_to_expected():
    # 30 blue things, 24 of them kites; kites are 20 of 80 things. Of no other thing of its kind anything was seen, so
    # that its lift is (24 + 10 * 1) / (30 / 4 + 10) = 1.942857.
    one = model("kite", "cup", "couch", "car", count=20, looks={"kite": {"blue": 24}, "cup": {"blue": 6}})
    assert PRIOR_STRENGTH == 10
    assert one.score_attribute("kite", "blue", "color") == pytest.approx(34 / 17.5)
    # Of couches none was seen, of 7.5 that are expected.
    assert one.score_attribute("couch", "blue", "color") == pytest.approx(10 / 17.5)


def test_observations_of_its_kind_raise_the_score_of_an_object():
    # Four names of 20 things each; 30 blue ones, all cups. Of its kind a bowl expects 30 / 4 and sees 30: 40 / 17.5, of
    # itself none of 7.5: 10 * 40 / 17.5 / 17.5.
    one = model("cup", "bowl", "couch", "car", count=20, looks={"cup": {"blue": 30}})
    assert one.score_attribute("bowl", "blue", "color") == pytest.approx(10 * (40 / 17.5) / 17.5)


def test_a_category_fits_as_its_members_do_by_how_common_they_are():
    one = model("cup", "vase", "man", kinds={"crockery": ("cup", "vase")}, count=50)
    assert one.score_attribute("crockery", "red", "color") == pytest.approx(1, abs=1e-5)
    assert one.score_attribute("crockery", "young", "age") == 0


def test_an_unknown_fact_fits_nothing():
    assert (
        fitting(model("cup", "bowl", "man"), ObjectConstraints(relations=(("gizmoing", "s", ""),))) == set()
    )


def test_unknown_objects_fit_anything():
    one = PlausibilityModel(NO_WORDS, ["cup"])
    assert one.score_attribute("_", "red", "color") == 1
    assert np.isfinite(one.score_objects(ObjectConstraints())).all()


def test_an_unlisted_attribute_fits_objects_observed_with_it():
    # Common sense allows it of nothing, four names share 24 sightings, all of kites: (24 + 10 * 0) / (24 / 4 + 10) = 1.5.
    one = model("kite", "cup", "couch", "car", looks={"kite": {"gizmoed": 24}})
    assert fitting(one, ObjectConstraints(attributes=(("gizmoed",),))) == {"kite"}
    assert one.score_objects(ObjectConstraints(attributes=(("gizmoed",),)))[
        one.row_by_name["kite"]
    ] == pytest.approx(1.5)


# Raking


def options(taken, words):
    """Every slot may take any word but its own, all with weight 1."""
    slot = np.repeat(np.arange(len(taken)), words - 1)
    word = np.concatenate([[w for w in range(words) if w != one] for one in taken])
    return slot, word, np.ones(len(word))


def test_each_word_is_put_in_as_often_as_it_is_taken_out():
    taken = [0] * 5 + [1] * 4 + [2] * 3 + [3] * 2
    found, put = rake_word_weights(np.bincount(taken), *options(taken, 4))
    assert put == pytest.approx([5, 4, 3, 2], abs=0.01)
    assert (
        np.diff(found) < 0
    ).all()  # what is taken out more often has fewer slots left for it, and a greater factor


def test_a_word_that_is_taken_out_of_most_slots_is_put_in_wherever_it_can_be():
    # Word 0 in 6 of 8 slots: only the two others can take it. It is put in twice, the rest is shared by 1 and 2.
    taken = [0] * 6 + [1] + [2]
    _, put = rake_word_weights(np.bincount(taken), *options(taken, 3))
    assert put == pytest.approx([2, 3, 3], abs=0.01)


def test_a_word_that_is_never_removed_is_inserted_only_if_there_is_no_other():
    # Words 0 and 1 give way to each other or to 2; the slot of word 3 (no number) may take 2 alone.
    slot, word = np.array([0, 0, 1, 1, 2]), np.array([1, 2, 0, 2, 2])
    _, put = rake_word_weights(np.array([1.0, 1.0, 0.0]), slot, word, np.ones(5))
    assert put == pytest.approx([1, 1, 1], abs=0.01)


def test_frequent_contexts_have_factors_of_their_own_and_rare_ones_are_pooled():
    worn = [  # shirt 0 and hat 1, evenly
        SlotOptions(("thing", "wearing o"), 0, np.array([1, 2]), np.ones(2)),
        SlotOptions(("thing", "wearing o"), 1, np.array([0, 2]), np.ones(2)),
    ]
    elsewhere = [
        SlotOptions(("thing", "on o"), 2, np.array([0, 1]), np.ones(2)),
        SlotOptions(("thing", "in o"), 1, np.array([0, 2]), np.ones(2)),
    ]
    found = fit_word_factors([*worn * 6, *elsewhere], {"thing": 3})  # 12 slots of what is worn
    assert set(found) == {("thing", "wearing o"), ("thing", "")}
    # Nobody wears a table (2): there it weighs at most a thousandth of the others, elsewhere not.
    worn, other = found["thing", "wearing o"], found["thing", ""]
    assert worn[2] < 0.001 * worn[:2].min() and other[2] > 0.1 * other[1]


def test_rare_contexts_make_up_for_half_of_what_a_common_one_falls_short_of():
    # What is worn gives up word 0 twelve times and may take 1 or 2 alone: 12, -6 and -6 fewer than wanted are put in.
    worn = [SlotOptions(("thing", "wearing o"), 0, np.array([1, 2]), np.ones(2))] * 12
    # Elsewhere each is taken out 8 times, and may be put in anywhere: 8 + 12 / 2, 8 - 6 / 2, 8 - 6 / 2 times.
    elsewhere = [
        SlotOptions(("thing", f"{place} o"), word, np.arange(3), np.ones(3))
        for place in ("on", "in", "near")
        for word in (0, 1, 2)
        for _ in range(3 if place != "near" else 2)
    ]
    found = fit_word_factors([*worn, *elsewhere], {"thing": 3})["thing", ""]
    assert found / found[1] == pytest.approx([14 / 5, 1, 1], abs=1e-6)


# Object table


KINDS = {"person": ("man", "boy", "woman"), "furniture": ("couch", "chair")}


def chosen(table: ObjectTable, rows) -> set[str]:
    return {name for name, row in zip(table.names, rows, strict=True) if row}


def test_names_of_the_same_object_are_confusable_and_man_and_woman_are_not():
    table = ObjectTable(vocabulary("man", "boy", "woman", "couch", "side couch", "chair", kinds=KINDS))
    assert chosen(table, table.match_confusable("man")) == {"man", "boy", "person"}
    assert chosen(table, table.match_confusable("couch")) == {"couch", "side couch", "furniture"}


def test_siblings_share_a_category():
    table = ObjectTable(vocabulary("couch", "chair", "kite", kinds={"furniture": ("couch", "chair")}))
    assert chosen(table, table.match_siblings("couch")) == {"couch", "chair"}


def test_objects_are_weighted_by_questions_and_less_by_images():
    words = vocabulary("cup", "kite", "vase")  # ten of each are shown
    words.presupposed_objects.update(cup=3, kite=1)
    table = ObjectTable(words)
    # Shares of questions plus 0.02 times shares of what is shown: 3/4 + 0.02/3, 1/4 + 0.02/3, 0.02/3
    assert [round(float(weight), 4) for weight in table.sampling_weights] == [0.7567, 0.2567, 0.0067]


def test_neither_a_person_nor_a_place_is_asked_for_by_that_name():
    kinds = {"person": ("man",), "place": ("street",), "furniture": ("chair",)}
    table = ObjectTable(vocabulary("man", "street", "chair", kinds=kinds))
    singular = frozenset({"singular", "mass"})
    assert chosen(table, table.match_number(singular, True)) == {"furniture"}
    assert chosen(table, table.match_number(singular, False)) == {"man", "street", "chair", "person"}


def test_words_for_men_are_never_the_same_person_as_words_for_women():
    men, women = (
        ["man", "boy", "guy", "gentleman", "father", "men", "boys"],
        ["woman", "girl", "lady", "mother", "daughter", "women", "girls"],
    )
    table = ObjectTable(vocabulary(*men, *women, kinds={"person": (*men, *women)}))
    for own, other in ((men, women), (women, men)):
        for name in own:
            assert not chosen(table, table.match_confusable(name)) & set(other), name
            assert chosen(table, table.match_confusable(name)) >= {"person", name}
