"""Attackers that see texts alone: the baseline, its rows, and a transformer."""

import sys

import numpy as np
import pytest

from pipeline.benchmark.auditing.attack_evaluation import AttackResult, Folds, group_by_text
from pipeline.benchmark.balancing.pairing import BalanceParams
from pipeline.core.errors import UserError
from pipeline.core.records import Candidate, Question, make_candidate_id
from pipeline.scoring import auroc
from pipeline.scoring.items import BenchmarkItem, Items
from pipeline.scoring.joined_predictions import Predictions
from research.studies.item_sets import ItemSet
from research.studies.row_scores import RowPredictions
from research.studies.text_only_baseline import (
    OUR_BALANCED_RULES,
    OUR_UNBALANCED_RULES,
    PAPER_RULES,
    TextOnlyBaseline,
    attack_candidates,
    balance_candidates,
    render_table,
)
from research.studies.text_only_rows import (
    compute_text_only_auroc,
    compute_text_only_scores,
    replace_confidence,
)
from research.studies.transformer_attacker import TransformerConfig, score_with_transformer
from research.studies.transformer_study import compute_shortfall, find_best_attacker
from research.studies.transformer_study import render_table as study_render_table


def pairs(new, count=60):
    questions, candidates = {}, []
    for i in range(count):
        common = {"question_id": f"q{i}", "image_id": f"n{i}"}
        questions[f"q{i}"] = Question(
            **common, split="testdev", text=f"Where is the cup number {i}?", answer="left"
        )
        candidates.append(
            Candidate(
                **common,
                candidate_id=make_candidate_id("pt-easy", f"n{i}", f"q{i}"),
                subset="pt-easy",
                text=f"Where is the {new} number {i}?",
            )
        )
    return candidates, questions


def test_a_word_that_only_edited_questions_have_leaks_the_label():
    found = attack_candidates(*pairs("unicorn"), folds=5, repetitions=50, seed=1, max_pairs=1000)
    assert (found.num_questions, found.num_candidates, found.num_pairs) == (60, 60, 60)
    assert found.attacks["word n-grams"].auroc == found.worst_auroc == 1.0


def test_edited_questions_like_their_originals_leak_nothing():
    found = attack_candidates(*pairs("cup"), folds=5, repetitions=50, seed=1, max_pairs=1000)
    # None: no other questions are known.
    assert {attack.auroc for attack in found.attacks.values()} == {0.5, None}
    assert found.worst_auroc == 0.5


def test_of_many_pairs_some_are_sampled_with_their_originals():
    found = attack_candidates(*pairs("unicorn"), folds=5, repetitions=50, seed=1, max_pairs=28)
    assert (found.num_candidates, found.num_pairs, found.attacks["word n-grams"].groups) == (60, 28, 28)


def test_the_table_has_a_row_for_each_subset_and_rule():
    one = attack_candidates(*pairs("unicorn", 30), folds=5, repetitions=50, seed=1, max_pairs=1000)
    text = render_table(
        {
            rules: {"pt-easy": one, "pt-hard": one}
            for rules in (OUR_BALANCED_RULES, OUR_UNBALANCED_RULES, PAPER_RULES)
        }
    )
    lines = text.split("\n")
    assert len(lines) == 8 and len({line.count("|") for line in lines}) == 1
    assert "| pt-hard | ours, balanced | 30 | 1.000 [1.00, 1.00] |" in text
    assert text.count("| 1.000 | 0.58 |") == text.count("| 1.000 | 0.62 |") == 2


def test_balancing_drops_pairs_with_telltale_words():
    # As in `find_telltale_pairs`: each of 60 pairs replaces "cup" by "unicorn", and at most half of them may be dropped.
    candidates, questions = pairs("unicorn")
    assert len(balance_candidates(candidates, questions, BalanceParams(max_dropped_proportion=0.5))) == 30
    assert balance_candidates([], questions, BalanceParams()) == []


# Rows with text-only confidence.


COUNT = 60


def set_with(text):
    """Every other item is unanswerable; `text` returns the text of item i, given whether it is unanswerable."""
    rows = [
        BenchmarkItem(str(i), f"p{i // 2}", {} if i % 2 else {"red": 1.0}, question_text=text(i, i % 2))
        for i in range(COUNT)
    ]
    return ItemSet(Items.from_rows(rows), [str(i) for i in range(COUNT)])


def test_text_only_auroc_is_high_for_telltale_texts_and_half_for_equal_texts():
    telltale = set_with(lambda i, uq: f"What is the {'purple' if uq else 'plain'} thing number {i}?")
    assert compute_text_only_auroc(telltale, compute_text_only_scores(telltale, 0)) > 0.99
    alike = set_with(lambda i, uq: f"What is the thing number {i // 2}?")  # each text once with each label
    assert compute_text_only_auroc(alike, compute_text_only_scores(alike, 0)) == pytest.approx(0.5)


def test_too_few_texts_have_constant_scores():
    one = set_with(lambda i, uq: "What?")
    assert (
        not compute_text_only_scores(one, 0).any()
        and compute_text_only_auroc(one, compute_text_only_scores(one, 0)) == 0.5
    )


def test_the_row_keeps_its_answers_and_gets_the_text_only_confidence():
    one = set_with(lambda i, uq: f"What is {i}?")
    places = {str(i): COUNT - 1 - i for i in range(COUNT)}
    said = Predictions("blind", "", places, [str(i) for i in range(COUNT)], np.zeros(COUNT))
    row = replace_confidence(one, RowPredictions("blind", False, (said,)), np.arange(COUNT) / COUNT)
    (made,) = row.predictions
    assert row.is_reference and row.name == "blind with text-only confidence"
    assert made.answer[made.index_by_id["3"]] == said.answer[said.index_by_id["3"]]
    assert made.confidence is not None and made.confidence[made.index_by_id["3"]] == -3 / COUNT


# The transformer as an attacker: what it can learn, what it must not learn, and that it is deterministic.


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


# The table of `rgqa study transformer-attacker`: the paper's rows of each subset decide whether the transformer counts.


def row(words, pairs, transformer):
    reach = {"word n-grams": words, "word pairs": pairs, "transformer": transformer}
    attacks = {name: AttackResult(auroc=auroc, low=0.5, high=0.9, groups=9) for name, auroc in reach.items()}
    return TextOnlyBaseline(num_questions=10, num_candidates=10, num_pairs=9, attacks=attacks)


def test_the_best_of_the_audits_attackers_is_never_the_transformer():
    assert find_best_attacker(row(0.6, 0.7, 0.9)) == "word pairs"
    assert find_best_attacker(row(None, None, 0.9)) is None


def test_it_falls_short_by_the_difference():
    assert compute_shortfall(row(0.6, 0.7, 0.65)) == 0.05  # 0.7 - 0.65
    assert compute_shortfall(row(0.6, 0.7, None)) is None


def test_it_is_strong_enough_within_0_03_of_the_best_on_the_papers_rows():
    weak, strong = row(0.8, 0.9, 0.86), row(0.8, 0.9, 0.87)
    found = {
        rules: {"pt-easy": row(0.55, 0.5, 0.52), "pt-hard": row(0.6, 0.5, 0.66)}
        for rules in (OUR_BALANCED_RULES, OUR_UNBALANCED_RULES)
    }
    lines = study_render_table(found | {PAPER_RULES: {"pt-easy": strong, "pt-hard": weak}}).split("\n")
    assert [line.split("|")[-2].strip() for line in lines[2:]] == [
        *["yes", "yes", "yes: -0.030"],
        *["no", "no", "no: -0.040"],
    ]
    assert (
        "| pt-hard | ours, balanced | 9 | 0.600 [0.50, 0.90] | word n-grams | 0.660 [0.50, 0.90] |"
        in lines[5]
    )
