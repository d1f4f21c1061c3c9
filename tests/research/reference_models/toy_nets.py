"""A synthetic world with three objects per image, small enough to train a net on in a second."""

from __future__ import annotations

import numpy as np
import torch

from research.reference_models.class_gaussians import ClassGaussians, fit_gaussians
from research.reference_models.fitted_detectors import FittedDetectors
from research.reference_models.inference import LoadedModel
from research.reference_models.match_net import MatchNet, NetShape
from research.reference_models.net_training import QuestionSet, TrainingConfig
from research.reference_models.region_stores import ArrayStore
from research.reference_models.selective_answering import VectorScaling
from research.reference_models.selector import Selector
from research.reference_models.tokenization import WordVocabulary

COLORS, KINDS, REGIONS = 4, 5, 3
WORDS = 2 + KINDS  # padding, unknown, a word for each kind
WIDTH = KINDS + COLORS


def world(images: int = 60, seed: int = 0) -> tuple[ArrayStore, QuestionSet]:
    """Each image has three objects of different kinds, each with a color. "<object>?" asks for its color."""
    rng = np.random.default_rng(seed)
    features = np.full((images, REGIONS, WIDTH), -6.0, np.float16)
    boxes = np.zeros((images, REGIONS, 4), np.float32)
    tokens, image_indices, answers, target_boxes = [], [], [], []
    for image in range(images):
        kinds = rng.permutation(KINDS)[:REGIONS]
        colors = rng.integers(0, COLORS, REGIONS)
        left = rng.permutation(REGIONS) / REGIONS
        for region, (kind, color) in enumerate(zip(kinds, colors, strict=True)):
            features[image, region, [kind, KINDS + color]] = 0
            boxes[image, region] = (left[region], 0.2, left[region] + 0.3, 0.8)
            tokens.append([2 + kind, 0])
            image_indices.append(image)
            answers.append(color)
            target_boxes.append([boxes[image, region]] * 3)
    store = ArrayStore([f"p{i}" for i in range(images)], features, boxes)
    return store, QuestionSet(
        np.array(tokens), np.array(image_indices), np.array(answers), np.array(target_boxes)
    )


def shape(**changes) -> NetShape:
    small = {"words": WORDS, "answers": COLORS, "region": WIDTH, "word_width": 8, "width": 8, "joint": 16}
    return NetShape(**{**small, **changes})


def net(seed: int = 0, **changes) -> MatchNet:
    torch.manual_seed(seed)
    return MatchNet(shape(**changes))


def training_config(**changes) -> TrainingConfig:
    return TrainingConfig(
        **{"num_steps": 6, "batch_size": 16, "learning_rate": 1e-2, "checkpoint_interval": 2, **changes}
    )


def tiny_store(images: int = 4, seed: int = 0) -> ArrayStore:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(images, 3, 6)).astype(np.float16)
    return ArrayStore([f"p{i}" for i in range(images)], features, np.zeros((images, 3, 4), np.float32))


def tiny_shape(head: str = "", answers: int = 2) -> NetShape:
    """The sizes of a net for the regions of `tiny_store`."""
    return NetShape(words=4, answers=answers, region=6, head=head, word_width=4, width=4, joint=8)


def loaded_model(net: MatchNet, answers: tuple[str, ...] = ("no", "yes")) -> LoadedModel:
    return LoadedModel(net.eval(), WordVocabulary(("cup", "red")), answers)


def toy_fitted(answers: int, features: int, hidden: int = 2) -> FittedDetectors:
    """Random parameters of fitted detectors."""
    rng = np.random.default_rng(0)

    def some(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    h, j = hidden, 2 * hidden
    shapes = [
        (features,),
        (features,),
        (h, features),
        (h,),
        (h, answers),
        (h,),
        (h, j),
        (h,),
        (h,),
        (1,),
        (1,),
    ]
    gaussians = fit_gaussians(some(10 * answers, features), np.arange(10 * answers) % answers, answers)
    return FittedDetectors(
        gaussians, VectorScaling(some(answers), some(answers)), Selector(*(some(*s) for s in shapes))
    )


def random_fitted(features=3, answers=4, hidden=2, directions=2, classes=(0, 3)):
    """Random parameters of any sizes; float64, the type of numpy."""
    d, k, h = features, answers, hidden
    draw = np.random.default_rng(1).normal
    gaussians = ClassGaussians(
        np.array(classes), draw(size=d), draw(size=(d, directions)), np.ones((2, directions))
    )
    first = (draw(size=d), np.ones(d), draw(size=(h, d)), draw(size=h), draw(size=(h, k)), draw(size=h))
    selector = Selector(*first, draw(size=(h, 2 * h)), draw(size=h), draw(size=h), draw(size=1), np.ones(1))
    return FittedDetectors(gaussians, VectorScaling(draw(size=k), draw(size=k)), selector)
