"""Find the project of a folder, and compare the code that its stages ran with the installed code.

A *project* is a folder with params.yaml and a dvc.yaml that runs the stages of this package. There are two kinds:

- the clone of the repository, whose dvc.yaml names the code of each stage among its dependencies
- a project of one's own, which `rgqa init FOLDER` makes anywhere. The code is installed elsewhere, so its stages depend on
  fingerprints of their code instead, which `rgqa-version.yaml` holds. `rgqa upgrade` updates this file.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import yaml

from pipeline.core.errors import UserError, join_examples
from pipeline.core.params import PARAMS_FILE
from pipeline.core.records import Record
from pipeline.core.stage_graph import BUILD_GRAPH
from pipeline.core.strict_yaml import parse_yaml

VERSION_FILE = Path("rgqa-version.yaml")
# The name of this package for pip, and of its folder in the user's cache.
PACKAGE_NAME = "rgqa-pipeline"
# The folder that contains the packages `pipeline`, `annotation` and `research`, in a clone or in an environment.
CODE_ROOT = Path(__file__).resolve().parents[2]
# A copy of the clone's dvc.yaml, which is installed with the code. `python -m tests.closure` writes it.
PACKAGED_GRAPH = CODE_ROOT / "pipeline" / "stages" / "build_graph.yaml"
# The module that runs a stage in a project of one's own.
STAGE_RUNNER = "pipeline.stages"
# Number of hexadecimal digits of a fingerprint of code.
FINGERPRINT_LENGTH = 16
# Dependencies that no data set of a user has. The complete truth is known of synthetic worlds only.
RESEARCH_DEPS = ("data/${dataset}/truth",)
GRAPH_HEADER = f"""\
# The stages that build the benchmark. Made by `rgqa init` from version {{version}} of {PACKAGE_NAME}; do not edit, because `rgqa upgrade`
# writes it again. Parameters are in {PARAMS_FILE}.
"""
VERSION_HEADER = f"""\
# The code that made the files of this project: the version of {PACKAGE_NAME}, a checksum of {BUILD_GRAPH}, and a fingerprint of the code of each
# stage. A stage runs again when its fingerprint changes. Written by `rgqa init` and `rgqa upgrade`; do not edit.
"""


class CodeVersion(Record):
    """The content of `rgqa-version.yaml`.

    Attributes:
        version: Version of the package, such as "0.15.0".
        graph: SHA-256 of dvc.yaml as the package wrote it.
        code: Stage -> fingerprint of its code.
    """

    version: str
    graph: str
    code: dict[str, str]


def find_project(folder: Path) -> Path | None:
    """Return the project in which a folder lies, or None.

    Args:
        folder: An absolute path. The folder itself is a project if it has params.yaml. A folder above it also needs a
            dvc.yaml that runs stages of this package, because other projects have files of these names, too.
    """
    if (folder / PARAMS_FILE).is_file():
        return folder
    return next(filter(is_project, folder.parents), None)


def is_project(folder: Path) -> bool:
    """Report whether a folder has params.yaml and a dvc.yaml that runs stages of this package."""
    graph = folder / BUILD_GRAPH
    try:
        return (folder / PARAMS_FILE).is_file() and STAGE_RUNNER in graph.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False


def is_own_project(root: Path = Path()) -> bool:
    """Report whether a project was made by `rgqa init FOLDER`, so that it is not a clone."""
    return (root / VERSION_FILE).is_file()


def get_user_cache_dir() -> Path:
    """Return the folder in which all projects of a user share what is expensive to make again.

    It follows the conventions of the operating system. On Linux it is `~/.cache/rgqa-pipeline`, or below XDG_CACHE_HOME.
    """
    import platformdirs

    return platformdirs.user_cache_path(PACKAGE_NAME, appauthor=False)


def read_packaged_stages() -> dict[str, dict[str, Any]]:
    """Return the stages of the clone's dvc.yaml, in the order in which they run."""
    return parse_yaml(PACKAGED_GRAPH.read_text(encoding="utf-8"), PACKAGED_GRAPH)["stages"]


def make_project_stage(name: str, stage: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of a stage in the dvc.yaml of a project of one's own.

    Args:
        name: Name of the stage.
        stage: Its entry in the clone's dvc.yaml. The new entry depends on the fingerprint of the code, and not on its files.

    Example:
        >>> stage = {"cmd": "python -m pipeline.stages.tag", "params": ["dataset"], "deps": ["pipeline/core", "data/${dataset}/interim/ingest"]}
        >>> make_project_stage("tag", stage)["deps"], make_project_stage("tag", stage)["params"]
        (['data/${dataset}/interim/ingest'], ['dataset', {'rgqa-version.yaml': ['code.tag']}])
    """
    # With -P, files of the project such as random.py cannot replace modules.
    return dict(stage) | {
        "cmd": f"python -P -m {STAGE_RUNNER} {name}",
        "params": [*stage.get("params", ()), {VERSION_FILE.as_posix(): [f"code.{name}"]}],
        "deps": [dep for dep in stage["deps"] if _is_data(dep) and dep not in RESEARCH_DEPS],
    }


def render_graph() -> str:
    """Return the text of dvc.yaml of a project of one's own, for the installed version."""
    stages = {name: make_project_stage(name, stage) for name, stage in read_packaged_stages().items()}
    text = yaml.safe_dump({"stages": stages}, sort_keys=False, width=160, allow_unicode=True)
    return GRAPH_HEADER.format(version=importlib.metadata.version(PACKAGE_NAME)) + text


def get_installed_version() -> CodeVersion:
    """Return the version and the fingerprints of the installed code."""
    code = {
        name: compute_fingerprint([dep for dep in stage["deps"] if not _is_data(dep)])
        for name, stage in read_packaged_stages().items()
    }
    graph = hashlib.sha256(render_graph().encode()).hexdigest()
    return CodeVersion(version=importlib.metadata.version(PACKAGE_NAME), graph=graph, code=code)


def render_version(version: CodeVersion) -> str:
    """Return the text of `rgqa-version.yaml`. All values are quoted, because some fingerprints look like numbers."""
    lines = [f'version: "{version.version}"', f'graph: "{version.graph}"', "code:"]
    lines += [f'  {stage}: "{fingerprint}"' for stage, fingerprint in version.code.items()]
    return VERSION_HEADER + "\n".join(lines) + "\n"


def read_version(root: Path = Path()) -> CodeVersion:
    """Return the version of the code that a project of one's own uses.

    Raises:
        UserError: The file is missing or damaged.
    """
    path = root / VERSION_FILE
    try:
        return msgspec.convert(parse_yaml(path.read_text(encoding="utf-8"), path), CodeVersion)
    except (OSError, UnicodeDecodeError, UserError, msgspec.ValidationError) as error:
        raise UserError(f"{path}: missing or damaged. Run: rgqa upgrade, which writes it again") from error


def find_version_conflict(root: Path = Path()) -> str:
    """Return what to say if a project of one's own uses other code than is installed; "" if it does not.

    Raises:
        UserError: `rgqa-version.yaml` is damaged.
    """
    if not is_own_project(root):
        return ""
    used, installed = read_version(root), get_installed_version()
    if used == installed:
        return ""
    advice = "Run: rgqa upgrade, which says what will run again"
    if used.version != installed.version:
        return f"this project uses {PACKAGE_NAME} {used.version}, but {installed.version} is installed. {advice}. To stay, install {used.version}"
    changed = find_changed_code(used, installed)
    what = f" of {join_examples(changed)}" if changed else ""
    return f"the installed code{what} is not the code that this project uses, although both are {PACKAGE_NAME} {used.version}. {advice}"


def find_changed_code(used: CodeVersion, installed: CodeVersion) -> list[str]:
    """Return the stages whose code differs, or that the project does not have yet, in the order in which they run."""
    return [stage for stage, found in installed.code.items() if used.code.get(stage) != found]


@cache
def _fingerprint_path(dep: str) -> str:
    """Return the SHA-256 of the names and contents of the files in a package, or of one file."""
    path = CODE_ROOT / dep
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    total = hashlib.sha256()
    for file in files:
        if file.is_file() and "__pycache__" not in file.parts and file.suffix != ".pyc":
            name = file.relative_to(CODE_ROOT).as_posix()
            total.update(f"{name}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()


def compute_fingerprint(deps: list[str]) -> str:
    """Return a fingerprint of code.

    Args:
        deps: Packages and files, relative to `CODE_ROOT`, as dvc.yaml of the clone lists them.
    """
    texts = "".join(f"{dep}\0{_fingerprint_path(dep)}\n" for dep in sorted(deps))
    return hashlib.sha256(texts.encode()).hexdigest()[:FINGERPRINT_LENGTH]


def _is_data(dep: str) -> bool:
    return dep.startswith("data/")
