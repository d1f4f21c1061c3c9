"""The transformer as an attacker: what it can learn, what it must not learn, and that it is deterministic."""

import sys

import numpy as np
import pytest

from pipeline.benchmark.auditing.attack_evaluation import Folds, group_by_text
from pipeline.core.errors import UserError
from pipeline.scoring import auroc
from research.studies.transformer_attacker import TransformerConfig, score_with_transformer

TINY = TransformerConfig(width=16, layers=1, heads=2, epochs=6, batch_size=16)


def rows(edited, count=60):
    """Pairs of an original and what `edited` makes of it; folds of three."""
    texts = [text for n in range(count) for text in (f"Is the cup near lamp {n}?", edited(n))]
    ids = [f"q{n}" for n in range(count) for _ in range(2)]
    return texts, Folds(np.tile([0, 1], count), group_by_text(texts, ids), 3, 1)


def reach(texts, folds, plan=TINY):
    return auroc(score_with_transformer(texts, folds, plan), folds.labels == 1)


def test_a_word_that_only_edited_texts_have_is_found():
    assert reach(*rows(lambda n: f"Is the unicorn near lamp {n}?")) > 0.95


def test_it_learns_combinations_of_words_where_no_single_word_tells():
    """Each of the four words occurs as often in originals as in edited texts; only their combination tells. The
    n-grams are not trained."""
    texts, ids = [], []
    for n in range(160):
        first, second = ("red", "cat") if n % 2 else ("blue", "dog")
        other = "dog" if second == "cat" else "cat"
        texts += [f"{first} {n} or {n + 1} {second}", f"{first} {n} or {n + 1} {other}"]
        ids += [f"q{n}"] * 2
    folds = Folds(np.tile([0, 1], 160), np.repeat(np.arange(160), 2), 2, 1)
    plan = TransformerConfig(
        width=32,
        layers=2,
        heads=4,
        epochs=30,
        batch_size=16,
        learning_rate=3e-3,
        n_gram_learning_rate=0.0,
        dropout=0.0,
        mask_rate=0.0,
    )
    assert reach(texts, folds, plan) > 0.9


def test_it_never_learns_from_the_rows_that_it_predicts():
    """Which of two numbers is the edited one is random: only a model that memorised them could know."""
    first = np.random.default_rng(5).integers(2, size=90)
    texts = [f"Is it cup {2 * n + (k ^ side)}?" for n, k in enumerate(first) for side in (0, 1)]
    folds = Folds(np.tile([0, 1], 90), np.repeat(np.arange(90), 2), 3, 1)
    plan = TINY._replace(epochs=20, n_gram_learning_rate=0.3, mask_rate=0.0)
    assert 0.35 < reach(texts, folds, plan) < 0.65  # one standard error is 0.04


def test_texts_that_are_the_same_for_both_labels_leak_nothing():
    texts, folds = rows(lambda n: f"Is the cup near lamp {n}?")
    assert auroc(np.round(score_with_transformer(texts, folds, TINY), 6), folds.labels == 1) == 0.5


def test_it_is_deterministic_and_does_not_change_torchs_generator():
    import torch

    texts, folds = rows(lambda n: f"Is the hat near lamp {n}?", 12)
    torch.manual_seed(3)
    before = torch.rand(1)
    torch.manual_seed(3)
    first, after = score_with_transformer(texts, folds, TINY), torch.rand(1)
    assert before == after
    assert np.array_equal(first, score_with_transformer(texts, folds, TINY))


def test_too_few_groups_give_no_score():
    texts, folds = rows(lambda n: f"Is the hat near lamp {n}?", 2)
    assert np.isnan(score_with_transformer(texts, folds, TINY)).all()


def test_a_checkpoint_needs_its_library_and_its_files(tmp_path, monkeypatch):
    texts, folds = rows(lambda n: f"Is the hat near lamp {n}?", 6)
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(UserError, match="--init-checkpoint needs the library transformers"):
        score_with_transformer(texts, folds, TINY, init_checkpoint=tmp_path)
