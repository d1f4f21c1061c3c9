"""Questions for training: words as numbers, arrays, and pairs that have no answer."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import softplus

from pipeline.core.errors import UserError
from pipeline.sources.training_questions import TrainingQuestion
from research.reference_models.pseudo_pairs import (
    PairWeights,
    apply_roi_mixup,
    find_hard_pairs,
    sample_keep_rate,
    sample_random_pairs,
)
from research.reference_models.question_arrays import QuestionCollector, subsample_evenly
from research.reference_models.region_stores import ArrayStore
from research.reference_models.tokenization import PADDING_ID, UNKNOWN_ID, WordVocabulary, split_words

# Questions as arrays.


TRAIN = [
    TrainingQuestion("n1", "Is the cup red?", "yes"),
    TrainingQuestion("n2", "Is the dog red?", "no"),
    TrainingQuestion("n1", "What is it?", "cup"),
    TrainingQuestion("n1", "?", "no"),
]
STORE = ArrayStore(["n0", "n1", "n2"], np.zeros((3, 1, 2)), np.zeros((3, 1, 4)))


def test_words_and_answers_are_the_frequent_ones():
    gathered = QuestionCollector(TRAIN)
    assert gathered.build_vocabulary(min_count=2) == WordVocabulary(("is", "red", "the"))
    assert gathered.top_answers(2) == ("cup", "no")  # "no" twice; "cup" stands before "yes"
    assert gathered.top_answers(9) == ("cup", "no", "yes")


def test_ids_are_those_of_vocabulary_answers_and_store():
    gathered = QuestionCollector(TRAIN)
    words = gathered.build_vocabulary(min_count=2)
    found = gathered.to_question_set(words, ("cup", "no"), STORE, Path("train.json"))
    assert found.tokens.tolist() == words.encode([q.text for q in TRAIN]).tolist()
    assert found.image_indices.tolist() == [1, 2, 1, 1] and found.answers.tolist() == [-1, 1, 0, 1]
    assert found.tokens.dtype == np.uint8  # 5 numbers


def test_a_very_long_question_is_truncated():
    long = [TrainingQuestion("n1", "cup " * 300, "no")]
    found = QuestionCollector(long).to_question_set(
        WordVocabulary(("cup",)), ("no",), STORE, Path("train.json")
    )
    assert found.tokens.shape == (1, 40)


def test_images_without_regions_are_named_with_their_number_of_questions():
    gathered = QuestionCollector(
        [*TRAIN, TrainingQuestion("n9", "Is it?", "no"), TrainingQuestion("n9", "Is?", "no")]
    )
    with pytest.raises(UserError, match=r"1 of its 3 images(.|\n)*image n9: 2 questions about it"):
        gathered.to_question_set(WordVocabulary(()), ("no",), STORE, Path("train.json"))


def test_an_even_subsample_has_first_and_last():
    whole = QuestionCollector(TRAIN).to_question_set(
        WordVocabulary(()), ("cup", "no"), STORE, Path("train.json")
    )
    assert (
        subsample_evenly(whole, 2).answers.tolist() == [-1, 1]
        and len(subsample_evenly(whole, 99).answers) == 4
    )


# Words of questions as numbers.


def test_words_are_in_lower_case_and_without_punctuation():
    assert split_words("What color is the man's T-shirt?") == [
        "what",
        "color",
        "is",
        "the",
        "man's",
        "t",
        "shirt",
    ]


def test_an_unknown_word_is_no_padding():
    table = WordVocabulary.from_texts(["the cup"])
    assert table.encode(["the dragon", "the"]).tolist() == [[3, UNKNOWN_ID], [3, PADDING_ID]]
    assert UNKNOWN_ID != PADDING_ID


def test_words_are_those_of_train_only():
    table = WordVocabulary.from_texts(["red cup", "red dog"], min_count=2)
    assert table.words == ("red",) and len(table) == 3


def test_a_text_without_words_is_one_unknown_word_and_not_nothing():
    assert WordVocabulary.from_texts(["cup"]).encode(["?!"]).tolist() == [[UNKNOWN_ID]]


# Pseudo unanswerable questions.


@pytest.mark.parametrize("seed", range(5))
def test_a_random_pair_is_never_of_one_image(seed):
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 4, 300)  # a quarter would be of one image by chance
    pairs = sample_random_pairs(images, rng)
    assert len(pairs) == 300  # one for each question
    assert (images[pairs] != images).all()


def test_random_pairs_are_uniform():
    images = np.array([5, 1, 5, 9])
    drawn = [sample_random_pairs(images, np.random.default_rng(seed))[0] for seed in range(4000)]
    counts = np.bincount(drawn, minlength=4)
    assert counts[0] == counts[2] == 0
    assert abs(counts[1] - 2000) < 4 * np.sqrt(1000)  # binomial: 4 standard deviations


def test_questions_about_one_image_have_no_pairs():
    with pytest.raises(ValueError, match="two images"):
        sample_random_pairs(np.array([3, 3]), np.random.default_rng(0))


def test_hard_pairs_are_the_most_similar_of_other_images():
    images = np.array([0, 0, 1, 2, 2])
    of_images = np.eye(3)
    of_questions = np.array([[9, 1, 1], [9, 5, 2], [8, 9, 3], [7, 6, 9], [1, 7, 9.0]])
    # image 0: of questions 2, 3, 4 with 8, 7, 1; image 1: of 0, 1, 3, 4 with 1, 5, 6, 7; image 2: of 0, 1, 2 with 1, 2, 3
    found = find_hard_pairs(of_images, of_questions, images, max_questions=2, batch=2)
    assert found.tolist() == [[2, 3], [4, 3], [2, 1]]
    with pytest.raises(ValueError, match="too few questions"):
        find_hard_pairs(of_images, of_questions, images, max_questions=4)


def mixed(share, rows=6, regions=10):
    features = torch.arange(rows * regions, dtype=torch.float32).view(rows, regions, 1).repeat(1, 1, 3)
    boxes = torch.arange(rows * regions, dtype=torch.float32).view(rows, regions, 1).repeat(1, 1, 4)
    targets = torch.eye(rows)
    return (
        features,
        boxes,
        targets,
        *apply_roi_mixup(features, boxes, targets, share, np.random.default_rng(1)),
    )


@pytest.mark.parametrize(("share", "kept"), [(0.0, 0), (0.39, 3), (0.5, 5), (0.99, 9), (1.0, 10)])
def test_mixup_keeps_a_fraction_of_the_regions_rounded_down(share, kept):
    features, _, _, mixed_features, _, _ = mixed(share)
    assert ((features == mixed_features).all(-1).sum(1) == kept).all()


def test_mixup_replaces_features_and_boxes_by_those_of_one_row():
    features, boxes, _, mixed_features, mixed_boxes, _ = mixed(0.5)
    assert torch.equal(mixed_features[..., 0], mixed_boxes[..., 0])  # both hold the number of their region
    changed = mixed_features[..., 0] != features[..., 0]
    for row in range(len(boxes)):
        partners = mixed_features[row, changed[row], 0] // 10
        assert len(set(partners.tolist())) == 1 and partners[0] != row
    places = mixed_features[..., 0] % 10
    assert torch.equal(places, torch.arange(10.0).expand(6, 10))  # from the same places


def test_mixup_scales_the_target():
    _, _, targets, _, _, mixed_targets = mixed(0.3)
    torch.testing.assert_close(mixed_targets, 0.3 * targets)


def test_the_keep_rate_is_sampled_from_beta_1_b():
    rng = np.random.default_rng(0)
    drawn = [sample_keep_rate(5.0, rng) for _ in range(4000)]
    assert np.mean(drawn) == pytest.approx(1 / 6, abs=0.01)  # 1 / (1 + b)


class Toy(torch.nn.Module):
    """A model with one weight: the loss of pair i is weight * hardness i, that of the answerable part weight ** 2."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor(2.0))

    def losses(self, hardness):
        return self.weight**2, self.weight * hardness


HARDNESS = torch.tensor([0.1, 0.2, 3.0, 4.0])


def ours(model, pairs):
    positive, negative = model.losses(HARDNESS)
    weighted, of_weights = pairs.weight_losses(np.arange(4), negative)
    (positive + weighted).backward()
    gradient = model.weight.grad.item()
    pairs.step(of_weights)
    return gradient


def test_the_models_gradient_includes_the_pairs():
    # theta is 0, so all weights are alike and the factor is 1: d(w^2 + mean(w h)) / dw = 2 w + mean h = 4 + 1.825
    assert ours(Toy(), PairWeights(4)) == pytest.approx(4 + 1.825)


def test_weights_of_hard_pairs_rise_above_those_of_easy_ones():
    pairs = PairWeights(4)
    for _ in range(3):
        ours(Toy(), pairs)
    weights = pairs.weights().detach()
    assert weights[3] > weights[2] > softplus(torch.tensor(0.0)) > weights[1] > weights[0] > 0
    drawn = np.bincount(pairs.sample(20_000, np.random.default_rng(0)), minlength=4) / 20_000
    wanted = weights.sqrt() / weights.sqrt().sum()
    np.testing.assert_allclose(drawn, wanted, atol=0.02)


def test_in_rgqas_code_the_gradients_of_pairs_cancel():
    """Their BUTD branch: one graph, `loss.backward(); loss_w.backward()` with loss_w = -loss_neg, before either step."""
    model, theta = Toy(), torch.zeros(4, requires_grad=True)
    weights = softplus(theta)
    positive, negative = model.losses(HARDNESS)
    loss_neg = (torch.sqrt(weights / weights.mean()) * negative).mean()
    (positive + loss_neg).backward(retain_graph=True)
    (-loss_neg).backward()
    assert model.weight.grad is not None and theta.grad is not None
    assert model.weight.grad.item() == pytest.approx(4)  # 2 w alone
    assert theta.grad.abs().max() == pytest.approx(0, abs=1e-7)
