"""CLIP scores of AQ and UQ: histograms, their overlap area and the distance of their means (RGQA, Fig. 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pipeline.auditing.margins import overlap
from pipeline.core import params
from pipeline.core.errors import UserError
from pipeline.core.files import read_json
from pipeline.core.paths import Folders
from pipeline.core.records import Item, Record
from pipeline.encoders import clip
from pipeline.encoders.cache import Cache, key
from pipeline.ranking.topk import scores_of
from pipeline.stages.embed import CACHE, EmbedParams, EmbedReport, encode_missing

BINS = 50  # as pipeline.auditing.margins.overlap counts


class Histograms(Record):
    """Two histograms over the same BINS bins of equal width, from the least to the greatest score of either kind.

    `aq[i]` is the share of the AQs with a score in bin i, so that each list sums to 1 (RGQA, Fig. 3: "normalized
    histograms (sum of overall area=1)"); `uq` likewise. A bin holds its lower edge and not its upper one, but for the
    last, which holds both. `area` is the overlap area, the sum over all bins of min(aq[i], uq[i]): 0 when no bin holds
    both kinds, 1 when the histograms are equal. `distance` is mean(AQ) - mean(UQ) of the scores themselves, in units of
    the cosine. Both depend on the data alone, but `area` also on the number of bins: finer bins overlap less.
    """

    edges: tuple[float, ...]
    aq: tuple[float, ...]
    uq: tuple[float, ...]
    aq_mean: float
    uq_mean: float
    area: float
    distance: float
    unscored: int


def histograms(items: Sequence[Item], edited: Mapping[str, float]) -> Histograms | None:
    """Histograms of one subset; None if no AQ or no UQ of it has a score.

    Args:
        edited: item id -> score, for items that carry none.
    """
    scores: dict[bool, list[float]] = {True: [], False: []}
    for item in items:
        score = edited.get(item.item_id) if item.score is None else item.score
        if score is not None:
            scores[item.unanswerable].append(score)
    both = overlap(scores[False], scores[True], BINS)
    if both is None:
        return None
    edges = np.histogram_bin_edges(np.concatenate([scores[False], scores[True]]), BINS)
    shares = {kind: np.histogram(values, edges)[0] / len(values) for kind, values in scores.items()}
    means = {kind: float(np.mean(values)) for kind, values in scores.items()}
    return Histograms(
        edges=tuple(edges.tolist()),
        aq=tuple(shares[False].tolist()),
        uq=tuple(shares[True].tolist()),
        aq_mean=means[False],
        uq_mean=means[True],
        area=both[0],
        distance=both[1],
        unscored=len(items) - len(scores[True]) - len(scores[False]),
    )


def scores_of_edited(items: Sequence[Item], folders: Folders) -> dict[str, float]:
    """Scores of the items that no stage has scored (edited questions), by the model and rule of embed and rank.

    Vectors that are in the cache are taken from there; for others the model is loaded, and they are kept.

    Raises:
        UserError: the model cannot be loaded, or is not the one that embed used.
    """
    wanted = [item for item in items if item.score is None]
    if not wanted:
        return {}
    model = read_json(folders.stage("embed") / "embed.json", EmbedReport).model
    chosen = params.load("embed", EmbedParams)
    texts = sorted({item.text for item in wanted})
    keys = [key(model.fingerprint, model.preprocessing, "text", text) for text in texts]
    cache = Cache(CACHE, model.dimension)
    try:
        if cache.missing(keys):
            encoder = clip.load(chosen.model, chosen.pretrained, device=chosen.device)
            if encoder.record.fingerprint != model.fingerprint:
                raise UserError(f"{chosen.model}: the model is not the one that embed used; run dvc repro")
            contents = dict(zip(keys, texts, strict=True))
            encode_missing(
                cache, contents, lambda rows: encoder.texts(rows, chosen.text_batch), "report: texts"
            )
        vectors = cache.get(keys)
    finally:
        cache.close()
    ids: list[str] = read_json(folders.stage("embed") / "picture_ids.json", list[str])
    row_of, text_of = ({name: i for i, name in enumerate(names)} for names in (ids, texts))
    rows = [
        np.array([table[name] for name in names], np.int64)
        for table, names in (
            (row_of, [item.picture_id for item in wanted]),
            (text_of, [item.text for item in wanted]),
        )
    ]
    scores = scores_of(np.load(folders.stage("embed") / "pictures.npy"), vectors, *rows)
    return {item.item_id: int(score) / 1e6 for item, score in zip(wanted, scores, strict=True)}
