"""Abstentions: how they are detected, labels, and the classifier."""

import numpy as np
import pytest
import torch

from pipeline.core.errors import UserError
from pipeline.scoring import is_abstention
from pipeline.scoring.abstention import (
    ABSTAINED,
    ANSWERED,
    UNCLEAR,
    ClassifierErrorRates,
    classify_abstention,
    corrected_auaf,
    score_abstention,
)
from pipeline.scoring.abstention_classifier import (
    PADDING_TOKEN,
    UNKNOWN_TOKEN,
    WEIGHTS_FILE,
    AbstentionClassifier,
    load_abstention_classifier,
)
from pipeline.scoring.abstention_features import (
    MAX_REPLY_WORDS,
    compute_word_features,
    stem_word,
    tokenize,
    tokenize_pair,
)
from pipeline.scoring.abstention_labels import add_external_labels, parse_labels
from pipeline.scoring.items import BenchmarkItem, Items
from pipeline.scoring.join import join_predictions
from pipeline.scoring.joined_predictions import ScoringOptions
from pipeline.scoring.prediction_reader import read_predictions
from pipeline.scoring.realistic_vqa import auaf
from research.studies.abstention_training import AbstentionNet
from tests.scoring.conftest import ROWS, answered, predictions, refused, run, scored, write

# Abstention


COLOR, THERE, WHO = "What color is the umbrella?", "Is there a dog?", "Who is behind the counter?"
ABSTAIN = [
    (COLOR, ""),
    (COLOR, "-"),
    (COLOR, "—"),
    (COLOR, "´"),
    (COLOR, "UQ"),
    (COLOR, "uq."),
    (COLOR, "unanswerable</s>"),
    (COLOR, "**Unanswerable**"),
    (COLOR, "I don't know."),
    (COLOR, "I cannot tell from the image."),
    (COLOR, "There is no umbrella in this image."),
    (COLOR, "The umbrella is not visible."),
    (COLOR, "Answer: unanswerable"),
    (COLOR, "<think>It could be red.</think>There is no umbrella, so the question cannot be answered."),
]
ANSWER = [
    (COLOR, "red"),
    ("What sign is on the wall?", "+"),
    (COLOR, "I'm not entirely sure, but it looks red."),
    (COLOR, "<think>No umbrella? Wait, there it is.</think>Red"),
    (THERE, "no"),
    (THERE, "No, there is no dog in the image."),
    (WHO, "nobody"),
    (WHO, "No one is standing behind the counter."),
    ("What can't the person see?", "The person cannot see the ball."),
    ("Can people walk to the pool?", "There is no fence around the pool, so people can walk in."),
    ("How many dogs are there?", "0"),
]


@pytest.mark.parametrize(("question", "reply"), ABSTAIN)
def test_replies_that_abstain(question, reply):
    assert is_abstention(reply, question)


@pytest.mark.parametrize(("question", "reply"), ANSWER)
def test_replies_that_answer(question, reply):
    assert not is_abstention(reply, question)


def test_a_reply_is_a_string():
    with pytest.raises(ValueError, match="reply is 3, expected a string"):
        is_abstention(3)


def test_replies_between_the_thresholds_are_unclear(monkeypatch):
    class Drawn:
        vocabulary = frozenset()

        def predict_abstention(self, questions, replies):
            return np.array([float(reply) for reply in replies])

    monkeypatch.setattr("pipeline.scoring.abstention.load_abstention_classifier", Drawn)
    said = classify_abstention([""] * 6, ["0.87", "0.855", "0.845", "0.83", "", "UQ."])
    assert said.tolist() == [ABSTAINED, UNCLEAR, UNCLEAR, ANSWERED, ABSTAINED, ABSTAINED]


def test_a_reply_that_is_a_tag_alone_is_read_like_any_other(monkeypatch):
    class Answering:
        vocabulary = frozenset(["red"])

        def predict_abstention(self, questions, replies):
            return np.zeros(len(replies))

    monkeypatch.setattr("pipeline.scoring.abstention.load_abstention_classifier", Answering)
    assert classify_abstention([""] * 3, ["<red>", "<answer>UQ</answer>", "unanswerable</s>"]).tolist() == [
        ANSWERED,
        ABSTAINED,
        ABSTAINED,
    ]


def test_the_classifiers_error_is_corrected_as_rogan_and_gladen_do():
    error = ClassifierErrorRates(0.8, 0.1)
    # of 30 % that abstain 0.8 x 0.3 + 0.1 x 0.7 = 0.31 are read so
    assert error.correct_proportion(0.31) == pytest.approx(0.3)
    assert (error.correct_proportion(0.05), error.correct_proportion(0.95)) == (0.0, 1.0)
    drawn = np.random.default_rng(0)
    abstains = drawn.random(200_000) < 0.3
    seen = drawn.random(200_000) < np.where(abstains, 0.8, 0.1)
    assert error.correct_proportion(seen.mean()) == pytest.approx(0.3, abs=0.01)


def test_auaf_is_corrected_to_that_of_a_classifier_without_error():
    drawn, count, error = np.random.default_rng(1), 100_000, ClassifierErrorRates(0.9, 0.05)
    answerable = np.arange(2 * count) < count
    correct = (answerable & (drawn.random(2 * count) < 0.7)).astype(float)
    abstains = drawn.random(2 * count) < np.where(answerable, np.where(correct, 0.0, 0.5), 0.6)
    seen = drawn.random(2 * count) < np.where(abstains, error.recall, error.false_positive_rate)
    truth = auaf(np.where(abstains, ABSTAINED, ANSWERED), correct, answerable)
    read_off = auaf(np.where(seen, ABSTAINED, ANSWERED), correct, answerable)
    found = corrected_auaf(np.where(seen, ABSTAINED, ANSWERED), correct, answerable, error)
    assert abs(read_off - truth) > 0.02
    assert found == pytest.approx(truth, abs=0.005)
    assert np.isnan(corrected_auaf(np.ones(2), np.ones(2), np.array([True, True]), error))


def test_the_range_is_that_of_all_ways_to_read_what_is_unclear():
    drawn = np.random.default_rng(2)
    for _ in range(30):
        joined = answered()
        said = drawn.choice([ABSTAINED, UNCLEAR, ANSWERED], 6)
        found = score_abstention(joined._replace(confidence=said), ScoringOptions(detect_abstention=True))
        open_ones = np.flatnonzero(said == UNCLEAR)
        ways = []
        for way in range(2 ** len(open_ones)):
            said[open_ones] = [way >> place & 1 for place in range(len(open_ones))]
            ways.append(auaf(said, joined.correct, joined.answerable))
        assert (found["auaf_lowest"], found["auaf_highest"]) == (min(ways), max(ways))


def test_detect_abstention_counts_abstentions_on_aqs_and_answers_to_uqs(release, tmp_path, capsys):
    said = ["red", "I cannot tell.", "unanswerable", "no", "dog", "There is no cat in the image."]
    rows = [{"question_id": row[0], "answer": text} for row, text in zip(ROWS, said, strict=True)]
    path = write(tmp_path / "m.json", rows)
    assert "or use --detect-abstention" in refused(capsys, release, path)
    found = scored(tmp_path, release, path, "--detect-abstention", "--bootstrap", 0, "--split", "all")
    group = found["models"][0]["subsets"]["clip-easy"]["abstention"]
    assert {name: group[name] for name in ("abstentions", "unclear", "aq_abstentions", "answered_uqs")} == {
        "abstentions": 3,
        "unclear": 0,
        "aq_abstentions": 1,
        "answered_uqs": 1,
    }
    assert (group["aq_abstention_rate"], group["answered_uq_rate"]) == pytest.approx((1 / 3, 1 / 3))
    assert group["auaf_lowest"] == group["auaf_highest"]
    capsys.readouterr()


def test_abstentions_are_detected_only_if_requested():
    joined = answered()
    assert "unavailable" in score_abstention(joined, ScoringOptions())
    found = score_abstention(
        joined._replace(missing=joined.answerable), ScoringOptions(scores=("abstention",))
    )
    assert (found["aq_abstentions"], found["answered_uqs"], found["answered_uq_rate"]) == (0, 3, 1.0)
    assert found["aq_abstention_rate"] != found["aq_abstention_rate"]  # no AQ is left: undefined
    assert len(predictions()) == 6


# Abstention labels


def said(tmp_path, *rows, name="m.json"):
    return read_predictions(
        write(tmp_path / name, [{"id": str(n), "prediction": "x", **row} for n, row in enumerate(rows)])
    )


@pytest.mark.parametrize(
    ("row", "label"),
    [
        ({"abstained": True}, 0.0),
        ({"abstained": False}, 1.0),
        ({"abstained": "True"}, 0.0),
        ({"abstained": 0}, 1.0),
        ({"p_answerable": 0.25}, 0.25),
        ({"p_answerable": 0.25, "abstained": True}, 0.25),
    ],
)
def test_columns(row, label):
    assert parse_labels([{"question_id": 7, **row}], numbers_as_text=False) == ({"7": label}, [])


def test_numbers_of_a_table_are_text():
    assert parse_labels([{"id": "a", "p_answerable": "0.5", "abstained": ""}], numbers_as_text=True) == (
        {"a": 0.5},
        [],
    )


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({"abstained": "perhaps"}, "0: abstained is 'perhaps', expected true or false"),
        ({"p_answerable": 1.5}, "0: p_answerable is 1.5, expected a number from 0 to 1"),
        ({"p_answerable": True}, "0: p_answerable is True, expected a number from 0 to 1"),
        ({"p_answerable": "0.5"}, "0: p_answerable is '0.5', expected a number from 0 to 1"),
        ({"p_answerable": 10**400}, f"0: p_answerable is {10**400}, expected a number from 0 to 1"),
        ({"p_answerable": float("nan")}, "0: p_answerable is nan, expected a number from 0 to 1"),
    ],
)
def test_labels_that_are_none_are_faults(row, fault):
    assert parse_labels([{"id": "0", **row}], numbers_as_text=False) == ({}, [fault])


def test_labels_of_all_rows_are_the_confidence_where_there_is_no_other(tmp_path):
    assert said(tmp_path, {"abstained": True}, {"abstained": False}).confidence.tolist() == [0.0, 1.0]
    some = said(tmp_path, {"abstained": True}, {})
    assert some.confidence is None
    assert some.abstention_labels == {"0": 0.0}
    both = said(tmp_path, {"abstained": True, "confidence": 0.4}, {"abstained": False, "confidence": 0.3})
    assert both.confidence.tolist() == [0.4, 0.3]


def test_labels_override_detected_abstentions(tmp_path):
    items = [
        BenchmarkItem("0", "p", {"red": 1.0}, question_text="Red?"),
        BenchmarkItem("1", "p", {}, question_text="Red?"),
    ]
    rows = [{"prediction": "I cannot tell.", "abstained": False}, {"prediction": "I cannot tell."}]
    joined = join_predictions(
        Items.from_rows(items), said(tmp_path, *rows), ScoringOptions(detect_abstention=True)
    )
    assert joined.confidence.tolist() == [1.0, 0.0]


def test_external_labels_take_precedence_over_the_files_own(tmp_path):
    model = said(tmp_path, {"abstained": True}, {"abstained": True})
    judge = write(tmp_path / "judge.json", [{"id": "1", "abstained": False}])
    assert add_external_labels(model, judge).abstention_labels == {"0": 0.0, "1": 1.0}


def test_every_fault_of_a_label_file_is_listed(tmp_path):
    model = said(tmp_path, {}, {})
    rows = [{"id": "7", "abstained": True}, {"id": "1", "abstained": "maybe"}, {"id": "0", "abstained": True}]
    rows.append({"id": "0", "abstained": False})
    with pytest.raises(UserError) as caught:
        add_external_labels(model, write(tmp_path / "judge.json", rows))
    assert caught.value.problems[1:] == [
        "1: abstained is 'maybe', expected true or false",
        "0: occurs 2 times",
        "1 id has no prediction in m: 7",
    ]
    with pytest.raises(UserError, match="item_id.*p_answerable.*abstained"):
        add_external_labels(model, write(tmp_path / "judge.json", [{"id": "1"}]))


def test_the_command_takes_a_label_file_for_each_model(release, tmp_path, capsys):
    rows = [{"question_id": row[0], "answer": row[6]} for row in ROWS]
    model = write(tmp_path / "m.json", rows)
    labels = [{"question_id": row[0], "abstained": row[2] == "UQ"} for row in ROWS]  # a perfect model
    judge = write(tmp_path / "judge.json", labels)
    found = scored(tmp_path, release, model, "--abstention-labels", judge, "--bootstrap", 0, "--split", "all")
    assert found["models"][0]["subsets"]["clip-easy"]["realistic"]["auroc"] == 1.0
    assert "--abstention-labels is given 2 times for 1 predictions file" in refused(
        capsys, release, model, "--abstention-labels", judge, "--abstention-labels", judge
    )


def test_external_labels_override_confidences_made_from_the_files_own_labels(tmp_path):
    model = said(tmp_path, {"abstained": True}, {"abstained": True})
    judge = write(tmp_path / "judge.json", [{"id": "1", "abstained": False}])
    assert add_external_labels(model, judge, detect_abstention=False).confidence.tolist() == [0.0, 1.0]


def test_labels_of_some_answers_are_reported_and_labels_without_effect_are_refused(release, tmp_path, capsys):
    rows = [{"question_id": row[0], "answer": row[6], "confidence": row[7]} for row in ROWS]
    judge = write(tmp_path / "judge.json", [{"question_id": "a1", "abstained": False}])
    sure = write(tmp_path / "sure.json", rows)
    assert "sure has confidences, which take precedence. Remove --abstention-labels" in refused(
        capsys, release, sure, "--abstention-labels", judge
    )
    run(release, sure, "--abstention-labels", judge, "--detect-abstention", "--bootstrap", 0)
    assert (
        "and 1 more: 5 of 6 have no label: their abstentions are detected from the text"
        in capsys.readouterr().out
    )
    for row in rows:
        del row["confidence"]
    message = refused(capsys, release, write(tmp_path / "m.json", rows), "--abstention-labels", judge)
    assert "(5 of 6 have no label), or use --detect-abstention" in message


# Abstention features


def test_words_marks_and_numbers():
    assert tokenize("There’s NO dog,\n42 cats; N/A \\boxed{0}") == [
        *("there", "'s", "no", "dog", ",", "<line>", "<number>", "cats", ";", "n/a", "{", "0", "}"),
    ]
    assert tokenize("can't don't cannot") == ["ca", "n't", "do", "n't", "cannot"]


def test_endings():
    assert [stem_word(word) for word in ("churches", "parties", "walked", "is", "umbrellas")] == [
        *("church", "party", "walk", "is", "umbrella"),
    ]


def test_of_a_long_reply_beginning_and_end_are_kept():
    asked, said = tokenize_pair(
        "What?", " ".join(f"w{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(200))
    )
    assert len(said) == MAX_REPLY_WORDS
    assert (said[0], said[39], said[40], said[-1]) == ("waa", "wbn", "<cut>", "whr")
    assert asked == ["what", "?"]
    assert tokenize_pair("", "") == (["<empty>"], ["<empty>"])


def test_flags():
    asked, said = compute_word_features(["what", "color", "is", "umbrella"], ["no", "umbrellas", "is"])
    # shared with a stem; letter by letter; 1/place from the beginning; from the end; 1
    assert (
        said.tolist()
        == np.float32([[0, 0, 1, 1 / 3, 1], [1, 0, 1 / 2, 1 / 2, 1], [0, 1, 1 / 3, 1, 1]]).tolist()
    )
    assert asked[:, 0].tolist() == [0, 0, 0, 1]
    assert asked[:, 1].tolist() == [0, 0, 1, 0]


# Abstention classifier


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


@pytest.mark.parametrize(
    ("reply", "abstains"),
    [
        ("Unanswerable. The vehicle is white rather than black.", True),
        ("unanswerable, because the vehicle is a truck", True),
        ("Status: unanswerable\nReason: basket is yellow", True),
        ('{"ans": "unanswerable", "why": "the color is wrong: it is orange"}', True),
        ("- coat of the woman: red\n- result: unanswerable", True),
        ("Unanswerable to most people, but it is red.", False),
        ("Red. It is not unanswerable at all.", False),
    ],
)
def test_a_reply_that_states_that_the_question_is_unanswerable_abstains(reply, abstains):
    assert is_abstention(reply, "What color is the coat?") == abstains
