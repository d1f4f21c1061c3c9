"""The audit of texts, its page, and questions that a model may know."""

import json
import math
import re

import msgspec
import numpy as np
import pytest

from pipeline.benchmark.auditing.attack_evaluation import AttackResult
from pipeline.benchmark.auditing.balanced_subset import choose_balanced_subset
from pipeline.benchmark.auditing.known_questions import (
    KnownQuestions,
    collect_known_questions,
    make_word_pairs,
)
from pipeline.benchmark.auditing.labelled_rows import LabelledRows
from pipeline.benchmark.auditing.labelled_set import load_labelled_set
from pipeline.benchmark.auditing.ngram_model import NgramModel, make_ngrams, tokenize
from pipeline.benchmark.auditing.subset_audit import AuditParams, audit_subset
from pipeline.benchmark.auditing.text_audit import (
    MIN_ROWS,
    AuditSettings,
    SetDescription,
    audit_texts,
    compute_finding,
    find_strongest_attacker,
)
from pipeline.benchmark.auditing.text_audit_page import render_page, summarize_finding
from pipeline.core.records import Item, Question
from pipeline.public_sets.row_sources import open_rows
from research.benchmarks.audit_false_alarms import RANDOM_SETS, make_pope_like
from tests.benchmark.auditing.made_sets import labelled, planted

# Text audit
# Planted leaks are measured correctly, no leak is found where there is none, and the results do not depend on who audits.


FEW = AuditSettings(5, 200, 0)
MADE = SetDescription("made")


@pytest.fixture(scope="module")
def found():
    return audit_texts(MADE, planted(2000, (0.2, 0.6)), FEW)


def test_a_planted_word_is_measured(found):
    # A word in 60 % of one label's rows and 20 % of the other's: of a row of either, the first has it and the second not
    # with 0.6 * 0.8, the other way round 0.4 * 0.2, else a tie: 0.48 + (1 - 0.48 - 0.08) / 2 = 0.7 = 0.5 + (0.6 - 0.2) / 2.
    for by in ("text", "image"):
        attacks = found.attacks[by]
        assert all(
            attacks[name].low < 0.7 < attacks[name].high
            for name in ("word n-grams", "word pairs", "first three words")
        )
        assert attacks[found.strongest_attackers[by]].low > 0.65 and not attacks["word pairs"].is_below_half
        assert attacks["length"].auroc == 0.5  # all texts have seven words
    assert (found.finding, found.p_value) == (
        "predictable",
        2 / 200,
    )  # the smallest of 1 + 199 assignments, twice
    assert {word.word for word in found.predictive_words} == {"unicorn", "horse"}
    assert [word.auroc for word in found.predictive_words] == [0.7, 0.7]


def test_without_a_lower_bound_above_chance_the_strongest_attacker_has_the_highest_auroc():
    def attack(auroc, low):
        return AttackResult(auroc=auroc, low=low, high=0.8, groups=9)

    attacks = {"length": attack(0.5, 0.5), "words": attack(0.6, 0.4), "pairs": attack(0.55, 0.45)}
    assert find_strongest_attacker(attacks) == "words"
    assert find_strongest_attacker({"words": attack(0.7, 0.4), "pairs": attack(0.6, 0.55)}) == "pairs"
    assert find_strongest_attacker({"words": AttackResult(auroc=None, low=None, high=None, groups=3)}) is None


def test_random_labels_are_no_leak_in_any_kind_of_set():
    # Four sets of each of ten kinds, each tested at 2 %: more than 4 false alarms of 40 come once in 900 times (binomial).
    findings = []
    for number in range(40):
        rng = np.random.default_rng([7, number])
        kind = list(RANDOM_SETS)[number % len(RANDOM_SETS)]
        rows = RANDOM_SETS[kind](rng, int(rng.integers(60, 250)))
        findings.append(compute_finding(rows, AuditSettings(seed=number))[0])
    assert findings.count("predictable") <= 4 and findings.count("too small") <= 8


def test_a_leak_as_in_pope_is_found_in_100_rows():
    findings = [compute_finding(make_pope_like(np.random.default_rng([8, i]), 100))[0] for i in range(8)]
    assert findings == ["predictable"] * 8


@pytest.mark.parametrize(
    ("count", "ones"),
    [(20, 10), (MIN_ROWS - 1, 24), (100, 9), (100, 91)],
    ids=["few", "49", "9 ones", "9 zeros"],
)
def test_a_small_set_is_not_measured(count, ones):
    texts = [f"Is it {'so' if i < ones else 'not'} x{i}?" for i in range(count)]
    rows = labelled(texts, [int(i < ones) for i in range(count)], range(count))
    found = audit_texts(MADE, rows, FEW)
    assert (found.finding, found.p_value, found.predictive_words) == ("too small", None, [])
    assert f"{min(ones, count - ones)} of them" in found.too_small_reason
    assert {attack.auroc for results in found.attacks.values() for attack in results.values()} == {None}


def test_texts_without_a_pair_of_words_in_common_are_audited():
    # One word each, so there is no pair of words, and scores that are all alike have an AUROC of 0.5.
    texts = [f"这是{chr(0x4E00 + number)}吗" for number in range(180)]
    found = audit_texts(MADE, labelled(texts, [number % 2 for number in range(180)], range(180)), FEW)
    assert {found.attacks[by]["word pairs"].auroc for by in found.attacks} == {0.5}


def test_a_set_with_fewer_texts_than_folds_is_too_small():
    rows = labelled(["Is it?", "Was it?"] * 40, [0, 1, 1, 0] * 20, range(80))
    assert audit_texts(MADE, rows, FEW).too_small_reason.startswith("2 distinct texts")


def test_texts_that_always_have_one_label_are_predicted_in_folds_by_image_only():
    # Each text names one object and nothing else, and all words but one are shared: new texts share no word that says something.
    objects = [f"x{i}" for i in range(40)]
    texts = [f"Is there a {name} in it?" for name in objects] * 25
    labels = np.random.default_rng(0).permutation([0, 1] * 20).tolist() * 25
    found = audit_texts(MADE, labelled(texts, labels, [i // 10 for i in range(1000)]), FEW)
    assert found.attacks["image"]["word n-grams"].auroc == 1.0
    assert (
        found.permutation_tests["image"].p_value == 1 / 200 and found.permutation_tests["text"].p_value > 0.05
    )
    assert (found.text_imbalance.unbalanced_keys, found.text_imbalance.max_difference) == (40, 25)


def test_an_auroc_below_half_is_marked_and_no_leak():
    # Each text has either label in 4 of 8 images. Where one image is left out, the others have 4 rows of the label that the
    # text does not have there, and 3 of the one that it has: an attacker trained on them is wrong every time.
    texts = [f"is it x{i}" for i in range(8) for _ in range(8)]
    labels = [(i + j) % 2 for i in range(8) for j in range(8)]
    images = [j for _ in range(8) for j in range(8)]
    found = audit_texts(MADE, labelled(texts, labels, images), AuditSettings(8, 50, 0))
    attack = found.attacks["image"]["first three words"]
    assert (attack.auroc, attack.is_below_half, found.finding) == (1.0, True, "balanced")
    # One more row makes the set unbalanced, so that the permutation tests determine the finding.
    more = labelled([*texts, "is it x8"], [*labels, 0], [*images, 0])
    assert audit_texts(MADE, more, AuditSettings(8, 50, 0)).finding == "chance"


def test_the_length_counts_in_both_directions():
    rows = labelled([f"is it {'very ' * (i % 2)}x{i}" for i in range(60)], [1 - i % 2 for i in range(60)])
    found = audit_texts(MADE, rows, FEW)
    attack = found.attacks["text"]["length"]
    assert (attack.auroc, attack.low, attack.is_below_half) == (1.0, 1.0, False)
    assert (found.finding, found.p_value) == ("predictable", 1 / 200)


def test_duplicate_and_contradictory_rows_are_counted():
    rows = labelled(list("aaaabb"), [0, 0, 1, 1, 0, 1], [1, 1, 1, 2, 1, 2])
    found = audit_texts(MADE, rows, FEW)
    # a at image 1: twice no, once yes; the rest once each.
    assert (found.duplicates, found.contradictory, found.texts, found.images) == (1, 3, 2, 2)


def test_without_images_there_are_folds_by_text_only():
    rows = planted(200, (0.2, 0.6))
    found = audit_texts(MADE, labelled(rows.texts, rows.labels), FEW)
    assert list(found.attacks) == ["text"] and found.image_imbalance is None and found.duplicates == 0


def test_neither_the_order_of_rows_nor_the_number_of_processes_changes_anything(monkeypatch):
    rows = planted(300, (0.3, 0.4))
    once = audit_texts(MADE, rows, FEW)
    assert audit_texts(MADE, rows.select(np.random.default_rng(0).permutation(300)), FEW) == once
    monkeypatch.setattr("pipeline.benchmark.auditing.text_audit.MIN_ROWS_FOR_PARALLEL", 100)
    monkeypatch.setattr("pipeline.benchmark.auditing.text_audit.num_local_workers", lambda: 2)
    assert audit_texts(MADE, rows, FEW) == once


def items():
    things = np.random.default_rng(0).integers(9, size=(80, 2)).tolist()
    for i, (a, b) in enumerate(things):
        text = f"Is the {'cup' if i % 3 else 'hat'} on thing{a}, by thing{b}?"
        for uq in (False, True):
            yield Item(
                item_id=f"pthard_n{i % 30}+{100 + i}" if uq else f"{100 + i}",
                subset="pt-hard",
                image_id=f"n{i % 30}",
                question_id=f"{100 + i}",
                pair_id=f"{i}",
                split="test",
                text=text.replace("hat", "bowl") if uq else text,
                unanswerable=uq,
                answer="" if uq else "red",
            )


def test_the_stage_and_both_files_of_a_release_have_the_same_results(tmp_path):
    made = list(items())
    known = KnownQuestions(item.text for item in made if not item.unanswerable)
    params = AuditParams(max_text_auroc={}, num_replicates=200)
    stage = audit_subset(made, {item.image_id: np.ones(2) for item in made}, params, known)
    order = np.random.default_rng(1).permutation(len(made))
    rgqa = [
        {
            "img_id": item.image_id,
            "question_id": item.item_id,
            "sent": item.text,
            "label": {"UQ" if item.unanswerable else item.answer: 1.0},
        }
        for item in made
    ]
    table = [
        {
            "item_id": item.item_id,
            "image_id": item.image_id,
            "source_question_id": item.question_id,
            "question": item.text,
            "label": int(item.unanswerable),
        }
        for item in made
    ]
    for name, rows in (("rgqa.json", [rgqa[i] for i in order]), ("table.json", table[::-1])):
        (tmp_path / name).write_text(json.dumps(rows))
        read = load_labelled_set(open_rows(str(tmp_path / name)), name)
        found = audit_texts(MADE, read, FEW, known)
        theirs = {
            attacker: msgspec.structs.asdict(stage.attacks[attacker]) for attacker in found.attacks["text"]
        }
        assert {k: msgspec.structs.asdict(v) for k, v in found.attacks["text"].items()} == theirs
        assert found.permutation_tests["text"] == stage.permutation_test and len(theirs) == 9
    assert max(attack["auroc"] for attack in theirs.values()) > 0.55


def test_without_the_sources_questions_some_attackers_are_skipped():
    rows = planted(100, (0.2, 0.6))
    assert set(audit_texts(MADE, rows, FEW).skipped_attackers) == {"other questions", "verbatim count"}
    assert audit_texts(MADE, rows, FEW, KnownQuestions(rows.texts)).skipped_attackers == {}


def test_the_canonical_order_depends_only_on_the_rows():
    rows = LabelledRows(texts=["b", "a", "a"], labels=np.array([0, 1, 0]), images=["x", "y", "x"])
    ordered = rows.in_canonical_order()
    assert (ordered.texts, ordered.images, ordered.labels.tolist()) == (
        ["a", "a", "b"],
        ["x", "y", "x"],
        [0, 1, 0],
    )


# Text audit page
# The audit page is self-contained, escapes texts of the data, and starts with the finding.


PAGE_SETTINGS = AuditSettings(3, 50, 0)
PAGE_SET = SetDescription("made", "POPE", ("no", "yes"))


def test_the_finding_comes_first_with_the_test_behind_it():
    found = audit_texts(PAGE_SET, planted(600, (0.0, 1.0)), PAGE_SETTINGS)
    assert (
        "predicts yes or no with AUROC 1.00 [1.00, 1.00] with folds grouped by text (word n-grams); 1.00"
        in summarize_finding(found)
    )
    assert "p = 0.010" in summarize_finding(found)
    nothing = audit_texts(PAGE_SET, planted(600, (0.5, 0.5)), PAGE_SETTINGS)
    assert nothing.finding == "chance" and "beyond chance" in summarize_finding(nothing)
    html = render_page([found, nothing])
    assert html.index(summarize_finding(found)) < html.index("<table") and summarize_finding(nothing) in html


def test_if_every_text_is_balanced_no_attacker_counts():
    # As in `test_an_auroc_below_half_is_marked_and_no_leak`, the attackers reach 1.0 because they are always wrong.
    texts = [f"is it x{i}" for i in range(8) for _ in range(8)]
    labels = [(i + j) % 2 for i in range(8) for j in range(8)]
    rows = labelled(texts, labels, [j for _ in range(8) for j in range(8)])
    found = audit_texts(PAGE_SET, rows, AuditSettings(8, 50, 0))
    assert found.attacks["image"]["word n-grams"].auroc > 0.9 and "exactly 0.5" in summarize_finding(found)


def test_texts_of_the_data_are_escaped_and_nothing_is_fetched():
    rows = planted(600, (0.0, 1.0))
    texts = [text.replace("unicorn", "o'neil").replace("Is", "<b>Is") for text in rows.texts]
    description = SetDescription("<script>alert(1)</script>", "POPE", ("no", "yes"))
    html = render_page([audit_texts(description, labelled(texts, rows.labels, rows.images), PAGE_SETTINGS)])
    assert "<script" not in html and "&lt;script&gt;" in html and "o&#39;neil" in html
    assert not re.search(r"(src|href)=|https?://|@import|url\(", html)
    assert "default-src 'none'" in html


def test_the_balanced_subset_is_shown_with_excluded_rows():
    rows = labelled(["a", "a", "b", "b", "c"] * 6, [1, 0, 0, 1, 1] * 6, [1, 2, 1, 2, 3] * 6)
    keep, report = choose_balanced_subset(rows, 0)
    html = render_page(
        [audit_texts(PAGE_SET, rows, PAGE_SETTINGS)],
        report,
        audit_texts(PAGE_SET, rows.select(keep), PAGE_SETTINGS),
    )
    assert "Kept: 4 of 30 rows, 2 of 3 texts, 2 of 3 images." in html
    assert html.count("Too small to measure: ") == 2
    assert "excluded: its text has only one label" in html


def test_skipped_attackers_are_named():
    html = render_page([audit_texts(PAGE_SET, planted(100, (0.2, 0.6)), PAGE_SETTINGS)])
    assert html.count("Skipped: ") == 2 and "verbatim" in html


# Known questions


TEXTS = ["Is the cup red?", "Is the cup red?", "Is the cup blue?", "Is the hat old?"]


def test_excluded_questions_do_not_affect_the_features():
    known, others = KnownQuestions(TEXTS), KnownQuestions(TEXTS[2:])
    before = known.familiarity_features("Is the cup new?")
    with known.excluding(["is the CUP red?", "never asked"]):
        assert known.familiarity_features("Is the cup new?") == others.familiarity_features("Is the cup new?")
    assert known.familiarity_features("Is the cup new?") == before
    assert known.count_verbatim("Is the cup red?") == 2


def test_familiarity_features_by_arithmetic():
    known = KnownQuestions(["cup red", "cup red", "cup old"])
    mean, least, *counted = known.familiarity_features("cup new")
    logs = known._model.log_probabilities(["cup", "new"])
    assert (mean, least) == (sum(logs) / 3, min(logs))
    # Words: cup 3, new 0, the end 3 (log 4 = 1.386). Pairs of neighbours: start-cup 3, cup-new 0, new-end 0; threes:
    # start-start-cup 3 and two never. Pairs of words: cup-new, never.
    expected = [math.log(4) * 2 / 3, 0, 1 / 3, math.log(4) / 3, 0, 2 / 3, math.log(4) / 3, 0, 2 / 3, 0, 0, 1]
    assert counted == pytest.approx(expected)


def test_pairs_are_made_of_content_words():
    assert make_word_pairs(["is", "the", "red", "cup", "red"]) == [
        ("red", "cup"),
        ("red", "red"),
        ("cup", "red"),
    ]


def test_a_text_of_one_word_has_no_pair():
    assert KnownQuestions(TEXTS).familiarity_features("Red?")[-3:] == [0, 0, 1]


def test_excluding_a_paraphrase_excludes_the_sources_wording():
    common = {"image_id": "p", "split": "val", "answer": "red"}
    asked = [
        Question(
            question_id="1", text="The cup is what color?", source_text="What color is the cup?", **common
        ),
        Question(question_id="2", text="Where is the hat?", **common),
    ]
    known, unread = collect_known_questions(asked), KnownQuestions(["Where is the hat?"])
    assert known.count_verbatim("What color is the cup?") == 1
    assert known.count_verbatim("The cup is what color?") == 0
    text = "What color is the cup?"
    assert known.familiarity_features(text) != unread.familiarity_features(text)
    with known.excluding(["The cup is what color?"]):
        assert known.familiarity_features(text) == unread.familiarity_features(text)
    assert known.familiarity_features(text) == collect_known_questions(asked).familiarity_features(text)


def test_probabilities_are_those_of_witten_and_bell():
    model = NgramModel([["a", "b"], ["a", "c"]])
    # There are 6 words, 4 of them distinct (a, b, c, the end), and 5 with the unknown word. p(b) = (1 + 4 / 5) / (6 + 4) = 0.18.
    assert model.probability((), "b") == pytest.approx(0.18)
    # After "a": 2 words, 2 different. p(b | a) = (1 + 2 * 0.18) / (2 + 2) = 0.34; of an unknown word 2 * 0.08 / 4 = 0.04.
    assert model.probability(("a",), "b") == pytest.approx(0.34)
    assert model.probability(("a",), "unknown") == pytest.approx(0.04)
    # An unknown history has the same probabilities as an empty one.
    assert model.probability(("unknown",), "b") == pytest.approx(0.18)
    assert sum(model.probability(("a",), word) for word in ("a", "b", "c", "\n", "unknown")) == pytest.approx(
        1
    )
    assert model.mean_log_probability(["a", "b"]) < math.log(1)


def test_a_removed_text_leaves_no_counts():
    model, without = NgramModel([["a", "b"], ["a", "c"], ["b", "c"]]), NgramModel([["a", "b"], ["b", "c"]])
    model.add(["a", "c"], -1)
    for text in (["a", "b"], ["a", "c"], ["c", "c", "d"]):
        assert model.log_probabilities(text) == without.log_probabilities(text)


def test_ngrams_end_in_each_word_and_in_the_end():
    assert make_ngrams(["a"]) == [("a",), ("", "a"), ("", "", "a"), ("\n",), ("a", "\n"), ("", "a", "\n")]
    assert tokenize("Is the man's T-shirt red?") == ["is", "the", "man", "'s", "t-shirt", "red"]
