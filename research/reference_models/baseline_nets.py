"""The nets of the rows on real images: train them, and fit what detectors need. What is finished lies in a work folder and
stays; a run that was killed goes on from the last checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json, write_json
from pipeline.core.randomness import make_generator
from research.reference_models.class_gaussians import fit_gaussians
from research.reference_models.fitted_detectors import FittedDetectors, write_fitted
from research.reference_models.inference import (
    LoadedModel,
    concatenate_outputs,
    iter_outputs,
    load_net,
    save_net,
)
from research.reference_models.net_configs import (
    BASE_SEED,
    NET_CONFIGS,
    TRAIN_BATCH_SIZE,
    compute_confidence,
    compute_selection_metrics,
    initialize_net,
    make_shape,
    make_training_config,
    selection_metric,
)
from research.reference_models.net_training import NetTraining, QuestionSet, train
from research.reference_models.pseudo_pairs import sample_random_pairs
from research.reference_models.question_arrays import subsample_evenly, take_rows
from research.reference_models.region_stores import RegionStore, compute_feature_moments
from research.reference_models.selective_answering import fit_scaling
from research.reference_models.selector import GradedOutputs
from research.reference_models.selector_training import train_selector
from research.reference_models.tokenization import WordVocabulary

MAX_GAUSSIAN_QUESTIONS = 100_000  # questions of train for the Gaussians
MAX_CALIBRATION_QUESTIONS = 5_000  # of val for scaling and Selector: [n, answers] is held as float64


@dataclass(frozen=True)
class BaselineConfig:
    """What was asked for, beside files: answers known, epochs of the base and after it, questions of val on which checkpoints
    are tried, whether nets have matches (else BUTD)."""

    num_answers: int = 1842
    base_epochs: float = 5.0
    extra_epochs: float = 2.0
    num_validation_questions: int = 10_000
    use_match: bool = True


@dataclass(frozen=True)
class TrainingData:
    """What nets learn from: train's questions whose answer is known, val's, in the numbers of `words` and `answers`."""

    train: QuestionSet
    val: QuestionSet
    vocabulary: WordVocabulary
    answers: tuple[str, ...]
    store: RegionStore

    @cached_property
    def feature_moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Of train's regions."""
        return compute_feature_moments(self.store, image_indices=np.unique(self.train.image_indices))

    @cached_property
    def validation_halves(self) -> tuple[QuestionSet, QuestionSet]:
        """Val in two halves that share no image: one to choose checkpoints on, one to fit on."""
        images = make_generator(BASE_SEED, "halves of val").permutation(np.unique(self.val.image_indices))
        first = np.isin(self.val.image_indices, images[: len(images) // 2])
        return take_rows(self.val, first), take_rows(self.val, ~first)


def check_work_settings(work: Path, settings: dict[str, object]) -> None:
    """Make a work folder one of these settings.

    Raises:
        UserError: it was begun with others.
    """
    path = work / "settings.json"
    if not path.exists():
        write_json(path, settings)
    before = read_json(path, dict[str, object])
    if changed := sorted(name for name in before.keys() | settings if before.get(name) != settings.get(name)):
        lines = [f"{name}: {before.get(name)} before, {settings.get(name)} now" for name in changed]
        raise UserError(
            [f"{work}: was begun with other settings; name another --checkpoint-dir, or delete it", *lines]
        )


def train_missing_nets(
    work: Path,
    nets: Collection[str],
    seed: int,
    data: TrainingData,
    plan: BaselineConfig,
    device: str,
    log: Callable[[str], None] = print,
) -> None:
    """Train these nets of a seed, and the base if one starts from it; what is there already stays."""
    due = [name for name in NET_CONFIGS if name in nets and not _net_path(work, name, seed).exists()]
    if (
        any(not NET_CONFIGS[name].trains_from_scratch for name in due)
        and not _net_path(work, "base", seed).exists()
    ):
        due.insert(0, "base")
    for name in due:
        _train_net(work, name, seed, data, plan, device, log)


def _train_net(
    work: Path,
    name: str,
    seed: int,
    data: TrainingData,
    plan: BaselineConfig,
    device: str,
    say: Callable[[str], None],
) -> None:
    how = NET_CONFIGS[name]
    shape = make_shape(how, data.vocabulary, len(data.answers), data.store, plan.use_match)
    base = None if how.trains_from_scratch else load_net(_net_path(work, "base", seed))
    net = initialize_net(shape, data.feature_moments, seed, base).to(device)
    asked = LoadedModel(net, data.vocabulary, ("answerable",) if how.has_single_output else data.answers)
    per_epoch = len(data.train.answers) / TRAIN_BATCH_SIZE
    first, more = (max(1, round(epochs * per_epoch)) for epochs in (plan.base_epochs, plan.extra_epochs))
    recipe = make_training_config(how, first, more, name == "base", pointing_weight=0.0)
    chosen_on, by = (
        subsample_evenly(data.validation_halves[0], plan.num_validation_questions),
        selection_metric(how),
    )
    trained = train(
        NetTraining(net, data.train, data.store, recipe, seed),
        work / f"{name}-{seed}.pt",
        lambda _: evaluate_net(asked, chosen_on, data.store)[by],
        lambda text: say(f"{name}-{seed}: {text}"),
    )
    save_net(_net_path(work, name, seed), asked)
    best = max(trained.scores.values())
    say(f"{name}-{seed}: {by} {best:.4f} on val, {trained.cpu_seconds:.0f} CPU-s")


def evaluate_net(model: LoadedModel, questions: QuestionSet, store: RegionStore) -> dict[str, float]:
    """`net_plans.judged` on questions and as many random pairs, a batch at a time."""
    count = len(questions.answers)
    pairs = sample_random_pairs(questions.image_indices, make_generator(BASE_SEED, "val pairs"))
    tokens = np.concatenate([questions.tokens, questions.tokens[pairs]])
    places = np.concatenate([questions.image_indices, questions.image_indices])
    confidence, said = [], []
    for seen in iter_outputs(model, tokens, places, store):
        confidence.append(compute_confidence(model, seen.logits, dict(seen.head_logits)))
        said.append(seen.logits.argmax(1))
    answerable = np.arange(2 * count) < count
    right = np.concatenate(said) == np.concatenate([questions.answers, np.full(count, -1)])
    return compute_selection_metrics(
        np.concatenate(confidence), answerable, right if model.net.shape.answers > 1 else None
    )


def fit_detectors(work: Path, seed: int, data: TrainingData, device: str) -> Path:
    """Fit Gaussians on train, scaling and Selector on the half of val that chose no checkpoint, all to the vanilla net; what
    is there already stays. Returns their file."""
    path = work / f"fitted-{seed}.safetensors"
    if path.exists():
        return path
    asked = load_net(_net_path(work, "vanilla", seed))
    asked.net.to(device)
    train_part = subsample_evenly(data.train, MAX_GAUSSIAN_QUESTIONS)
    parts = iter_outputs(asked, train_part.tokens, train_part.image_indices, data.store)
    gaussians = fit_gaussians(
        np.concatenate([part.features for part in parts]), train_part.answers, len(data.answers)
    )
    held = subsample_evenly(data.validation_halves[1], MAX_CALIBRATION_QUESTIONS)
    seen = concatenate_outputs(list(iter_outputs(asked, held.tokens, held.image_indices, data.store)))
    right = seen.logits.argmax(1) == held.answers
    targets = (held.answers[:, None] == np.arange(len(data.answers))).astype(float)
    scaling = fit_scaling(seen.logits, targets)
    learns = np.isin(held.image_indices, np.unique(held.image_indices)[::2])
    learned, checked = (
        GradedOutputs(
            [str(place) for place in held.image_indices[rows]],
            seen._replace(logits=seen.logits[rows], features=seen.features[rows]),
            right[rows].astype(float),
        )
        for rows in (learns, ~learns)
    )
    write_fitted(path, FittedDetectors(gaussians, scaling, train_selector(learned, checked, seed=seed)))
    return path


def _net_path(work: Path, net: str, seed: int) -> Path:
    return work / f"{net}-{seed}.safetensors"
