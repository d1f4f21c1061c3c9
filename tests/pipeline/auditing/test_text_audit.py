"""Planted leaks are found as large as they are; where there is none, none is found."""

import json

import numpy as np
import pytest

from pipeline.commands.audit_release import attack_texts, read_subsets
from pipeline.leaks.leak_figures import LeakAttack, LeakParams, leaks_of, strongest
from pipeline.leaks.read_set import read_set
from pipeline.leaks.set_files import open_rows
from tests.pipeline.leaks.made_sets import labelled, planted

FEW = LeakParams(5, 200, 0)


@pytest.fixture(scope="module")
def found():
    return leaks_of("made", planted(2000, (0.2, 0.6)), FEW)


def test_a_planted_word_is_found_as_telling_as_it_is(found):
    # A word in 60 % of one label's rows and 20 % of the other's: of a row of either, the first has it and the second not
    # with 0.6 * 0.8, the other way round 0.4 * 0.2, else a tie: 0.48 + (1 - 0.48 - 0.08) / 2 = 0.7 = 0.5 + (0.6 - 0.2) / 2.
    for by in ("text", "picture"):
        attacks = found.attacks[by]
        assert all(
            attacks[name].low < 0.7 < attacks[name].high
            for name in ("word n-grams", "word pairs", "first three words")
        )
        assert attacks[found.strongest[by]].low > 0.65 and not attacks["word pairs"].turned
        assert attacks["length"].auroc == 0.5  # all texts have seven words
    assert {word.word for word in found.words} == {"unicorn", "horse"}
    assert [word.auroc for word in found.words] == [0.7, 0.7]


def test_where_nothing_is_beyond_chance_the_strongest_is_who_reaches_most():
    def attack(auroc, low):
        return LeakAttack(auroc=auroc, low=low, high=0.8, groups=9, turned=False)

    assert (
        strongest({"length": attack(0.5, 0.5), "words": attack(0.6, 0.4), "pairs": attack(0.55, 0.45)})
        == "words"
    )
    assert strongest({"words": attack(0.7, 0.4), "pairs": attack(0.6, 0.55)}) == "pairs"
    assert strongest({"words": LeakAttack(auroc=None, low=None, high=None, groups=3, turned=False)}) is None


def test_labels_by_lot_give_nothing_away():
    rows = planted(1000, (0.2, 0.6))
    inside, all_of = 0, 0
    for seed in range(3):
        mixed = labelled(rows.texts, np.random.default_rng(seed).permutation(rows.labels), rows.pictures)
        for attacks in leaks_of("made", mixed, FEW).attacks.values():
            inside += sum(attack.low <= 0.5 <= attack.high for attack in attacks.values())
            all_of += len(attacks)
    # 95 % of 42; fewer than 37 would come once in 100 times (binomial).
    assert all_of == 42 and inside >= 37


def test_texts_that_always_have_one_label_tell_in_folds_by_picture_alone():
    # Each text names a thing and nothing else, and all words but one are shared; texts of new words tell nothing.
    things = [f"x{i}" for i in range(40)]
    texts = [f"Is there a {thing} in it?" for thing in things] * 25
    labels = [i % 2 for i in range(40)] * 25
    found = leaks_of("made", labelled(texts, labels, [i // 10 for i in range(1000)]), FEW)
    assert found.attacks["picture"]["word n-grams"].auroc == 1.0
    assert found.attacks["text"]["word n-grams"].low <= 0.5
    assert (found.text_margin.unequal, found.text_margin.largest) == (40, 25)
    assert (found.picture_margin.unequal, found.picture_margin.largest) == (0, 0)


def test_what_is_mostly_wrong_counts_and_is_marked():
    # Each text has either label in 4 of 8 pictures. Where one picture is left out, the others have 4 rows of the label that the
    # text does not have there, and 3 of the one that it has: whoever learns from them is wrong every time.
    texts = [f"is it x{i}" for i in range(8) for _ in range(8)]
    labels = [(i + j) % 2 for i in range(8) for j in range(8)]
    found = leaks_of(
        "made", labelled(texts, labels, [j for _ in range(8) for j in range(8)]), LeakParams(8, 50, 0)
    )
    attack = found.attacks["picture"]["first three words"]
    assert (attack.auroc, attack.turned) == (1.0, True)


def test_a_length_is_of_neither_side():
    rows = labelled([f"is it {'very ' * (i % 2)}x{i}" for i in range(60)], [1 - i % 2 for i in range(60)])
    attack = leaks_of("made", rows, FEW).attacks["text"]["length"]
    assert (attack.auroc, attack.low, attack.turned) == (1.0, 1.0, False)


def test_repeated_and_contradicted_rows_are_counted():
    rows = labelled(list("aaaabb"), [0, 0, 1, 1, 0, 1], [1, 1, 1, 2, 1, 2])
    found = leaks_of("made", rows, FEW)
    # a of picture 1: twice no, once yes; the rest once each.
    assert (found.repeated, found.contradicted, found.texts, found.pictures) == (1, 3, 2, 2)


def test_without_pictures_there_are_folds_by_text_alone():
    rows = planted(200, (0.2, 0.6))
    found = leaks_of("made", labelled(rows.texts, rows.labels), FEW)
    assert list(found.attacks) == ["text"] and found.picture_margin is None and found.repeated == 0


def test_the_number_of_processes_changes_nothing(monkeypatch):
    rows = planted(300, (0.3, 0.4))
    once = leaks_of("made", rows, FEW)
    monkeypatch.setattr("pipeline.leaks.leak_figures.SMALL", 100)
    monkeypatch.setattr("pipeline.leaks.leak_figures.threads", lambda: 2)
    assert leaks_of("made", rows, FEW) == once


def test_it_agrees_with_the_audit_of_a_release(tmp_path):
    path = tmp_path / "pt-hard.json"
    things = np.random.default_rng(0).integers(9, size=(80, 2)).tolist()
    originals = [
        f"Is the {'cup' if i % 3 else 'hat'} on thing{a}, by thing{b}?" for i, (a, b) in enumerate(things)
    ]
    rows = [
        {"img_id": f"n{i % 30}", "question_id": f"{kind}{100 + i}", "sent": text, "label": {label: 1.0}}
        for i, original in enumerate(originals)
        for kind, text, label in (("", original, "red"), ("pthard_n+", original.replace("hat", "bowl"), "UQ"))
    ]
    path.write_text(json.dumps(rows))
    audited = attack_texts(read_subsets(path)["pt-hard"], 5, 200, 0)
    attacks = leaks_of("made", read_set(open_rows(str(path)), "r"), FEW).attacks["text"]
    told = {name: attack.auroc for name, attack in audited.items() if name != "other questions"}
    assert {name: attacks[name].auroc for name in told} == told
    assert len(told) == 5 and max(told.values()) > 0.55
