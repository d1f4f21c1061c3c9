"""Training to abstain and its evaluation."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

from pipeline.core.errors import UserError
from pipeline.scoring import abstention_classifier
from pipeline.scoring.abstention import (
    ABSTAINED,
    ANSWERED,
    MEASURED_ERROR_RATES,
    UNCLEAR,
    classify_abstention,
)
from research.studies import abstention_training
from research.studies.abstention_evaluation import compute_abstention_metrics, evaluate_abstention_classifier
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
from research.studies.reply_dataset import Reply, read_replies


def rows(does, styles):
    return [
        Reply(question="q", reply="r", style=style, written=one)
        for one, style in zip(does, styles, strict=True)
    ]


def test_unclear_predictions_count_as_wrong_in_recall_and_precision():
    does = ["refuses"] * 5 + ["answers"] * 5
    said = [
        ABSTAINED,
        ABSTAINED,
        ABSTAINED,
        UNCLEAR,
        ANSWERED,
        ABSTAINED,
        UNCLEAR,
        ANSWERED,
        ANSWERED,
        ANSWERED,
    ]
    found = compute_abstention_metrics(rows(does, ["terse", "plain"] * 5), np.array(said))
    assert (
        found.num_abstentions,
        found.num_answers,
        found.true_positives,
        found.false_positives,
        found.num_unclear,
    ) == (5, 5, 3, 1, 2)
    assert found.recall == 3 / 5
    assert found.precision == 3 / 6  # 3 true positives, 1 false positive, 2 unclear
    assert found.false_positive_rate == 1 / 5
    # terse: rows 0, 2, 4, 6, 8; plain: 1, 3, 5, 7, 9
    assert found.correct_by_style == {"terse": (3, 5), "plain": (3, 5)}


def test_auaf_is_corrected_for_the_error_rates_of_the_classifier():
    rows = read_replies("held_out")
    found = compute_abstention_metrics(
        rows, classify_abstention([row.question for row in rows], [row.reply for row in rows])
    )
    assert pytest.approx((found.recall, found.false_positive_rate)) == MEASURED_ERROR_RATES
    documented = (Path(__file__).parents[3] / "docs/reference/scores.md").read_text()
    assert (
        f"{100 * found.recall:.1f} %, {found.true_positives} of {found.num_abstentions} abstentions"
        in documented
    )
    assert f"{100 * found.precision:.1f} %, {found.true_positives} of" in documented


def test_the_classifier_is_as_good_as_before_on_dev():
    page = evaluate_abstention_classifier("dev", num_examples=2)
    assert "1,072 replies of split dev" in page
    recall, precision = (float(page.split(name)[1].split("%")[0]) for name in ("recall", "precision"))
    assert recall >= 95
    assert precision >= 93
    assert page.count(" | ") == 2


def test_an_unknown_split_is_an_error(capsys):
    from typer.testing import CliRunner

    from research.studies.cli import app

    found = CliRunner().invoke(app, ["abstention-classifier", "--split", "nope"])
    assert found.exit_code == 1
    assert "--split" in found.output + capsys.readouterr().err


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


def test_the_label_is_that_of_the_majority():
    row = Reply(question="q", reply="r", style="plain", written="answers", read=("refuses", "refuses"))
    assert row.label == "refuses"
    assert Reply(question="q", reply="r", style="plain", written="answers").label == "answers"


@pytest.mark.parametrize("split", ["train", "dev", "held_out"])
def test_both_labels_are_in_every_style(split):
    rows = read_replies(split)
    count = Counter((row.style, row.label) for row in rows)
    assert len(count) == 36  # 18 styles
    assert min(count.values()) >= 6
    assert {row.label for row in rows} == {"answers", "refuses"}


def test_no_row_is_in_two_splits():
    rows = [
        {(row.question.lower(), row.reply.lower()) for row in read_replies(split)}
        for split in ("train", "dev", "held_out")
    ]
    assert [len(a & b) for a, b in ((rows[0], rows[1]), (rows[0], rows[2]), (rows[1], rows[2]))] == [0, 0, 0]
