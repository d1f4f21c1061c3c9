"""The nets of the rows on real pictures: train them, and fit what detectors need. What is finished lies in a work folder and
stays; a run that was killed goes on from the last checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json, write_json
from pipeline.core.randomness import generator
from research.reference_models.class_gaussians import fit_gaussians
from research.reference_models.fitted_detectors import Fitted, write_fitted
from research.reference_models.inference import Asked, load_net, looks, save_net, together
from research.reference_models.net_configs import (
    BATCH,
    NETS,
    SEED,
    confidence_of,
    criterion,
    judged,
    new_net,
    recipe_of,
    shape_of,
)
from research.reference_models.net_training import NetTraining, QuestionSet, train
from research.reference_models.pseudo_pairs import random_pairs
from research.reference_models.question_arrays import rows_of, spread
from research.reference_models.region_stores import RegionStore, moments
from research.reference_models.selective_answering import fit_scaling
from research.reference_models.selector import Graded
from research.reference_models.selector_training import train_selector
from research.reference_models.tokenization import WordTable

FIT_TRAIN = 100_000  # questions of train for the Gaussians
FIT_VAL = 5_000  # of val for scaling and Selector: [n, answers] is held as float64


@dataclass(frozen=True)
class Plan:
    """What was asked for, beside files: answers known, epochs of the base and after it, questions of val on which checkpoints
    are tried, whether nets have matches (else BUTD)."""

    answers: int = 1842
    epochs: float = 5.0
    more_epochs: float = 2.0
    check: int = 10_000
    match: bool = True


@dataclass(frozen=True)
class Data:
    """What nets learn from: train's questions whose answer is known, val's, in the numbers of `words` and `answers`."""

    train: QuestionSet
    val: QuestionSet
    words: WordTable
    answers: tuple[str, ...]
    store: RegionStore

    @cached_property
    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Of train's regions."""
        return moments(self.store, among=np.unique(self.train.pictures))

    @cached_property
    def halves(self) -> tuple[QuestionSet, QuestionSet]:
        """Val in two halves that share no picture: one to choose checkpoints on, one to fit on."""
        pictures = generator(SEED, "halves of val").permutation(np.unique(self.val.pictures))
        first = np.isin(self.val.pictures, pictures[: len(pictures) // 2])
        return rows_of(self.val, first), rows_of(self.val, ~first)


def claim(work: Path, settings: dict[str, object]) -> None:
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
        raise UserError([f"{work}: was begun with other settings; name another --work, or delete it", *lines])


def train_nets(
    work: Path,
    nets: Collection[str],
    seed: int,
    data: Data,
    plan: Plan,
    device: str,
    say: Callable[[str], None] = print,
) -> None:
    """Train these nets of a seed, and the base if one starts from it; what is there already stays."""
    due = [name for name in NETS if name in nets and not _file(work, name, seed).exists()]
    if any(not NETS[name].anew for name in due) and not _file(work, "base", seed).exists():
        due.insert(0, "base")
    for name in due:
        _train(work, name, seed, data, plan, device, say)


def _train(
    work: Path, name: str, seed: int, data: Data, plan: Plan, device: str, say: Callable[[str], None]
) -> None:
    how = NETS[name]
    shape = shape_of(how, data.words, len(data.answers), data.store, plan.match)
    base = None if how.anew else load_net(_file(work, "base", seed))
    net = new_net(shape, data.moments, seed, base).to(device)
    asked = Asked(net, data.words, ("answerable",) if how.one else data.answers)
    per_epoch = len(data.train.answers) / BATCH
    first, more = (max(1, round(epochs * per_epoch)) for epochs in (plan.epochs, plan.more_epochs))
    recipe = recipe_of(how, first, more, name == "base", pointing=0.0)
    chosen_on, by = spread(data.halves[0], plan.check), criterion(how)
    trained = train(
        NetTraining(net, data.train, data.store, recipe, seed),
        work / f"{name}-{seed}.pt",
        lambda _: tried(asked, chosen_on, data.store)[by],
        lambda text: say(f"{name}-{seed}: {text}"),
    )
    save_net(_file(work, name, seed), asked)
    best = max(trained.scores.values())
    say(f"{name}-{seed}: {by} {best:.4f} on val, {trained.cpu_seconds:.0f} CPU-s")


def tried(asked: Asked, questions: QuestionSet, store: RegionStore) -> dict[str, float]:
    """`net_plans.judged` on questions and as many random pairs, a batch at a time."""
    count = len(questions.answers)
    pairs = random_pairs(questions.pictures, generator(SEED, "val pairs"))
    tokens = np.concatenate([questions.tokens, questions.tokens[pairs]])
    places = np.concatenate([questions.pictures, questions.pictures])
    confidence, said = [], []
    for seen in looks(asked, tokens, places, store):
        confidence.append(confidence_of(asked, seen.logits, dict(seen.extra)))
        said.append(seen.logits.argmax(1))
    answerable = np.arange(2 * count) < count
    right = np.concatenate(said) == np.concatenate([questions.answers, np.full(count, -1)])
    return judged(np.concatenate(confidence), answerable, right if asked.net.shape.answers > 1 else None)


def fit(work: Path, seed: int, data: Data, device: str) -> Path:
    """Fit Gaussians on train, scaling and Selector on the half of val that chose no checkpoint, all to the vanilla net; what
    is there already stays. Returns their file."""
    path = work / f"fitted-{seed}.safetensors"
    if path.exists():
        return path
    asked = load_net(_file(work, "vanilla", seed))
    asked.net.to(device)
    train_part = spread(data.train, FIT_TRAIN)
    parts = looks(asked, train_part.tokens, train_part.pictures, data.store)
    gaussians = fit_gaussians(
        np.concatenate([part.features for part in parts]), train_part.answers, len(data.answers)
    )
    held = spread(data.halves[1], FIT_VAL)
    seen = together(list(looks(asked, held.tokens, held.pictures, data.store)))
    right = seen.logits.argmax(1) == held.answers
    targets = (held.answers[:, None] == np.arange(len(data.answers))).astype(float)
    scaling = fit_scaling(seen.logits, targets)
    learns = np.isin(held.pictures, np.unique(held.pictures)[::2])
    learned, checked = (
        Graded(
            [str(place) for place in held.pictures[rows]],
            seen._replace(logits=seen.logits[rows], features=seen.features[rows]),
            right[rows].astype(float),
        )
        for rows in (learns, ~learns)
    )
    write_fitted(path, Fitted(gaussians, scaling, train_selector(learned, checked, seed=seed)))
    return path


def _file(work: Path, net: str, seed: int) -> Path:
    return work / f"{net}-{seed}.safetensors"
