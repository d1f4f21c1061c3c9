"""Generate a private synthetic world from a secret seed and run the whole pipeline on it: `rgqa sample new-world`.

Writes, into a folder that is laid out like the project's
    params.yaml            the sample's parameters
    drawn.json             the seed's SHA-256 and the completed stages, after which an interrupted run continues
    data/<name>/           source and truth like the sample's, its CLIP and its answer nets; interim/, as stages write it
    data/release/<name>/   the release

The sample's images, questions and releases are public, so a model may have been trained on them. It cannot know a world from a
secret seed. The seed is written nowhere. Its hash shows later that the seed was not chosen by the results of models.
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
# The step before all stages.
SOURCE_DIRNAME = "source"


class PrivateWorld(Record):
    """The content of drawn.json: data set, hash of the seed, and completed stages."""

    dataset: str
    seed_sha256: str
    stages: tuple[str, ...] = ()


def build_private_world(secret_seed: str, output_dir: Path | None) -> None:
    """Generate a private world and run all stages on it. Continues an interrupted run of the same seed.

    Args:
        secret_seed: the seed, any text.
        output_dir: the folder. The default is `drawn-` and eight digits of the seed's hash.

    Raises:
        UserError: the folder has another seed or other files, or a stage failed.
    """
    number, mark = derive_seed(secret_seed), hash_seed(secret_seed)
    name = f"drawn-{mark[:8]}"
    home = output_dir or Path(name)
    check_output_paths([Output("--out", home, "folder")])
    drawn = _read_state(home, PrivateWorld(dataset=name, seed_sha256=mark))
    print(
        f"new-world: the seed's SHA-256 is {mark}. Publish it before you evaluate a model.", file=sys.stderr
    )
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


def write_world(home: Path, name: str, number: int, mark: str, scale: int = 1) -> None:
    """Write images, questions, graphs and truth, the sample's models, and parameters. `scale` multiplies the number of images."""
    sample, folder = DatasetFolders("sample"), home / "data" / name
    write_json(home / STATE_FILENAME, PrivateWorld(dataset=name, seed_sha256=mark))
    drawn = track(render_images(number, scale), "render", scale * SPLIT_SIZES["testdev"], "image")
    for path, data in chain(build_documents(number, scale=scale), drawn):
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
        "title": f"RGQA synthetic world {mark[:8]}",
        "data_source": f"{section['release']['data_source'].strip()} The seed's SHA-256 is {mark}.",
    }
    written = {"version": params["version"], "dataset": name, name: section}
    write_text(home / PARAMS_FILE, yaml.safe_dump(written, sort_keys=False, width=110))


def _run_stage(stage: str, home: Path) -> None:
    """Run one stage in the folder with this code."""
    path = os.pathsep.join(filter(None, [str(Path.cwd()), os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, "-m", stage_module(stage)]
    if subprocess.run(command, cwd=home, env=os.environ | {"PYTHONPATH": path}, check=False).returncode:
        raise UserError(
            f"{home}: stage {stage} failed (see its message above). The same command continues there."
        )
