"""How much memory and time each stage takes on the sample, so many times as large.

    python -m research.benchmarks.stage_memory --scale 16 --out FOLDER                  source, then every stage, to the release
    python -m research.benchmarks.stage_memory --scale 16 --out FOLDER --again batch    batch anew, and whatever is not measured yet
    python -m research.benchmarks.stage_memory --scale 16 --out FOLDER --again batch --last batch     batch alone
    python -m research.benchmarks.stage_memory --questions 943000 --out FOLDER --last batch           as many as in GQA's train split

Drawn anew are the testdev pictures, 160 times the scale, with their 13 questions each; the graphs of train and val are as
many as in the sample. With `--questions` the questions are a stand-in for GQA's (research/benchmarks/scaled_dataset.py), without graphs, on
pictures as many as there are for so many, and rank draws 14 for each picture: a million of 72,140. Pictures and texts get stand-ins
for CLIP's vectors, as CLIP would take hours and is not what is measured: a text the sum of its words' random vectors, a picture
the sum of its questions' and one of its own as long, of 256 numbers as the sample's CLIP has. Verdicts are simulated.

Each stage runs by itself. Its memory is that of its processes together, at the worst moment seen (each twentieth of a
second): `peak` counts what is theirs alone (RssAnon, RssShmem), `with files` mapped pages of files as well, which the system takes
back when it needs them. The same command goes on where an earlier one stopped; results stand in FOLDER/measured.json.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np
import psutil

from pipeline.candidates.encoders.clip import Encoder, ModelRecord
from pipeline.candidates.encoders.embedding_cache import CACHE, Cache, EmbedParams, keys
from pipeline.core import params
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json, write_json
from pipeline.core.paths import Folders
from pipeline.core.records import Picture, Question, Screened
from pipeline.core.stage_graph import read_stages, stage_module
from research.benchmarks import scaled_dataset
from research.benchmarks.harness import command
from research.synthetic_world.private_world import write_world
from research.synthetic_world.scenes import SPLIT_SIZES

NAME, SOURCE, RESULTS = "scaled", "source", "measured.json"
SEED = 64
LOOK = 0.05  # seconds between two looks at a stage's memory
QUESTIONS = 13  # of a picture
AT_ONCE = 4096  # vectors made together


class Cost(msgspec.Struct):
    """What a stage took: seconds on the clock and of processors, memory in MB (10**6 bytes)."""

    seconds: float
    processors: float
    peak_mb: float
    with_files_mb: float


# Of params.yaml, for the stand-in of GQA's questions: from pools as deep as GQA's, for what is drawn from them.
DRAWS = {"hard_draw": 8, "hard_pool": 240, "easy_last": 6, "easy_pool": 300}


def main(
    scale: int = 4,
    questions: int = 0,
    out: Path = Path("scaled"),
    again: list[str] | None = None,
    last: str = "release",
) -> None:
    stages = list(read_stages())
    if unknown := {*(again or ()), last} - set(stages):
        raise UserError(f"{', '.join(sorted(unknown))}: no such stage; there are {', '.join(stages)}")
    code, home = Path.cwd(), out.absolute()
    drawn = {"questions": questions} if questions else {"scale": scale}
    if not (home / RESULTS).exists():
        if questions:
            _write_standin(home, questions)
        else:
            write_world(home, NAME, SEED, f"of seed {SEED}", scale)
        write_json(home / RESULTS, {**drawn, "stages": {}})
    measured = read_json(home / RESULTS)
    if {**measured, **drawn} != measured:
        raise UserError(f"{home}: drawn otherwise (see {RESULTS} there); give another --out")
    costs = {name: msgspec.convert(cost, Cost) for name, cost in measured["stages"].items()}
    asked = questions or scale * SPLIT_SIZES["testdev"] * QUESTIONS
    os.chdir(home)  # laid out like the project
    for stage in stages[: stages.index(last) + 1]:
        if stage in costs and stage not in (again or ()):
            continue
        if stage in ("embed", "similarity"):
            stand_in(stage)
        costs[stage] = cost_of(stage, code)
        write_json(home / RESULTS, {**drawn, "stages": costs})
        print(row(stage, costs[stage], asked), flush=True)
    print(f"\n{asked:,} questions\n")
    print(
        "| stage | seconds | of processors | peak MB | with files MB | of processors, per 1,000 questions |"
    )
    print("|---|---|---|---|---|---|")
    print("\n".join(row(stage, costs[stage], asked) for stage in stages if stage in costs))


def _write_standin(home: Path, questions: int) -> None:
    clip = Folders("sample").clip
    target = home / "data" / NAME / clip.name
    changes = {"embed": {"model": f"local-dir:data/{NAME}/{clip.name}", "pretrained": ""}, "rank": DRAWS}
    scaled_dataset.make_project(home, NAME, scaled_dataset.SAMPLE, "testdev", questions, changes)
    shutil.copytree(clip, target, dirs_exist_ok=True)


def row(stage: str, cost: Cost, questions: int) -> str:
    """A row of the table."""
    each = 1000 * cost.processors / questions
    cells = (
        f"{cost.seconds:.1f}",
        f"{cost.processors:.1f}",
        f"{cost.peak_mb:,.0f}",
        f"{cost.with_files_mb:,.0f}",
        f"{each:.2f}",
    )
    return f"| {stage} | {' | '.join(cells)} |"


def cost_of(stage: str, code: Path) -> Cost:
    """Run a stage in the working directory, by the code in `code`.

    Raises:
        UserError: it failed.
    """
    shutil.rmtree(Folders().stage(stage), ignore_errors=True)
    path = os.pathsep.join(filter(None, [str(code), os.environ.get("PYTHONPATH", "")]))
    began, before = time.perf_counter(), os.times()
    process = subprocess.Popen(
        [sys.executable, "-m", stage_module(stage)], env=os.environ | {"PYTHONPATH": path}
    )
    peak = with_files = 0
    tree = psutil.Process(process.pid)
    while process.poll() is None:
        own, mapped = memory(tree)
        peak, with_files = max(peak, own), max(with_files, own + mapped)
        time.sleep(LOOK)
    seconds, after = time.perf_counter() - began, os.times()
    if process.returncode:
        raise UserError(f"stage {stage} failed, as it said; the same command goes on there")
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return Cost(round(seconds, 1), round(used, 1), round(peak / 1e3, 1), round(with_files / 1e3, 1))


def memory(tree: psutil.Process) -> tuple[int, int]:
    """Of a process and its descendants together: kB of their own, and of pages of files."""
    own = mapped = 0
    try:
        members = [tree, *tree.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0, 0
    for member in members:
        try:
            lines = Path(f"/proc/{member.pid}/status").read_text(encoding="utf-8").splitlines()
        except (FileNotFoundError, ProcessLookupError):  # it has ended
            continue
        held = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith("Rss")}
        own += held.get("RssAnon", 0) + held.get("RssShmem", 0)
        mapped += held.get("RssFile", 0)
    return own, mapped


def stand_in(stage: str) -> None:
    """Put made-up vectors where embed or similarity looks for those that were computed before."""
    p, folders = params.load("embed", EmbedParams), Folders()
    model = Encoder(p.model, p.pretrained).record
    words = Words(model.dimension)
    with closing(Cache(CACHE, model.dimension)) as cache:
        if stage == "similarity":
            _put(cache, model, {row.candidate.text for row in folders.rows(Screened)}, words)
            return
        pictures = {row.picture_id: row.sha256 for row in folders.rows(Picture)}
        place = {key: number for number, key in enumerate(pictures)}
        sums, texts = np.zeros((len(pictures), model.dimension), np.float32), set[str]()
        for question in folders.rows(Question):
            if question.picture_id in place:
                sums[place[question.picture_id]] += words.text(question.text)
                texts.add(question.text)
        own = _unit(np.random.default_rng(SEED).standard_normal(sums.shape))
        cache.put(keys(model, "picture", pictures.values()), _unit(_unit(sums) + own))
        _put(cache, model, texts, words)


class Words:
    """A random vector of each word."""

    def __init__(self, dimension: int) -> None:
        self._dimension, self._known = dimension, dict[str, np.ndarray]()

    def text(self, text: str) -> np.ndarray:
        """The unit vector of a text: of the sum of its words'."""
        return _unit(sum(map(self._word, text.lower().strip("?").split()), np.zeros(self._dimension))[None])[
            0
        ]

    def _word(self, word: str) -> np.ndarray:
        if word not in self._known:
            seed = int.from_bytes(word.encode(), "big")
            self._known[word] = np.random.default_rng(seed).standard_normal(self._dimension)
        return self._known[word]


def _put(cache: Cache, model: ModelRecord, texts: Iterable[str], words: Words) -> None:
    ordered = sorted(texts)
    for start in range(0, len(ordered), AT_ONCE):
        some = ordered[start : start + AT_ONCE]
        cache.put(keys(model, "text", some), np.array([words.text(text) for text in some], np.float32))


def _unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


if __name__ == "__main__":
    command(main)
