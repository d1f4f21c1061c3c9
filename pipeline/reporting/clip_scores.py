"""CLIP scores of the items, those of edited questions too, which no stage has scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pipeline.core import params
from pipeline.core.errors import UserError
from pipeline.core.files import read_json
from pipeline.core.paths import Folders
from pipeline.core.records import Item
from pipeline.encoders import clip
from pipeline.encoders.cache import Cache, keys
from pipeline.encoders.embedding import CACHE, EmbedParams, EmbedReport, encode_missing
from pipeline.ranking.topk import scores_of


def scores_by_kind(items: Sequence[Item], edited: Mapping[str, float]) -> tuple[list[float], list[float]]:
    """Scores of the AQs and of the UQs that have one.

    Args:
        edited: item id -> score, for items that carry none.
    """
    aqs, uqs = [], []
    for item in items:
        score = edited.get(item.item_id) if item.score is None else item.score
        if score is not None:
            (uqs if item.unanswerable else aqs).append(score)
    return aqs, uqs


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
    wanted_keys = keys(model, "text", texts)
    cache = Cache(CACHE, model.dimension)
    try:
        if cache.missing(wanted_keys):
            encoder = clip.load(chosen.model, chosen.pretrained, device=chosen.device)
            if encoder.record.fingerprint != model.fingerprint:
                raise UserError(f"{chosen.model}: the model is not the one that embed used; run dvc repro")
            encode_missing(
                cache,
                wanted_keys,
                texts,
                lambda rows: encoder.texts(rows, chosen.text_batch),
                "report: texts",
            )
        vectors = cache.get(wanted_keys)
    finally:
        cache.close()
    ids = read_json(folders.stage("embed") / "picture_ids.json", list[str])
    picture_rows, text_rows = ({name: row for row, name in enumerate(names)} for names in (ids, texts))
    scores = scores_of(
        np.load(folders.stage("embed") / "pictures.npy"),
        vectors,
        np.array([picture_rows[item.picture_id] for item in wanted]),
        np.array([text_rows[item.text] for item in wanted]),
    )
    return {item.item_id: int(score) / 1e6 for item, score in zip(wanted, scores, strict=True)}
