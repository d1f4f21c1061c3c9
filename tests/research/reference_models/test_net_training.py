"""The training loop: what a step sees, and that a killed run comes to the same weights."""

import numpy as np
import pytest
import torch
from torch._subclasses import FakeTensorMode

from pipeline.core.errors import UserError
from research.reference_models import net_training
from research.reference_models.match_net import MatchNet
from research.reference_models.net_training import NetTraining, learning_rate_at, train
from research.reference_models.pseudo_pairs import PairWeights, find_hard_pairs
from tests.research.reference_models.toy_nets import net, training_config, world


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def run(seed=0, hard=None, shape=None, **changes):
    store, questions = world()
    return NetTraining(net(**(shape or {})), questions, store, training_config(**changes), seed, hard)


def right(model):
    """Accuracy on images that were not trained on."""
    store, questions = world(seed=1)
    with torch.no_grad():
        regions = map(torch.from_numpy, store.get_regions(questions.image_indices))
        logits = model(torch.from_numpy(questions.tokens), *regions).logits
    return float((logits.argmax(1).numpy() == questions.answers).mean())


def test_a_net_learns_to_attend_to_the_named_object(tmp_path):
    trained = run(num_steps=200, batch_size=32, pointing_weight=0.3)
    train(trained, tmp_path / "net.pt", right)
    assert right(trained.net) > 0.95  # chance: 1 / 4


def seen_by(trained, monkeypatch):
    """Targets of one step, and the rows that it took: images of regions and tokens of questions."""
    caught = {}
    original = net_training.make_targets

    def target(*arguments):
        caught["targets"] = original(*arguments)
        return caught["targets"]

    pairs = trained._make_pairs

    def partners(batch, rng):
        caught["rows"], caught["pairs"] = batch.rows, pairs(batch, rng)
        return caught["pairs"]

    monkeypatch.setattr(net_training, "make_targets", target)
    monkeypatch.setattr(trained, "_make_pairs", partners)
    trained.step(0)
    return caught


@pytest.mark.parametrize("pairs", ["random", "weighted", "hard"])
def test_pseudo_pairs_combine_two_images_and_have_targets_of_0(pairs, monkeypatch):
    images = world()[1].image_indices
    rng = np.random.default_rng(0)
    hard = find_hard_pairs(rng.normal(size=(60, 4)), rng.normal(size=(180, 4)), images, max_questions=5)
    caught = seen_by(run(pseudo_pairs=pairs, hard=hard), monkeypatch)
    shown, asked = caught["pairs"]
    assert len(shown) == len(caught["rows"]) == 16
    assert (images[shown] != images[asked]).all()
    assert (caught["targets"][16:] == 0).all() and (caught["targets"][:16].sum(1) == 1).all()
    if pairs == "hard":
        assert all(question in hard[images[row]] for row, question in zip(shown, asked, strict=True))


def test_an_epoch_has_each_question_once_for_all_configs():
    plain, paired = run(batch_size=18), run(batch_size=18, pseudo_pairs="random")
    rows = [plain.make_batch(number).rows for number in range(10)]  # 180 questions
    assert sorted(np.concatenate(rows).tolist()) == list(range(180))
    assert all(np.array_equal(paired.make_batch(number).rows, rows[number]) for number in range(10))
    assert not np.array_equal(plain.make_batch(10).rows, rows[0])  # another order


def test_random_pairs_change_with_the_epoch_and_weighted_ones_stay():
    changing, fixed = run(batch_size=18, pseudo_pairs="random"), run(batch_size=18, pseudo_pairs="weighted")
    partners = []
    for trained in (changing, fixed):
        first, later = trained.make_batch(0).paired_rows, trained.make_batch(10).paired_rows
        partners.append(np.array_equal(first, later))
    assert partners == [False, True]


def test_mixup_adds_as_many_mixed_rows_with_scaled_targets(monkeypatch):
    seen = []
    original = net_training.compute_item_losses

    def losses(model, output, targets, answerable):
        seen.append(targets)
        return original(model, output, targets, answerable)

    monkeypatch.setattr(net_training, "compute_item_losses", losses)
    monkeypatch.setattr(net_training, "sample_keep_rate", lambda b, rng: 0.25)
    run(pseudo_pairs="random", mixup_beta=0.7).step(0)
    plain, mixed = seen
    torch.testing.assert_close(mixed, 0.25 * plain)


def test_resample_learns_pair_weights():
    trained = run(pseudo_pairs="weighted", num_steps=4)
    for number in range(4):
        trained.step(number)
    assert trained.pair_weights is not None and trained.pair_weights.theta.abs().max() > 0


def test_the_learning_rate_warms_up_and_decays():
    rates = [learning_rate_at(step, 200, 1.0) for step in range(201)]
    assert rates[0] == pytest.approx(0.04) and rates[10] == max(rates) == pytest.approx(1)
    assert rates[105] == pytest.approx(0.5, abs=0.01) and rates[200] == pytest.approx(1e-3)


class Killed(Exception):
    pass


@pytest.mark.parametrize(
    "changes",
    [{"pseudo_pairs": "random", "mixup_beta": 0.7}, {"pseudo_pairs": "weighted"}, {"pointing_weight": 0.3}],
)
def test_a_killed_run_resumes_to_the_same_weights(changes, tmp_path, monkeypatch):
    whole = run(**changes)
    train(whole, tmp_path / "whole.pt", lambda model: 0.0)
    step = NetTraining.step

    def dies(self, number, batch):
        if number == 5:
            raise Killed
        return step(self, number, batch)

    monkeypatch.setattr(NetTraining, "step", dies)
    with pytest.raises(Killed):
        train(run(**changes), tmp_path / "killed.pt", lambda model: 0.0)
    monkeypatch.setattr(NetTraining, "step", step)
    again = run(**changes)
    spent = train(again, tmp_path / "killed.pt", lambda model: 0.0)
    for name, value in whole.net.state_dict().items():
        assert torch.equal(again.net.state_dict()[name], value), name
    assert set(spent.scores) == {6, 5}


def test_a_checkpoint_of_another_config_is_ignored(tmp_path):
    train(run(num_steps=6), tmp_path / "net.pt", lambda model: 0.0)
    other = run(num_steps=4)
    assert set(train(other, tmp_path / "net.pt", lambda model: 0.0).scores) == {4}


def test_the_best_checkpoint_is_kept_by_the_score_it_is_given(tmp_path):
    states, scores = [], iter([0.2, 0.9, 0.5])

    def score(model):
        states.append({name: value.clone() for name, value in model.state_dict().items()})
        return next(scores)

    trained = run(num_steps=24)  # tried at 20, 22 and 24
    result = train(trained, tmp_path / "net.pt", score)
    assert result.scores == {20: 0.2, 22: 0.9, 24: 0.5}
    assert all(torch.equal(value, states[1][name]) for name, value in trained.net.state_dict().items())


def test_a_nan_loss_stops_the_run_and_keeps_the_last_checkpoint(tmp_path):
    trained = run(num_steps=8, checkpoint_interval=2)
    learn = trained.train_step
    trained.train_step = lambda number, batch: learn(number, batch) * (float("nan") if number == 5 else 1)
    with pytest.raises(UserError, match="not finite at step 6"):
        train(trained, tmp_path / "net.pt", lambda model: 0.0)
    assert torch.load(tmp_path / "net.pt", weights_only=True)["step"] == 4


@pytest.mark.parametrize(
    ("shape", "changes"),
    [
        ({}, {"pointing_weight": 0.3}),
        ({"head": "branch"}, {"pseudo_pairs": "random", "mixup_beta": 0.7}),
        ({"head": "k_plus_1"}, {"pseudo_pairs": "weighted"}),
        ({"answers": 1, "match": False}, {"pseudo_pairs": "hard"}),
        ({"blind": True}, {}),
    ],
)
def test_all_tensors_of_a_step_are_on_the_device_of_the_net(shape, changes, monkeypatch):
    """On a GPU that is not there: torch follows devices without computing, and rejects what lies on two of them."""
    monkeypatch.setattr(
        MatchNet, "_encode_question", words_alone
    )  # packing needs lengths, which nobody computed
    monkeypatch.setattr(PairWeights, "sample", lambda self, count, rng: rng.integers(0, 180, count))
    with FakeTensorMode():
        with torch.device("cuda"):
            there = net(**shape)
        store, questions = world()
        trained = NetTraining(there, questions, store, training_config(**changes), 0, np.zeros((60, 5), int))
        batch, rng = trained.make_batch(0), np.random.default_rng(0)
        losses = trained._compute_loss(batch.rows, trained._make_pairs(batch, rng), batch.regions, rng)
    assert {loss.device.type for loss in losses if loss is not None} == {"cuda"}


def words_alone(self, tokens):
    """`MatchNet._encode_question` without its packing."""
    words = torch.cat([self.embed(tokens)] * 2, -1)
    return words, tokens != 0, words.mean(1)
