"""Small projects in which stages run."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest
from PIL import Image

from pipeline.core import per_image as core_candidates
from pipeline.core.atomic_files import sha256_file
from pipeline.core.json_files import read_jsonl, write_json, write_jsonl
from pipeline.core.parallel import ordered_map
from pipeline.core.records import (
    Candidate,
    ImageRecord,
    Question,
)
from pipeline.stages import ingest, tag
from pipeline.verifier import vocabulary as vocabulary_counts
from tests.candidates.ranking.small_world import world

OUT = Path("data/world/interim/embed")
OUTPUTS = ("images.npy", "image_ids.json", "texts.npy", "texts.json", "embed.json")
TEXTS = ["What color is the dog?", "Is it red?", "What color is the dog?", "Where is the cat?"]
COPIES = 6


def lay_out_world(tiny_clip: Path) -> None:
    """In the working directory: five images, one of them the copy of another, four questions, and one about an image that is not there."""
    rng = np.random.default_rng(1)
    images = []
    for name in ("a", "b", "c", "d"):
        path = Path("data/world/source/images") / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 255, (30, 40, 3), np.uint8)).save(path)
        images.append(
            ImageRecord(
                image_id=name,
                split="testdev",
                path=str(path),
                width=40,
                height=30,
                sha256=sha256_file(path),
            )
        )
    copy = Path("data/world/source/images/e.png")
    copy.write_bytes(Path(images[0].path).read_bytes())
    images.append(
        ImageRecord(
            image_id="e", split="testdev", path=str(copy), width=40, height=30, sha256=images[0].sha256
        )
    )
    questions = [
        Question(question_id=f"0{i}", image_id="a", split="testdev", text=text, answer="")
        for i, text in enumerate(TEXTS)
    ]
    questions.append(
        Question(question_id="09", image_id="t", split="train", text="Not about any of these?", answer="")
    )
    write_jsonl("data/world/interim/ingest/images.jsonl", images)
    write_jsonl("data/world/interim/ingest/questions.jsonl", questions)
    shutil.copytree(tiny_clip, "data/world/clip")
    section = {
        "model": "local-dir:data/world/clip",
        "device": "cpu",
        "image_batch_size": 2,
        "text_batch_size": 2,
    }
    Path("params.yaml").write_text(json.dumps({"dataset": "world", "world": {"embed": section}}))


def written() -> dict[str, str]:
    return {name: hashlib.sha256((OUT / name).read_bytes()).hexdigest() for name in OUTPUTS}


def lay_out_rank_project(tmp_path):
    """A project folder in which rank can run."""
    questions, vectors = world()
    (tmp_path / "params.yaml").write_text(
        "dataset: d\nd:\n  rank: {hard_draw: 4, hard_pool: 25, easy_last: 3, easy_pool: 25, validation_proportion: 0.4}\n"
    )
    interim = tmp_path / "data/d/interim"
    write_jsonl(
        interim / "ingest/questions.jsonl",
        [
            *questions,
            Question(question_id="9", image_id="train image", split="train", text="?", answer="x"),
        ],
    )
    for name, value in (("image_ids", vectors.image_ids), ("texts", vectors.text_strings)):
        write_json(interim / f"embed/{name}.json", value)
    np.save(interim / "embed/images.npy", vectors.image_vectors)
    np.save(interim / "embed/texts.npy", vectors.text_vectors)
    return interim


def ingest_copies(tiny, set_params):
    """The tiny world `COPIES` times, under other ids; CLIP proposes every question at another image."""
    for stage in ("vocabulary", "perturb"):
        set_params(stage)
    ingest.main()
    home = tiny / "data/tiny/interim"
    images = list(read_jsonl(home / "ingest/images.jsonl", ImageRecord))
    shown = {image.image_id for image in images}
    questions = [q for q in read_jsonl(home / "ingest/questions.jsonl", Question) if q.image_id in shown]
    images = [again(row, copy) for copy in range(COPIES) for row in images]
    questions = [again(row, copy) for copy in range(COPIES) for row in questions]
    ids = sorted(image.image_id for image in images)  # the copies of an image stand together
    other = {image_id: ids[(number + COPIES) % len(ids)] for number, image_id in enumerate(ids)}
    proposed = [
        Candidate(
            candidate_id=f"cliphard_{other[q.image_id]}+{q.question_id}",
            subset="clip-hard",
            image_id=other[q.image_id],
            question_id=q.question_id,
            text=q.text,
            program=q.program,
            score=0.2,
            rank=1,
        )
        for q in questions
    ]
    write_jsonl(home / "ingest/images.jsonl", sorted(images, key=lambda row: row.image_id))
    write_jsonl(home / "ingest/questions.jsonl", sorted(questions, key=lambda row: row.question_id))
    write_jsonl(home / "ingest/scenes.jsonl", [])
    write_jsonl(home / "rank/candidates.jsonl", sorted(proposed, key=lambda row: row.candidate_id))
    return home


def again(row, copy: int):
    """An image or question of another copy of the world."""
    ids = {name: f"{getattr(row, name)}-{copy}" for name in ("image_id", "question_id") if hasattr(row, name)}
    return msgspec.structs.replace(row, **ids)


def in_processes(number: int, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ordered_map, "__defaults__", (3,))  # items in a piece
    for module in (vocabulary_counts, tag, core_candidates):
        patch.setattr(module, "choose_num_workers", lambda *_: number)
