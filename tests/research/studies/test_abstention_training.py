import json

import numpy as np
import pytest
import torch

from pipeline.core.errors import UserError
from pipeline.scoring import abstention_classifier
from research.studies import abstention_training
from research.studies.abstention_training import (
    AbstentionEnsemble,
    build_vocabulary,
    encode_reply,
    find_swappable_words,
    fit_networks,
    pad_batch,
    read_word_vectors,
    save_weights,
    train_and_save,
)
from research.studies.reply_dataset import Reply

ROWS = [
    Reply(question=f"What color is the {thing}?", reply=reply, style="plain", written=does)
    for thing in ("umbrella", "dog", "bus", "cup", "kite", "sofa", "tie", "boat")
    for reply, does in ((f"There is\nno {thing}.", "refuses"), (f"The {thing} is red.", "answers"))
] * 8


@pytest.fixture
def vectors(tmp_path):
    """GloVe's file of a few words."""
    words = {
        word for row in ROWS for word in (*row.question[:-1].lower().split(), *row.reply[:-1].lower().split())
    }
    drawn = np.random.default_rng(3).normal(0, 0.5, (len(words), 100))
    lines = [
        f"{word} {' '.join(f'{x:.4f}' for x in row)}" for word, row in zip(sorted(words), drawn, strict=True)
    ]
    path = tmp_path / "glove.txt"
    path.write_text("\n".join(lines))
    return path


def test_training_learns_abstentions_and_the_scorers_load_the_weights(tmp_path, vectors, monkeypatch):
    monkeypatch.setattr(abstention_training, "read_replies", lambda part: ROWS)
    monkeypatch.setattr(abstention_training, "INITIAL_SCHEDULE", (12, 3e-3))
    monkeypatch.setattr(abstention_training, "EMA_DECAY", 0.5)
    monkeypatch.setattr(abstention_training, "BATCH_SIZE", 16)
    train_and_save(vectors, tmp_path / "w.npz")
    monkeypatch.setattr(abstention_classifier, "WEIGHTS_FILE", tmp_path / "w.npz")
    ours = abstention_classifier.load_abstention_classifier.__wrapped__()
    p = ours.predict_abstention(["What color is the lamp?"] * 2, ["There is no lamp.", "The lamp is red."])
    assert p[0] > 0.8
    assert p[1] < 0.2
    monkeypatch.setattr(abstention_training, "load_abstention_classifier", lambda: ours)
    monkeypatch.setattr(abstention_training, "FINE_TUNING_SCHEDULE", (1, 0.0))
    train_and_save(None, tmp_path / "again.npz")  # A learning rate of 0 keeps the weights.
    monkeypatch.setattr(abstention_classifier, "WEIGHTS_FILE", tmp_path / "again.npz")
    again = abstention_classifier.load_abstention_classifier.__wrapped__()
    assert again.predict_abstention(
        ["What color is the lamp?"] * 2, ["There is no lamp.", "The lamp is red."]
    ) == (pytest.approx(p, abs=5e-3))


def test_saved_weights_predict_as_the_trained_networks(tmp_path, vectors, monkeypatch):
    generator = np.random.default_rng(0)
    torch.manual_seed(0)
    words, start, learned = build_vocabulary(ROWS, read_word_vectors(vectors), generator)
    places = {word: place for place, word in enumerate(words)}
    examples = [encode_reply(row, places) for row in ROWS[:16]]
    networks = fit_networks(
        AbstentionEnsemble(torch.from_numpy(start), learned),
        examples,
        find_swappable_words(ROWS, places),
        generator,
        1,
        1e-3,
    )
    save_weights(tmp_path / "w.npz", words, networks)
    monkeypatch.setattr(abstention_classifier, "WEIGHTS_FILE", tmp_path / "w.npz")
    with torch.no_grad():
        parts = [torch.from_numpy(part) for part in pad_batch(examples)]
        expected = torch.sigmoid(networks.eval()(parts).mean(0)).numpy()
    ours = abstention_classifier.load_abstention_classifier.__wrapped__()
    found = ours.predict_abstention([row.question for row in ROWS[:16]], [row.reply for row in ROWS[:16]])
    assert found == pytest.approx(expected, abs=5e-3)  # half-precision weights, vectors of 8 bits


def test_frequent_words_are_trained_and_the_rest_is_in_the_vocabulary(vectors):
    table = read_word_vectors(vectors)
    words, start, learned = build_vocabulary(ROWS[:2], table, np.random.default_rng(0))
    # of the two rows' words only "umbrella" (4 times) and "the" (3 times: twice asked, once said) are seen three times or more
    assert set(words[2:learned]) == {"umbrella", "the", "is"}
    assert set(words[2:]) == set(table) | set(words[2:learned])
    assert start[words.index("dog")] == pytest.approx(table["dog"])
    assert not start[0].any()


def test_both_formats_of_word_vectors_are_read(tmp_path, vectors):
    table = read_word_vectors(vectors)
    data = {"words": [*table], "vectors": {word: [*row.tolist(), 0.0, 1] for word, row in table.items()}}
    path = tmp_path / "wink.json"
    path.write_text(json.dumps(data))
    again = read_word_vectors(path)
    assert [*again] == [*table]
    assert again["dog"] == pytest.approx(table["dog"])


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.txt", "dog 1 2 3"), ("a.txt", "dog one"), ("a.json", "{"), ("a.json", '{"words": ["a"]}')],
)
def test_a_file_without_word_vectors_is_an_error(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=name):
        read_word_vectors(tmp_path / name)
    with pytest.raises(UserError, match="none.txt"):
        read_word_vectors(tmp_path / "none.txt")
