"""The tiny world run through every stage but embed, whose vectors are bags of words (no model is needed here)."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

from pipeline.core.files import read_jsonl, write_json
from pipeline.core.records import Picture, Question
from tests.conftest import TINY

PARAMS = {
    "ingest": {
        "split": "testdev",
        "question_splits": ["testdev", "train", "val"],
        "graph_splits": ["train", "val"],
    },
    "vocabulary": {},
    "embed": {"model": "none"},
    "rank": {
        "hard_draw": 6,
        "hard_pool": 20,
        "easy_last": 4,
        "easy_pool": 20,
        "cap": 3,
        "dev_share": 0.5,
        "seed": 1,
    },
    "perturb": {"seed": 1},
    "batch": {"seed": 1, "template_share": 0.5},
    "collect": {"simulate": True, "seed": 1, "votes": 5, "min_votes": 2, "min_filter_answers": 5},
    "balance": {"seed": 1},
    "paper": {"hard_draw": 6, "hard_pool": 20, "easy_last": 4, "seed": 1},
    "audit": {
        "limits": {"clip-easy": 0.55, "clip-hard": 0.55, "pt-easy": 0.65, "pt-hard": 0.65},
        "folds": 2,
        "repetitions": 50,
    },
    "release": {
        "title": "Tiny",
        "origin": "Drawn.",
        "licence": "CC BY 4.0",
        "published": "2026-01-01",
        "folds": 2,
        "licence_url": "https://creativecommons.org/licenses/by/4.0/",
    },
}


def bags_of_words(folder: Path, interim: Path) -> None:
    """Vectors as embed writes them: a text is the sum of its words, a picture the sum of its objects' names."""
    from pipeline.sources import gqa_files

    def vector(words: list[str]) -> np.ndarray:
        rows = [
            np.random.default_rng(int.from_bytes(word.encode(), "big") % 2**32).normal(size=32)
            for word in words
        ]
        total = np.sum(rows, axis=0)
        return (total / np.linalg.norm(total)).astype(np.float32)

    pictures = sorted(p.picture_id for p in read_jsonl(interim / "ingest/pictures.jsonl", Picture))
    scenes = gqa_files.truth(folder / "truth", ("testdev",))
    texts = sorted(
        {
            q.text
            for q in read_jsonl(interim / "ingest/questions.jsonl", Question)
            if q.picture_id in set(pictures)
        }
    )
    (interim / "embed").mkdir(parents=True)
    np.save(
        interim / "embed/pictures.npy",
        np.array([vector([o.name for o in scenes[p].objects]) for p in pictures]),
    )
    np.save(
        interim / "embed/texts.npy", np.array([vector(re.findall(r"[a-z]+", text.lower())) for text in texts])
    )
    write_json(interim / "embed/picture_ids.json", pictures)
    write_json(interim / "embed/texts.json", texts)
    write_json(interim / "embed/embed.json", {"model": {"model": "bags of words", "weights_sha256": "00"}})


def export(tasks, choose):
    """A Label Studio export in which persons 1, 2 and 3 answered everything as `choose(person, question)` says."""

    def result(name, choice):
        return {"from_name": name, "to_name": "image", "type": "choices", "value": {"choices": [choice]}}

    return [
        {
            "id": i,
            "data": {"task": task.task_id},
            "annotations": [
                {
                    "id": 10 * i + who,
                    "completed_by": who,
                    "was_cancelled": False,
                    "created_at": f"2025-01-01T00:00:00.{i:06}Z",
                    "result": [
                        result("first", choose(who, task.first)),
                        result("second", choose(who, task.second)),
                    ],
                }
                for who in (1, 2, 3)
            ],
        }
        for i, task in enumerate(tasks)
    ]


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project folder in which every stage has run on the tiny world; the release is data/release/tiny/0.1.0."""
    import importlib

    home = tmp_path_factory.mktemp("run")
    for part in ("source", "truth"):
        shutil.copytree(TINY / part, home / "data/tiny" / part)
    (home / "data/tiny/annotations").mkdir()
    (home / "params.yaml").write_text(yaml.safe_dump({"dataset": "tiny", "version": "0.1.0", "tiny": PARAMS}))
    before = os.getcwd()
    os.chdir(home)
    try:
        for stage in (
            "ingest",
            "vocabulary",
            "embed",
            "rank",
            "tag",
            "perturb",
            "screen",
            "batch",
            "collect",
            "balance",
            "paper",
            "audit",
            "release",
        ):
            if stage == "embed":
                bags_of_words(home / "data/tiny", home / "data/tiny/interim")
            else:
                importlib.import_module(f"pipeline.stages.{stage}").main()
    finally:
        os.chdir(before)
    return home
