"""Generate a private synthetic world from a secret seed, and run the whole pipeline on it: `rgqa sample
new-world`.

Writes, into a new folder with the same layout as the project:
    params.yaml            the sample's parameters
    drawn.json             the SHA-256 of the seed, and the completed stages (an interrupted run continues after them)
    data/<name>/           source and truth as in the sample, the CLIP model and the VQA models of the sample, and the files of the stages
    data/release/<name>/   the release

The sample's images, questions and releases are public, so a model may have been trained on them. No model can
have seen a world that is made from a secret seed. The seed is not written to any file. Its hash proves later
that the seed was not chosen after seeing the results of models.
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
# Name of the step before all stages, which generates the source files.
SOURCE_DIRNAME = "source"


class PrivateWorld(Record):
    """The content of drawn.json: data set, hash of the seed, and completed stages."""

    dataset: str
    seed_sha256: str
    stages: tuple[str, ...] = ()


def build_private_world(secret_seed: str, output_dir: Path | None) -> None:
    """Generate a private world and run all stages on it. An interrupted run of the same seed is continued.

    Args:
        secret_seed: The seed, any text.
        output_dir: The folder; None for `world-` and eight digits of the hash of the seed.

    Raises:
        UserError: The folder is for another seed or has other files, or a stage failed.
    """
    derived_seed, seed_hash = derive_seed(secret_seed), hash_seed(secret_seed)
    name = f"world-{seed_hash[:8]}"
    home = output_dir or Path(name)
    check_output_paths([Output("--out", home, "folder")])
    drawn = _read_state(home, PrivateWorld(dataset=name, seed_sha256=seed_hash))
    print(
        f"new-world: the seed's SHA-256 is {seed_hash}. Publish it before you evaluate a model.",
        file=sys.stderr,
    )
    stages = list(read_stages())
    for stage in [SOURCE_DIRNAME, *stages]:
        if stage not in drawn.stages:
            if stage == SOURCE_DIRNAME:
                write_world(home, name, derived_seed, seed_hash)
            else:
                _run_stage(stage, home)
            drawn = PrivateWorld(dataset=name, seed_sha256=seed_hash, stages=(*drawn.stages, stage))
            write_json(home / STATE_FILENAME, drawn)
    report_written(
        "new-world",
        f"a world of {SPLIT_SIZES['testdev']} images through {format_count(len(stages), 'stage')}",
        home,
    )


def _read_state(home: Path, wanted: PrivateWorld) -> PrivateWorld:
    """Read which stages are complete."""
    if not home.exists() or not any(home.iterdir()):
        return wanted
    if not (home / STATE_FILENAME).is_file():
        raise UserError(f"{home}: the folder has other files. Choose another --out.")
    found = read_json(home / STATE_FILENAME, PrivateWorld)
    if found.seed_sha256 != wanted.seed_sha256:
        raise UserError(
            f"{home}: generated from another seed, with hash {found.seed_sha256}. Choose another --out."
        )
    return found


def write_world(home: Path, name: str, derived_seed: int, seed_hash: str, scale: int = 1) -> None:
    """Write images, questions, graphs and truth, the sample's models, and parameters.

    Args:
        home: The folder of the world.
        name: The name of the data set.
        derived_seed: The seed of the random generators, derived from the secret seed.
        seed_hash: The SHA-256 of the secret seed in hexadecimal digits, or another text that identifies it.
        scale: A factor for the number of images.
    """
    sample, folder = DatasetFolders("sample"), home / "data" / name
    write_json(home / STATE_FILENAME, PrivateWorld(dataset=name, seed_sha256=seed_hash))
    drawn = track(render_images(derived_seed, scale), "render", scale * SPLIT_SIZES["testdev"], "image")
    for path, data in chain(build_documents(derived_seed, scale=scale), drawn):
        with atomic_write(folder / path) as file:
            file.write(data)
    for models in (sample.clip, sample.vqa_models):
        shutil.copytree(models, folder / models.name, dirs_exist_ok=True)
    params = read_params_file(PARAMS_FILE)
    section = dict(params["sample"])
    section["embed"] = section["embed"] | {
        "model": f"local-dir:data/{name}/{sample.clip.name}",
        # It is the same synthetic world.
        "allow_sample_clip": True,
    }
    section["release"] = section["release"] | {
        "title": f"RGQA synthetic world {seed_hash[:8]}",
        "data_source": f"{section['release']['data_source'].strip()} The seed's SHA-256 is {seed_hash}.",
    }
    written = {"version": params["version"], "dataset": name, name: section}
    write_text(home / PARAMS_FILE, yaml.safe_dump(written, sort_keys=False, width=110))


def _run_stage(stage: str, home: Path) -> None:
    """Run one stage in the folder, with the code of this project."""
    path = os.pathsep.join(filter(None, [str(Path.cwd()), os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, "-m", stage_module(stage)]
    if subprocess.run(command, cwd=home, env=os.environ | {"PYTHONPATH": path}, check=False).returncode:
        raise UserError(
            f"{home}: stage {stage} failed (see its message above). The same command continues there."
        )
