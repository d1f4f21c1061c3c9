import numpy as np
import pytest

from pipeline.candidates.perturbing.raking import SlotOptions, fit_word_factors, rake_word_weights


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
