"""`rgqa sample new-world`: a world that nobody has seen, drawn from a secret seed, and the whole pipeline and its evaluation run on it.

Writes, into a folder of its own that is laid out like the project's
    params.yaml            the sample's parameters
    drawn.json             the seed's SHA-256, and the stages that have run: a run that was interrupted goes on behind them
    data/<name>/           source and truth as the sample has them, its CLIP and its answer nets; interim/, as stages write it
    data/release/<name>/   the release

The sample's images, questions and releases are public, so a model may have learnt them; what comes from a secret seed it
cannot have. The seed is written nowhere, its hash is: it shows later that the seed was not chosen by what models scored.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from itertools import chain
from pathlib import Path

import yaml

from pipeline.core.atomic_files import atomic_write, write_text
from pipeline.core.errors import UserError, format_count
from pipeline.core.json_files import read_json, write_json
from pipeline.core.output_paths import Output, check_output_paths
from pipeline.core.params import PARAMS_FILE, read_params_file
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import report_written, track
from pipeline.core.records import Record
from pipeline.core.stage_graph import read_stages, stage_module
from research.synthetic_world.build import build_documents, render_images
from research.synthetic_world.scenes import SPLIT_SIZES
from research.synthetic_world.secret_seeds import derive_seed, hash_seed

STATE_FILENAME = "drawn.json"
SOURCE_DIRNAME = "source"  # drawn before any stage


class PrivateWorld(Record):
    """drawn.json: what was drawn, from the seed of which hash, and what has been done."""

    dataset: str
    seed_sha256: str
    stages: tuple[str, ...] = ()


def build_private_world(secret_seed: str, output_dir: Path | None) -> None:
    """Draw a fresh world and run all stages on it; go on where an earlier run of the same seed stopped.

    Args:
        out: the folder; `drawn-` and eight digits of the seed's hash, if not given.

    Raises:
        UserError: the folder is of another seed or of something else; a stage failed.
    """
    number, mark = derive_seed(secret_seed), hash_seed(secret_seed)
    name = f"drawn-{mark[:8]}"
    home = output_dir or Path(name)
    check_output_paths([Output("--out", home, "folder")])
    drawn = _read_state(home, PrivateWorld(dataset=name, seed_sha256=mark))
    print(f"draw: the seed's SHA-256 is {mark}; tell it to others before you ask a model", file=sys.stderr)
    stages = list(read_stages())
    for stage in [SOURCE_DIRNAME, *stages]:
        if stage not in drawn.stages:
            if stage == SOURCE_DIRNAME:
                write_world(home, name, number, mark)
            else:
                _run_stage(stage, home)
            drawn = PrivateWorld(dataset=name, seed_sha256=mark, stages=(*drawn.stages, stage))
            write_json(home / STATE_FILENAME, drawn)
    report_written(
        "draw",
        f"a world of {SPLIT_SIZES['testdev']} images through {format_count(len(stages), 'stage')}",
        home,
    )


def _read_state(home: Path, wanted: PrivateWorld) -> PrivateWorld:
    """How far the folder is."""
    if not home.exists() or not any(home.iterdir()):
        return wanted
    if not (home / STATE_FILENAME).is_file():
        raise UserError(f"{home}: there is something else in it; give another --out")
    found = read_json(home / STATE_FILENAME, PrivateWorld)
    if found.seed_sha256 != wanted.seed_sha256:
        raise UserError(f"{home}: drawn from another seed, of hash {found.seed_sha256}; give another --out")
    return found


def write_world(home: Path, name: str, number: int, mark: str, scale: int = 1) -> None:
    """Images, questions, graphs and truth; the sample's models; parameters. `scale`: so many times the sample's images."""
    sample, folder = DatasetFolders("sample"), home / "data" / name
    write_json(home / STATE_FILENAME, PrivateWorld(dataset=name, seed_sha256=mark))
    drawn = track(render_images(number, scale), "drawing", scale * SPLIT_SIZES["testdev"], "image")
    for path, data in chain(build_documents(number, scale=scale), drawn):
        with atomic_write(folder / path) as file:
            file.write(data)
    for models in (sample.clip, sample.vqa_models):
        shutil.copytree(models, folder / models.name, dirs_exist_ok=True)
    params = read_params_file(PARAMS_FILE)
    section = dict(params["sample"])
    section["embed"] = section["embed"] | {"model": f"local-dir:data/{name}/{sample.clip.name}"}
    section["release"] = section["release"] | {
        "title": f"RGQA drawn world {mark[:8]}",
        "origin": f"{section['release']['data_source'].strip()} The seed's SHA-256 is {mark}.",
    }
    written = {"version": params["version"], "dataset": name, name: section}
    write_text(home / PARAMS_FILE, yaml.safe_dump(written, sort_keys=False, width=110))


def _run_stage(stage: str, home: Path) -> None:
    """Run one stage in the folder, by this code."""
    path = os.pathsep.join(filter(None, [str(Path.cwd()), os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, "-m", stage_module(stage)]
    if subprocess.run(command, cwd=home, env=os.environ | {"PYTHONPATH": path}, check=False).returncode:
        raise UserError(f"{home}: stage {stage} failed, as it said; the same command goes on there")
