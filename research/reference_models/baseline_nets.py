"""Train the nets of the leaderboard rows on real images, and fit what the detectors need.

Finished nets are kept in a work folder. A killed run resumes from the last checkpoint.
"""

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

# Maximum number of questions of train for fitting Gaussians.
MAX_GAUSSIAN_QUESTIONS = 100_000
# Maximum number of questions of val for fitting vector scaling and Selector, which need arrays [n, answers]
# of float64.
MAX_CALIBRATION_QUESTIONS = 5_000


@dataclass(frozen=True)
class BaselineConfig:
    """Settings of a training run.

    Attributes:
        num_answers: Size of the answer vocabulary.
        base_epochs: Number of epochs of the base net.
        extra_epochs: Number of epochs of each net that starts from the base net.
        num_validation_questions: Number of questions of val on which checkpoints are evaluated.
        use_match: Whether the net uses match features (see `MatchNet`). Without them the net is a BUTD
            (bottom-up top-down attention).
    """

    num_answers: int = 1842
    base_epochs: float = 5.0
    extra_epochs: float = 2.0
    num_validation_questions: int = 10_000
    use_match: bool = True


@dataclass(frozen=True)
class TrainingData:
    """Questions and regions to train on.

    Attributes:
        train: Questions of train whose answer is in the vocabulary.
        val: Questions of val.
        vocabulary: Words of the questions.
        answers: The answer vocabulary.
        store: Regions of all images.
    """

    train: QuestionSet
    val: QuestionSet
    vocabulary: WordVocabulary
    answers: tuple[str, ...]
    store: RegionStore

    @cached_property
    def feature_moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and standard deviation, [d] each, of the region features of train."""
        return compute_feature_moments(self.store, image_indices=np.unique(self.train.image_indices))

    @cached_property
    def validation_halves(self) -> tuple[QuestionSet, QuestionSet]:
        """Return two halves of val without a common image: one for selecting checkpoints, one for fitting
        detectors.
        """
        images = make_generator(BASE_SEED, "halves of val").permutation(np.unique(self.val.image_indices))
        first = np.isin(self.val.image_indices, images[: len(images) // 2])
        return take_rows(self.val, first), take_rows(self.val, ~first)


def check_work_settings(work: Path, settings: dict[str, object]) -> None:
    """Write the settings into a work folder, or compare them with the settings that are stored there.

    Raises:
        UserError: The folder has other settings.
    """
    path = work / "settings.json"
    if not path.exists():
        write_json(path, settings)
    before = read_json(path, dict[str, object])
    if changed := sorted(name for name in before.keys() | settings if before.get(name) != settings.get(name)):
        lines = [f"{name}: {before.get(name)} before, {settings.get(name)} now" for name in changed]
        raise UserError(
            [
                f"{work}: the folder was created with other settings; choose another --checkpoint-dir, or delete it",
                *lines,
            ]
        )


def train_missing_nets(
    work: Path,
    nets: Collection[str],
    seed: int,
    data: TrainingData,
    config: BaselineConfig,
    device: str,
    log: Callable[[str], None] = print,
) -> None:
    """Train the nets of a seed that do not exist yet, and the base net if one of these nets starts from it."""
    pending = [name for name in NET_CONFIGS if name in nets and not _net_path(work, name, seed).exists()]
    if (
        any(not NET_CONFIGS[name].trains_from_scratch for name in pending)
        and not _net_path(work, "base", seed).exists()
    ):
        pending.insert(0, "base")
    for name in pending:
        _train_net(work, name, seed, data, config, device, log)


def _train_net(
    work: Path,
    name: str,
    seed: int,
    data: TrainingData,
    config: BaselineConfig,
    device: str,
    log: Callable[[str], None],
) -> None:
    net_config = NET_CONFIGS[name]
    shape = make_shape(net_config, data.vocabulary, len(data.answers), data.store, config.use_match)
    base = None if net_config.trains_from_scratch else load_net(_net_path(work, "base", seed))
    net = initialize_net(shape, data.feature_moments, seed, base).to(device)
    model = LoadedModel(
        net, data.vocabulary, ("answerable",) if net_config.has_single_output else data.answers
    )
    per_epoch = len(data.train.answers) / TRAIN_BATCH_SIZE
    base_steps, extra_steps = (
        max(1, round(epochs * per_epoch)) for epochs in (config.base_epochs, config.extra_epochs)
    )
    training_config = make_training_config(
        net_config, base_steps, extra_steps, name == "base", pointing_weight=0.0
    )
    questions = subsample_evenly(data.validation_halves[0], config.num_validation_questions)
    metric = selection_metric(net_config)
    trained = train(
        NetTraining(net, data.train, data.store, training_config, seed),
        work / f"{name}-{seed}.pt",
        lambda _: evaluate_net(model, questions, data.store)[metric],
        lambda text: log(f"{name}-{seed}: {text}"),
    )
    save_net(_net_path(work, name, seed), model)
    best = max(trained.scores.values())
    log(f"{name}-{seed}: {metric} {best:.4f} on val, {trained.cpu_seconds:.0f} CPU-s")


def evaluate_net(model: LoadedModel, questions: QuestionSet, store: RegionStore) -> dict[str, float]:
    """Compute the selection metrics (`compute_selection_metrics`) on questions and the same number of random
    pseudo pairs.
    """
    count = len(questions.answers)
    pairs = sample_random_pairs(questions.image_indices, make_generator(BASE_SEED, "val pairs"))
    tokens = np.concatenate([questions.tokens, questions.tokens[pairs]])
    image_indices = np.concatenate([questions.image_indices, questions.image_indices])
    confidence, predicted = [], []
    for outputs in iter_outputs(model, tokens, image_indices, store):
        confidence.append(compute_confidence(model, outputs.logits, dict(outputs.head_logits)))
        predicted.append(outputs.logits.argmax(1))
    answerable = np.arange(2 * count) < count
    is_correct = np.concatenate(predicted) == np.concatenate([questions.answers, np.full(count, -1)])
    return compute_selection_metrics(
        np.concatenate(confidence), answerable, is_correct if model.net.shape.answers > 1 else None
    )


def fit_detectors(work: Path, seed: int, data: TrainingData, device: str) -> Path:
    """Fit the detectors to the net `vanilla`, unless their file exists. Return the file.

    Gaussians are fitted on train. Vector scaling and the Selector are fitted on the half of val that was not
    used to select checkpoints.
    """
    path = work / f"fitted-{seed}.safetensors"
    if path.exists():
        return path
    model = load_net(_net_path(work, "vanilla", seed))
    model.net.to(device)
    train_sample = subsample_evenly(data.train, MAX_GAUSSIAN_QUESTIONS)
    parts = iter_outputs(model, train_sample.tokens, train_sample.image_indices, data.store)
    gaussians = fit_gaussians(
        np.concatenate([part.features for part in parts]), train_sample.answers, len(data.answers)
    )
    val = subsample_evenly(data.validation_halves[1], MAX_CALIBRATION_QUESTIONS)
    outputs = concatenate_outputs(list(iter_outputs(model, val.tokens, val.image_indices, data.store)))
    is_correct = outputs.logits.argmax(1) == val.answers
    targets = (val.answers[:, None] == np.arange(len(data.answers))).astype(float)
    scaling = fit_scaling(outputs.logits, targets)
    is_fit = np.isin(val.image_indices, np.unique(val.image_indices)[::2])
    fit, validation = (
        GradedOutputs(
            [str(index) for index in val.image_indices[rows]],
            outputs._replace(logits=outputs.logits[rows], features=outputs.features[rows]),
            is_correct[rows].astype(float),
        )
        for rows in (is_fit, ~is_fit)
    )
    write_fitted(path, FittedDetectors(gaussians, scaling, train_selector(fit, validation, seed=seed)))
    return path


def _net_path(work: Path, net: str, seed: int) -> Path:
    return work / f"{net}-{seed}.safetensors"
