"""Score every edited question with its picture by CLIP, as `rank` scores the others.

Reads   screen/screened.jsonl, embed/pictures.npy, picture_ids.json, embed.json, vectors/clip.safetensors if there is one
Writes  edit_scores.jsonl        EditScore: the CLIP score of every candidate whose text was edited
        texts.npy, texts.json    float32 [m, d]; row i is edited text i, texts sorted
        similarity.json          the model, how many, quantiles of the scores of each subset

The model is loaded only if there is a text whose vector is neither in the cache nor in `vectors/`. An edit may make a text
longer than the model's context: it then has no vector, and its score is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import partial

import msgspec

from pipeline.candidates.encoders import clip
from pipeline.candidates.encoders.embedding_cache import (
    CACHE,
    SEED,
    Cache,
    EmbedParams,
    EmbedReport,
    SimilarityReport,
    keys,
)
from pipeline.candidates.ranking.pair_scores import edit_scores, quantiles
from pipeline.candidates.ranking.rank_inputs import read_vectors
from pipeline.core.errors import UserError, counted, run, warn
from pipeline.core.json_files import read_json, write_json
from pipeline.core.params import load
from pipeline.core.paths import Folders
from pipeline.core.records import SUBSETS, Candidate, EditScore, Screened, Subset


def edited(folders: Folders) -> list[Candidate]:
    """The screened candidates that `rank` has not scored, by id, without what a score does not need."""
    rows = (row.candidate for row in folders.rows(Screened))
    lean = (msgspec.structs.replace(row, program=(), edits=()) for row in rows if row.score is None)
    return sorted(lean, key=lambda row: row.candidate_id)


def encode(texts: Sequence[str], p: EmbedParams, model: clip.ModelRecord) -> clip.Batches:
    """Encode texts with the model that embed used, but for those that are too long for it.

    Raises:
        UserError: the parameters name another one by now, or it cannot be loaded.
    """
    encoder = clip.Encoder(p.model, p.pretrained, device=p.device)
    if encoder.record.fingerprint != model.fingerprint:
        raise UserError(
            f"embed: model: {p.model} is not the model that made the pictures' vectors ({model.model}, weights "
            f"{model.weights_sha256[:12]}); run dvc repro, so that embed comes first"
        )
    return encoder.texts(texts, p.text_batch, skip_long=True)


def by_subset(candidates: Sequence[Candidate], scores: Sequence[EditScore]) -> dict[Subset, dict[str, float]]:
    """Quantiles of the known scores of each subset that has some."""
    found: dict[Subset, list[float]] = {subset: [] for subset in SUBSETS}
    for candidate, row in zip(candidates, scores, strict=True):
        if row.score is not None:
            found[candidate.subset].append(row.score)
    return {subset: quantiles(scores) for subset, scores in found.items() if scores}


def main() -> None:
    p, folders = load("embed", EmbedParams), Folders()
    out, embed = folders.stage("similarity"), folders.stage("embed")
    model = read_json(embed / "embed.json", EmbedReport).model
    candidates = edited(folders)
    distinct = sorted({candidate.text for candidate in candidates})
    key_of = dict(zip(distinct, keys(model, "text", distinct), strict=True))
    with closing(Cache(CACHE, model.dimension, seed=folders.vectors / SEED)) as cache:
        asked = cache.fill(list(key_of.values()), distinct, partial(encode, p=p, model=model), "edited texts")
        too_long = set(cache.missing(list(key_of.values())))
        texts = [text for text in distinct if key_of[text] not in too_long]
        cache.write(out / "texts.npy", [key_of[text] for text in texts])
    write_json(out / "texts.json", texts)
    scores = edit_scores(candidates, read_vectors(embed, out))
    if too_long:
        first = next(text for text in distinct if key_of[text] in too_long)
        warn(
            f"{len(too_long):,} edited texts are longer than the model's context of {counted(model.context_length, 'token')} and "
            f"have no CLIP score; the first is {first!r}"
        )
    report = SimilarityReport(
        model=model,
        candidates=len(scores),
        distinct_texts=len(distinct),
        too_long=len(too_long),
        score_quantiles=by_subset(candidates, scores),
    )
    what = f"{len(scores):,} edited questions, {len(texts):,} texts ({asked - len(too_long):,} newly encoded)"
    folders.finish("similarity", what, {"edit_scores.jsonl": scores, "similarity.json": report})


if __name__ == "__main__":
    run(main)
