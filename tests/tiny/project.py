"""Create a project folder with the tiny world, and run all stages there.

No model is needed: bags of words replace the embeddings of stage `embed` and those that stage `similarity` finds in the cache.
"""

from __future__ import annotations

import contextlib
import importlib
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from pipeline.candidates.encoders.clip import ModelRecord
from pipeline.candidates.encoders.embedding_cache import (
    CACHE_PATH,
    EmbeddingCache,
    EmbedReport,
    make_cache_keys,
)
from pipeline.core.json_files import read_jsonl, write_json
from pipeline.core.records import ImageRecord, Question, ScreenedCandidate
from pipeline.core.stage_graph import read_stages, stage_module
from tests.closure import ROOT

TINY = Path(__file__).parent
STAGES = tuple(read_stages(root=ROOT))
PARAMS: dict[str, dict[str, Any]] = {stage: {} for stage in STAGES} | {
    "ingest": {
        "split": "testdev",
        "question_splits": ["testdev", "train", "val"],
        "graph_splits": ["train", "val"],
        "paraphrase": False,
    },
    # The tiny world has few scene graphs, and everyday objects are none of its own.
    "vocabulary": {"use_default": "never"},
    "embed": {"model": "none"},
    "rank": {
        "hard_draw": 6,
        "hard_pool": 20,
        "easy_last": 4,
        "easy_pool": 20,
        "max_question_uses": 3,
        "validation_proportion": 0.5,
        "seed": 1,
    },
    "perturb": {"seed": 1},
    "batch": {"seed": 1, "template_proportion": 0.5},
    "annotate": {},
    "collect": {"simulate": True, "seed": 1, "simulated_votes": 5, "max_discarded_rate": 0.25},
    "balance": {"seed": 1},
    "paper": {"hard_draw": 6, "hard_pool": 20, "easy_last": 4, "seed": 1},
    "audit": {
        "max_text_auroc": {"clip-easy": 0.55, "clip-hard": 0.55, "pt-easy": 0.65, "pt-hard": 0.65},
        "folds": 2,
        "num_replicates": 50,
    },
    "release": {
        "title": "Tiny",
        "data_source": "Drawn.",
        "licence": "CC BY 4.0",
        "release_date": "2026-01-01",
        "num_folds": 2,
        "licence_url": "https://creativecommons.org/licenses/by/4.0/",
        "intended_uses": ["Tests."],
        "social_impact": "None.",
    },
}


def lay_out(home: Path, params: Mapping[str, Any] | None = None) -> Path:
    """Copy the source and truth of the tiny world into a project folder.

    Args:
        home: The project folder.
        params: Parameters for params.yaml; None to write no such file.

    Returns:
        `home`.
    """
    for split in ("source", "truth"):
        shutil.copytree(TINY / split, home / "data/tiny" / split)
    if params:
        (home / "data/tiny/annotations").mkdir()
        (home / "params.yaml").write_text(
            yaml.safe_dump({"dataset": "tiny", "version": "0.1.0", "tiny": params})
        )
    return home


def run_stages(home: Path) -> Path:
    """Run all stages in a project folder made by `lay_out`. The release is data/release/tiny/0.1.0."""
    with contextlib.chdir(home):
        for stage in STAGES:
            if stage == "embed":
                bags_of_words(home / "data/tiny", home / "data/tiny/interim")
            else:
                if stage == "similarity":
                    keep_bags_of_words(home / "data/tiny/interim")
                importlib.import_module(stage_module(stage, ROOT)).main()
    return home


MODEL = ModelRecord(
    model="bags of words",
    pretrained="",
    weights_sha256="00",
    fingerprint="bags",
    preprocessing="",
    quick_gelu=False,
    dimension=32,
    context_length=0,
    open_clip="",
    torch="",
)


def bag(words: Iterable[str]) -> np.ndarray:
    """Return the normalized sum of a random vector per word."""
    seeds = [int.from_bytes(word.encode(), "big") % 2**32 for word in words]
    total = np.sum([np.random.default_rng(seed).normal(size=MODEL.dimension) for seed in seeds], axis=0)
    return (total / np.linalg.norm(total)).astype(np.float32)


def bag_of(text: str) -> np.ndarray:
    return bag(re.findall(r"[a-z]+", text.lower()))


def keep_bags_of_words(interim: Path) -> None:
    """Put embeddings of all screened texts into the cache of the working directory."""
    rows = read_jsonl(interim / "screen/screened.jsonl", ScreenedCandidate)
    texts = sorted({row.candidate.text for row in rows})
    with contextlib.closing(EmbeddingCache(CACHE_PATH, MODEL.dimension)) as cache:
        cache.put(make_cache_keys(MODEL, "text", texts), np.array([bag_of(text) for text in texts]))


def bags_of_words(folder: Path, interim: Path) -> None:
    """Write embeddings like stage `embed`: a text is the sum of its words, an image the sum of the names of its objects."""
    from pipeline.sources import gqa_files

    images = sorted(p.image_id for p in read_jsonl(interim / "ingest/images.jsonl", ImageRecord))
    scenes = gqa_files.read_true_scene_graphs(folder / "truth", ("testdev",))
    texts = sorted(
        {
            q.text
            for q in read_jsonl(interim / "ingest/questions.jsonl", Question)
            if q.image_id in set(images)
        }
    )
    (interim / "embed").mkdir(parents=True)
    np.save(
        interim / "embed/images.npy",
        np.array([bag(o.name for o in scenes[p].objects) for p in images]),
    )
    np.save(interim / "embed/texts.npy", np.array([bag_of(text) for text in texts]))
    write_json(interim / "embed/image_ids.json", images)
    write_json(interim / "embed/texts.json", texts)
    report = EmbedReport(model=MODEL, images=len(images), questions=len(texts), distinct_texts=len(texts))
    write_json(interim / "embed/embed.json", report)
