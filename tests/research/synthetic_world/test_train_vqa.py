"""Training of the sample's nets: what is trained, kept and continued."""

from pathlib import Path

import pytest

from pipeline.core.errors import UserError
from research.reference_models import net_configs, net_training
from research.reference_models.inference import load_net
from research.synthetic_world import train_vqa, vqa_training_data, vqa_worlds
from research.synthetic_world.train_vqa import read_training_runs, train_sample_vqa
from tests.research.synthetic_world.here_pool import Here

BASE, MORE = 6.0, 2.0


@pytest.fixture(autouse=True)
def here(few_worlds, monkeypatch):
    monkeypatch.setattr(train_vqa, "get_context", lambda kind: Here)
    monkeypatch.setattr(train_vqa, "BASE_EPOCHS", BASE)
    monkeypatch.setattr(train_vqa, "MORE_EPOCHS", MORE)
    monkeypatch.setattr(net_configs, "TRAIN_BATCH_SIZE", 16)


def weights(folder: Path, name: str) -> bytes:
    return (folder / f"{name}.safetensors").read_bytes()


@pytest.fixture(scope="module")
def folder(few_worlds):
    return few_worlds / "vqa"


def test_all_nets_of_a_seed_are_trained_written_and_reported(folder):
    train_sample_vqa(0)
    told = read_training_runs(folder)
    assert set(told.nets) == {f"{name}-0" for name in net_configs.NET_CONFIGS}
    for run in (told.detector, told.own_detector):
        assert run is not None and set(run.report) == {"recall", "precision", "looks right"}
    for run in told.nets.values():
        net = load_net(train_vqa.get_model_path(run.net, run.seed))
        assert run.parameters == sum(p.numel() for p in net.net.parameters())
        assert run.criterion in run.report and run.tries
    assert load_net(folder / "separated-0.safetensors").answers == ("answerable",)
    assert not (folder / "base-0.safetensors").exists()  # used only in training


def test_existing_nets_are_kept(folder, monkeypatch):
    before, detectors = (
        read_training_runs(folder),
        [weights(folder, name) for name in ("regions", "regions_own")],
    )
    monkeypatch.setattr(train_vqa, "train_model", None)  # fails if called
    train_sample_vqa(0)
    assert read_training_runs(folder) == before
    assert [weights(folder, name) for name in ("regions", "regions_own")] == detectors


def test_another_seed_makes_other_nets_with_the_same_detector(folder):
    detector = weights(folder, "regions")
    train_sample_vqa(1, nets=["blind"])
    train_sample_vqa(2, nets=["vanilla"])  # which needs a base
    assert {name for name in read_training_runs(folder).nets if name[-2:] != "-0"} == {
        "blind-1",
        "base-2",
        "vanilla-2",
    }
    assert weights(folder, "blind-1") != weights(folder, "blind-0") and weights(folder, "regions") == detector


def test_a_killed_run_goes_on_to_the_same_bytes(folder, few_worlds, monkeypatch):
    whole = weights(folder, "rp-0")
    for path in (folder / "rp-0.safetensors", few_worlds / "work" / "rp-0.pt"):
        path.unlink()
    step, every = net_training.NetTraining.step, net_configs.make_training_config

    def dies(self, number, batch):
        if number == self.config.num_steps - 1:
            raise KeyboardInterrupt
        return step(self, number, batch)

    def often(*arguments):
        return every(*arguments).__class__(**{**vars(every(*arguments)), "checkpoint_interval": 1})

    monkeypatch.setattr(net_configs, "make_training_config", often)
    monkeypatch.setattr(net_training.NetTraining, "step", dies)
    with pytest.raises(KeyboardInterrupt):
        train_sample_vqa(0)
    assert not (folder / "rp-0.safetensors").exists() and (few_worlds / "work" / "rp-0.pt").exists()
    monkeypatch.setattr(net_training.NetTraining, "step", step)
    train_sample_vqa(0)
    assert weights(folder, "rp-0") == whole


def test_checkpoints_are_chosen_and_results_measured_on_different_subsets(monkeypatch, few_worlds):
    seen = []
    original = vqa_training_data.compute_metrics

    def figures(asked, data, store):
        seen.append((len(seen), {q.image_id for q in data.questions}))
        return original(asked, data, store)

    monkeypatch.setattr(vqa_training_data, "compute_metrics", figures)
    (few_worlds / "work" / "vanilla-0.pt").unlink()
    train_vqa.train_model("vanilla", 0)
    choose, report = (
        {r.scene.image_id for r in vqa_worlds.read_worlds(part)} for part in ("choose", "report")
    )
    assert [images for _, images in seen] == [choose] * (len(seen) - 1) + [report] and len(seen) > 1


def test_an_unknown_net_is_an_error_that_lists_the_known_ones():
    with pytest.raises(UserError, match="--model: unknown rpp.*base, blind"):
        train_sample_vqa(0, nets=["rpp", "blind"])


def test_hard_pairs_are_of_other_images(few_worlds):
    hard, data = train_vqa._find_hard_negatives(), vqa_training_data.SubsetData.read("learn")
    assert hard.shape == (8, 3)
    assert all(data.image_indices[row] != place for place in range(8) for row in hard[place])
