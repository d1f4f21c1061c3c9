import numpy as np
import pytest
import torch

from pipeline.scoring.abstention_classifier import (
    PADDING_TOKEN,
    UNKNOWN_TOKEN,
    WEIGHTS_FILE,
    AbstentionClassifier,
    load_abstention_classifier,
)
from pipeline.scoring.abstention_features import tokenize_pair
from research.studies.abstention_training import AbstentionNet

QUESTIONS = ["What color is the umbrella?", "Is it red?", "What color is the umbrella?", "?"]
REPLIES = [
    "There is no umbrella in this image, only a parasol.",
    "no",
    "red",
    "I can't tell, it is too dark. " * 20,
]


@pytest.fixture(scope="module")
def networks():
    """Two networks with drawn weights."""
    torch.manual_seed(1)
    return [AbstentionNet().eval() for _ in range(2)]


@pytest.fixture(scope="module")
def drawn(networks):
    """A reader of a few words with these networks."""
    words = [PADDING_TOKEN, UNKNOWN_TOKEN, "no", "umbrella", "red", "the", "is", "it", "dark", "only", "?"]
    vectors = np.random.default_rng(1).normal(size=(len(words), 100)).astype(np.float32)
    weights = [{name: value.detach().numpy() for name, value in net.named_parameters()} for net in networks]
    return AbstentionClassifier({word: place for place, word in enumerate(words)}, vectors, weights)


def test_the_network_is_torchs(networks, drawn):
    pairs = [tokenize_pair(question, reply) for question, reply in zip(QUESTIONS, REPLIES, strict=True)]
    asked, asked_flags, _, said, said_flags, _ = map(torch.from_numpy, drawn.encode_batch(pairs))
    with torch.no_grad():
        votes = torch.stack([network(asked, asked_flags, said, said_flags) for network in networks])
    expected = torch.sigmoid(votes.mean(0)).numpy()
    assert drawn.predict_abstention(QUESTIONS, REPLIES) == pytest.approx(expected, abs=1e-5)
    assert np.ptp(expected) > 1e-4


def test_other_replies_of_the_batch_do_not_matter(drawn):
    together = drawn.predict_abstention(QUESTIONS * 300, REPLIES * 300)
    alone = [
        drawn.predict_abstention([question], [reply])[0]
        for question, reply in zip(QUESTIONS, REPLIES, strict=True)
    ]
    assert together == pytest.approx(np.tile(alone, 300), abs=1e-5)
    assert drawn.predict_abstention([], []).tolist() == []


def test_unknown_words_are_equal(drawn):
    first, second = drawn.predict_abstention(["is it red?"] * 2, ["zzyzx is dark", "qwerty is dark"])
    assert first == second


def test_the_weights_that_come_with_the_scorers():
    ours = load_abstention_classifier()
    assert [*ours.vocabulary][:2] == [PADDING_TOKEN, UNKNOWN_TOKEN]
    assert len(ours.vocabulary) == len(ours.embeddings)
    assert np.isfinite(ours.embeddings).all()
    assert WEIGHTS_FILE.stat().st_size < 6e6
    p = ours.predict_abstention(["What color is the umbrella?"] * 2, ["There is no umbrella.", "red"])
    assert p[0] > 0.9
    assert p[1] < 0.1
