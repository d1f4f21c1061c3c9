"""The audit of a release's subsets, label imbalance, and balanced subsets."""

from collections import Counter

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.benchmark.auditing import subset_audit
from pipeline.benchmark.auditing.balanced_subset import (
    CONTRADICTORY,
    DUPLICATE,
    ONE_LABEL,
    UNPAIRED,
    choose_balanced_subset,
)
from pipeline.benchmark.auditing.known_questions import KnownQuestions
from pipeline.benchmark.auditing.label_imbalance import measure_imbalance
from pipeline.benchmark.auditing.subset_audit import (
    NUM_HISTOGRAM_BINS,
    AuditParams,
    audit_items,
    audit_subset,
    compute_histograms,
    estimate_min_detectable_auaf_difference,
    make_warnings,
)
from pipeline.benchmark.auditing.text_attackers import TEXT_ATTACKERS
from pipeline.benchmark.balancing.pairing import BALANCED_MARGINS, OUTSIDE_BALANCED_SET, TELLTALE_WORDING
from pipeline.core.json_files import write_jsonl
from pipeline.core.randomness import make_generator
from pipeline.core.records import Item
from tests.benchmark.auditing.made_sets import labelled

# Subset audit


P = AuditParams(max_text_auroc={"pt-easy": 0.65}, folds=3, num_replicates=50)


def items(word):
    """Return 60 pairs. The text of a UQ contains `word` where that of the AQ contains "cup"."""
    return [
        Item(
            item_id=f"{i}{unanswerable}",
            subset="pt-easy",
            image_id=f"p{i % 20}",
            question_id=str(i),
            pair_id=str(i),
            split="test",
            text=f"Where is the {word if unanswerable else 'cup'} number {i}?",
            unanswerable=unanswerable,
            answer="" if unanswerable else "left",
            category="missing object" if unanswerable else None,
            score=0.1 if unanswerable else 0.3,
        )
        for i in range(60)
        for unanswerable in (False, True)
    ]


IMAGES = {f"p{i}": np.eye(20, dtype=np.float32)[i] for i in range(20)}


def test_a_word_that_predicts_the_label_is_reported_with_a_warning():
    known = KnownQuestions(item.text for item in items("unicorn") if not item.unanswerable)
    found = audit_subset(items("unicorn"), IMAGES, P, known)
    assert found.attacks["word n-grams"].auroc == found.attacks["verbatim count"].auroc == 1.0
    over = [name for name in TEXT_ATTACKERS if found.attacks[name].auroc > 0.65]
    assert {
        "word n-grams",
        "character n-grams",
        "word pairs",
        "word pairs, naive Bayes",
        "language model",
        "other questions",
    } <= set(over)
    assert [line.split(":")[0] for line in make_warnings({"pt-easy": found}, P.max_text_auroc)] == [
        "pt-easy"
    ] * len(over)
    assert "AUROC 1.00; the limit is 0.65" in make_warnings({"pt-easy": found}, P.max_text_auroc)[0]


def test_without_a_difference_in_the_text_there_is_no_warning():
    # UQs and AQs have the same texts, so nothing that is learned in one fold applies to another.
    found = audit_subset(items("cup"), IMAGES, P)
    assert found.attacks["word n-grams"].auroc == found.attacks["length"].auroc == 0.5
    assert make_warnings({"pt-easy": found}, P.max_text_auroc) == []
    assert (found.text_imbalance.max_difference, found.image_imbalance.max_difference) == (0, 0)


def test_a_set_that_is_too_small_causes_a_warning():
    found = audit_subset(items("cup"), IMAGES, AuditParams(max_text_auroc={}, folds=1000, num_replicates=50))
    (line,) = make_warnings({"pt-easy": found}, {})
    assert line.startswith("pt-easy: too small") and found.too_small_reason.startswith("60 distinct texts")


def test_the_clip_score_is_an_attacker_and_its_overlap_is_measured():
    found = audit_subset(items("cup"), IMAGES, P)
    assert found.attacks["CLIP score"].auroc == 1.0  # every AQ has 0.3, every UQ 0.1
    assert (found.clip_overlap, found.clip_mean_difference) == (0.0, 0.2)
    assert found.categories == {"missing object": 60}


def test_if_an_item_has_no_score_the_clip_attacker_does_not_apply():
    first, *others = items("cup")
    found = audit_subset([msgspec.structs.replace(first, score=None), *others], IMAGES, P)
    assert found.attacks["CLIP score"].auroc is None


def test_the_subsets_of_a_file_are_audited_in_their_order_and_only_those_that_have_items(tmp_path):
    hard = [msgspec.structs.replace(item, subset="pt-hard") for item in items("unicorn")]
    some, none = tmp_path / "some.jsonl", tmp_path / "none.jsonl"
    write_jsonl(some, [*hard, *items("cup")])
    write_jsonl(none, [])
    audits = audit_items(some, IMAGES, P)
    assert list(audits) == ["pt-easy", "pt-hard"]
    assert audits["pt-hard"] == audit_subset(hard, IMAGES, P) and audit_items(none, IMAGES, P) == {}


@pytest.mark.parametrize(
    ("at_once", "processes"), [(1000, 2), (240, 2), (239, 1), (1, 1)]
)  # each of both subsets has 120 items
def test_the_number_of_items_audited_in_parallel_is_limited(at_once, processes, tmp_path, monkeypatch):
    used = []

    def one_by_one(work, given, set_up, count, piece):
        used.append(count)
        return (work(set_up(), each) for each in given)

    monkeypatch.setattr(subset_audit, "ordered_map", one_by_one)
    monkeypatch.setattr(subset_audit, "num_local_workers", lambda: 16)
    monkeypatch.setattr(subset_audit, "MAX_ITEMS_IN_PARALLEL", at_once)
    monkeypatch.setattr(subset_audit, "audit_subset", lambda rows, *_: len(rows))
    hard = [msgspec.structs.replace(item, subset="pt-hard") for item in items("cup")]
    write_jsonl(tmp_path / "some.jsonl", [*hard, *items("cup")])
    assert audit_items(tmp_path / "some.jsonl", IMAGES, P) == {"pt-easy": 120, "pt-hard": 120}
    assert used == [processes]


@pytest.mark.parametrize(
    ("aqs", "uqs", "overlap", "difference"),
    [
        # 50 bins from 0 to 1, each 0.02 wide: 0 lies in bin 0, 0.5 in bin 25, 1 in bin 49 (the last has its upper edge).
        # Shares of AQ 1/2, 1/4, 1/4, of UQ 1/4, 1/2, 1/4: 1/4 + 1/4 + 1/4 = 3/4. Means 1.5/4 and 2/4.
        ([0, 0, 0.5, 1], [0, 0.5, 0.5, 1], 0.75, -0.125),
        ([0, 0.1, 1], [0, 0.1, 1], 1.0, 0.0),
        ([0.9, 1.0], [0.0, 0.1], 0.0, 0.9),
        # 0.501 and 0.519 share bin 25 (0.50 to 0.52), 0.521 lies in bin 26. The bins from 0 to 1: AQ 1/3 each in 0, 25
        # and 49; UQ 1/2 each in 25 and 26. Overlap 1/3. Means 1.501/3 and 1.04/2.
        ([0, 0.501, 1], [0.519, 0.521], 1 / 3, 1.501 / 3 - 0.52),
    ],
)
def test_overlap_and_difference_by_arithmetic(aqs, uqs, overlap, difference):
    histograms = compute_histograms(aqs, uqs)
    assert (histograms.overlap, histograms.mean_difference) == (
        pytest.approx(overlap, abs=1e-4),
        pytest.approx(difference, abs=1e-6),
    )


SCORES = st.lists(st.floats(-1, 1).map(lambda x: round(x, 6)), min_size=1, max_size=30)


@given(SCORES, SCORES)
def test_histograms_are_consistent(aqs, uqs):
    histograms = compute_histograms(aqs, uqs)
    assert (len(histograms.aq), len(histograms.uq), len(histograms.edges)) == (
        NUM_HISTOGRAM_BINS,
        NUM_HISTOGRAM_BINS,
        NUM_HISTOGRAM_BINS + 1,
    )
    assert sum(histograms.aq) == pytest.approx(1) and sum(histograms.uq) == pytest.approx(1)
    assert histograms.overlap == pytest.approx(sum(map(min, histograms.aq, histograms.uq)), abs=1e-4)
    assert histograms.mean_difference == pytest.approx(histograms.aq_mean - histograms.uq_mean, abs=1e-6)


@pytest.mark.parametrize(("aqs", "uqs"), [([], [0.1]), ([0.1], []), ([], [])])
def test_without_scores_of_both_kinds_there_is_no_histogram(aqs, uqs):
    assert compute_histograms(aqs, uqs) is None


def test_four_times_the_images_detect_half_the_difference():
    # A standard error falls with the square root of the sample.
    def found(images):
        return np.mean(
            [
                estimate_min_detectable_auaf_difference(
                    np.arange(images * 4) % 2 == 0,
                    np.arange(images * 4) // 4,
                    200,
                    i,
                    make_generator(0, str(i)),
                )
                for i in range(3)
            ]
        )

    assert found(50) / found(200) == pytest.approx(2.0, rel=0.25)


# Balanced subset
# The balanced subset is balanced and as large as possible, and every excluded row has a reason.


def test_the_largest_balanced_subset_is_found_and_excluded_rows_have_reasons():
    # a and b form a cycle through images 1 and 2: a yes 1, a no 2, b yes 2, b no 1. The third "yes" of a has no counterpart, c is
    # never "no", the duplicate row counts once, and d is contradictory.
    rows = [
        ("a", 1, 1), ("a", 0, 2), ("b", 1, 2), ("b", 0, 1),
        ("a", 1, 3), ("c", 1, 1), ("a", 1, 1), ("d", 1, 4), ("d", 0, 4),
    ]  # fmt: skip
    texts, labels, images = zip(*rows, strict=True)
    keep, report = choose_balanced_subset(labelled(texts, labels, images), 0)
    assert keep.tolist() == [0, 1, 2, 3]
    assert report.rule == BALANCED_MARGINS and report.excluded_rows == {
        ONE_LABEL: 1,
        DUPLICATE: 1,
        OUTSIDE_BALANCED_SET: 1,
        CONTRADICTORY: 2,
    }
    assert (report.positives, report.negatives, report.texts, report.images) == (
        (2, 6),
        (2, 3),
        (2, 4),
        (2, 4),
    )


def test_each_text_and_each_image_is_balanced():
    rng = np.random.default_rng(0)
    texts, images = rng.integers(20, size=600), rng.integers(50, size=600)
    rows = labelled([f"t{i}" for i in texts], (rng.random(600) < 0.3 + 0.02 * texts).astype(int), images)
    kept = rows.select(choose_balanced_subset(rows, 0)[0])
    assert 150 < len(kept) < 600
    for keys in (kept.texts, kept.images):
        more = Counter()
        for key, label in zip(keys, kept.labels.tolist(), strict=True):
            more[key] += 2 * label - 1
        assert set(more.values()) == {0}


def test_without_images_each_text_keeps_as_many_rows_as_its_rarer_label_has():
    texts = ["a"] * 5 + ["b"] * 4
    keep, report = choose_balanced_subset(labelled(texts, [1, 1, 1, 0, 0, 1, 0, 0, 0]), 0)
    # a: min(3, 2) of each label, b: min(1, 3)
    assert (
        len(keep) == 2 * (2 + 1)
        and report.images is None
        and report.excluded_rows == {OUTSIDE_BALANCED_SET: 3}
    )


def test_edited_questions_stay_in_pairs_and_telltale_pairs_are_excluded():
    # As in `find_telltale_pairs`: of 12 pairs 8 insert "sad" and 4 remove it, 4 * 4 > 12; without one pair 3 * 3 < 11.
    pairs = [(f"Is cup {i} happy?", f"Is cup {i} sad?") for i in range(8)]
    pairs += [(f"Is cup {i} sad?", f"Is cup {i} happy?") for i in range(8, 12)]
    texts = [text for pair in pairs for text in pair] + ["Where is it?"]
    linked = [str(i // 2) for i in range(25)]
    # A tenth of 12 pairs is one.
    keep, report = choose_balanced_subset(labelled(texts, [*[0, 1] * 12, 1], range(25), linked), 0)
    assert report.excluded_rows == {TELLTALE_WORDING: 2, UNPAIRED: 1} and len(keep) == 22
    assert not set(keep.tolist()) & {24} and all(i + 1 in keep for i in keep.tolist() if i % 2 == 0)


def test_a_set_without_counterparts_has_an_empty_balanced_subset():
    keep, report = choose_balanced_subset(labelled(["a", "b"], [0, 1], [1, 2]), 0)
    assert len(keep) == 0 and report.excluded_rows == {ONE_LABEL: 2}


# Label imbalance


def item(text, unanswerable, image="p"):
    return Item(
        item_id="",
        subset="clip-easy",
        image_id=image,
        question_id="",
        text=text,
        unanswerable=unanswerable,
        answer="",
        pair_id="",
        split="validation",
    )


def test_imbalance_is_counted_for_each_text():
    # "a": 3 UQ, 1 AQ; "b": 1 and 1; "c": 0 and 1. Two of three texts are unbalanced, and the largest difference is 2.
    rows = [item("a", True)] * 3 + [item("a", False), item("b", True), item("b", False), item("c", False)]
    found = measure_imbalance(rows, lambda row: row.text)
    assert (found.max_difference, found.unbalanced_keys, found.keys, found.distinct_per_uq) == (2, 2, 3, 0.5)
