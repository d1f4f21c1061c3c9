"""Compute the CLIP similarity of every edited question and its image.

Stage `rank` does the same for unedited questions.

Reads   screen/screened.jsonl, embed/images.npy, image_ids.json, embed.json, and embeddings/clip.safetensors if it exists
Writes  edit_scores.jsonl        EditedQuestionScore: the CLIP score of every candidate whose text was edited
        texts.npy, texts.json    float32 [m, d]; row i is edited text i, sorted
        similarity.json          the model, counts, quantiles of the scores of each subset

The model is loaded only if a vector is missing both in the cache and in `embeddings/`. An edit may make a
text longer than the context of the model. Such a text has neither a vector nor a score.
If the stage embed used no model, no edited question has a score.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import partial

import msgspec

from pipeline.candidates.encoders import clip
from pipeline.candidates.encoders.embedding_cache import (
    EmbedParams,
    EmbedReport,
    SimilarityReport,
    make_cache_keys,
    open_cache,
    write_empty_npy,
)
from pipeline.candidates.ranking.pair_scores import compute_quantiles, score_edited_questions
from pipeline.candidates.ranking.rank_inputs import load_embeddings
from pipeline.core.errors import UserError, format_count, run_command, warn
from pipeline.core.json_files import read_json, write_json
from pipeline.core.params import load_params
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import SUBSETS, Candidate, EditedQuestionScore, ScreenedCandidate, Subset


def read_edited_candidates(folders: DatasetFolders) -> list[Candidate]:
    """Read the screened candidates that stage `rank` has not scored, sorted by id.

    Programs and edits are left out, because they are not needed here.
    """
    rows = (row.candidate for row in folders.read_records(ScreenedCandidate))
    lean = (msgspec.structs.replace(row, program=(), edits=()) for row in rows if row.score is None)
    return sorted(lean, key=lambda row: row.candidate_id)


def encode_texts(texts: Sequence[str], p: EmbedParams, model: clip.ModelRecord) -> clip.EmbeddingBatches:
    """Encode texts with the model of stage `embed`. Texts that are too long for the model are skipped.

    Args:
        texts: The texts.
        p: Parameters of stage `embed`.
        model: The model that stage `embed` used.

    Raises:
        UserError: The parameters name another model than stage `embed` used, or the model cannot be loaded.
    """
    encoder = clip.Encoder(p.model, p.pretrained, device=p.device)
    if encoder.record.fingerprint != model.fingerprint:
        raise UserError(
            f"embed: model: {p.model} is not the model that made the vectors of the images ({model.model}, weights "
            f"{model.weights_sha256[:12]}). Run dvc repro, which runs embed first."
        )
    return encoder.encode_texts(texts, p.text_batch_size, skip_long=True)


def compute_quantiles_by_subset(
    candidates: Sequence[Candidate], scores: Sequence[EditedQuestionScore]
) -> dict[Subset, dict[str, float]]:
    """Return the quantiles of the scores of each subset. Subsets without scores are left out."""
    found: dict[Subset, list[float]] = {subset: [] for subset in SUBSETS}
    for candidate, row in zip(candidates, scores, strict=True):
        if row.score is not None:
            found[candidate.subset].append(row.score)
    return {subset: compute_quantiles(scores) for subset, scores in found.items() if scores}


def write_empty_outputs(folders: DatasetFolders, candidates: Sequence[Candidate]) -> None:
    """Write the files of the stage without a model: no vectors, and no scores."""
    write_empty_npy(folders.stage_dir("similarity") / "texts.npy", 0)
    scores = [EditedQuestionScore(candidate_id=row.candidate_id, score=None) for row in candidates]
    report = SimilarityReport(
        model=None, candidates=len(scores), distinct_texts=0, texts_too_long=0, score_quantiles={}
    )
    folders.write_stage_outputs(
        "similarity",
        "nothing scored, because no CLIP subset is made",
        {"texts.json": [], "edit_scores.jsonl": scores, "similarity.json": report},
    )


def main() -> None:
    p, folders = load_params("embed", EmbedParams), DatasetFolders()
    out, embed = folders.stage_dir("similarity"), folders.stage_dir("embed")
    model = read_json(embed / "embed.json", EmbedReport).model
    candidates = read_edited_candidates(folders)
    if model is None:
        write_empty_outputs(folders, candidates)
        return
    distinct = sorted({candidate.text for candidate in candidates})
    key_of = dict(zip(distinct, make_cache_keys(model, "text", distinct), strict=True))
    with closing(open_cache(folders, model.dimension)) as cache:
        num_missing = cache.encode_missing(
            list(key_of.values()), distinct, partial(encode_texts, p=p, model=model), "edited texts"
        )
        too_long = set(cache.find_missing(list(key_of.values())))
        texts = [text for text in distinct if key_of[text] not in too_long]
        cache.write_npy(out / "texts.npy", [key_of[text] for text in texts])
    write_json(out / "texts.json", texts)
    scores = score_edited_questions(candidates, load_embeddings(embed, out))
    if too_long:
        first = next(text for text in distinct if key_of[text] in too_long)
        warn(
            f"{format_count(len(too_long), 'edited text')} longer than the model's context of {format_count(model.context_length, 'token')}, "
            f"without a CLIP score. The first is {first!r}."
        )
    report = SimilarityReport(
        model=model,
        candidates=len(scores),
        distinct_texts=len(distinct),
        texts_too_long=len(too_long),
        score_quantiles=compute_quantiles_by_subset(candidates, scores),
    )
    what = f"{len(scores):,} edited questions, {len(texts):,} texts ({num_missing - len(too_long):,} newly encoded)"
    folders.write_stage_outputs("similarity", what, {"edit_scores.jsonl": scores, "similarity.json": report})


if __name__ == "__main__":
    run_command(main)
