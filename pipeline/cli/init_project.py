"""Create a project of one's own, `rgqa init FOLDER`, and bring it to the installed version, `rgqa upgrade`."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from string import Template
from typing import Any

from pipeline.cli.init_dataset import MAX_NAME_LENGTH, RESERVED_NAMES, YAML_NON_STRINGS, create_dataset
from pipeline.core.atomic_files import write_text
from pipeline.core.errors import UserError, format_count, join_examples
from pipeline.core.output_paths import Output, check_output_paths
from pipeline.core.params import PARAMS_FILE, read_params_text
from pipeline.core.project import (
    PACKAGE_NAME,
    STAGE_RUNNER,
    VERSION_FILE,
    CodeVersion,
    find_changed_code,
    get_installed_version,
    is_own_project,
    is_project,
    make_project_stage,
    read_packaged_stages,
    read_version,
    render_graph,
    render_version,
)
from pipeline.core.stage_graph import BUILD_GRAPH, read_stages
from pipeline.core.strict_yaml import parse_yaml

# A new project is made in this subfolder of its folder, so that a failure leaves nothing half done.
STAGING_NAME = ".rgqa-init.tmp"
# The data set of a folder whose name has no letters of the alphabet.
DEFAULT_DATASET = "my-images"
README_TEMPLATE = Path(__file__).with_name("project_readme.md")
PROJECT_PARAMS = """\
# The data set to build: the name of a section below and of a folder in data/.
dataset: {name}
# The version of the release that is built next. A published version never changes, so raise it before a new build.
version: "1.0.0"
"""
# DVC works without Git, and in a folder that Git tracks.
DVC_CONFIG = """\
[core]
    no_scm = true
    analytics = false
    check_update = false
"""
DVC_GITIGNORE = "/config.local\n/tmp\n/cache\n"
GITIGNORE = """\
# dvc repro makes these again.
/data/*/interim/
/data/release/
/data/cache/
# Names, accounts and answers of annotators. An annotator may ask you to delete them, which Git cannot do. Back them up otherwise.
/data/label-studio/
/data/*/study/
/data/*/annotations/pulled.json
.secrets/
# Environments of Python.
.venv*/
__pycache__/
"""


def find_target_folder(target: str, working_folder: Path | None) -> Path | None:
    """Return the folder of a new project that the argument of `rgqa init` names; None if it names a data set.

    Args:
        target: The argument: a path with a slash, ".", "..", "~" or a path below it names a folder. A plain name names a data set inside
            of a project, and a folder outside of one.
        working_folder: The folder in which the user called the command, relative to the project, which is the working directory; None outside
            of a project.

    Raises:
        UserError: The path begins with "~" and the name of an unknown user.
    """
    separators = [separator for separator in (os.sep, os.altsep) if separator]
    is_path = target in (".", "..") or target.startswith("~") or any(one in target for one in separators)
    if not is_path and (working_folder is not None or not target):
        return None
    try:
        return (working_folder or Path()) / Path(target).expanduser()
    except RuntimeError as error:
        raise UserError(f"{target}: there is no such user; write the whole path") from error


def make_dataset_name(folder_name: str) -> str:
    """Return a valid name of a data set for the project in a folder.

    Args:
        folder_name: Name of the folder, any text.

    Example:
        >>> make_dataset_name("Vögel 2026"), make_dataset_name("2026"), make_dataset_name("鳥")
        ('vogel-2026', 'my-images-2026', 'my-images')
    """
    plain = unicodedata.normalize("NFKD", folder_name).encode("ascii", "ignore").decode().lower()
    name = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    if not name or not name[0].isalpha() or name in RESERVED_NAMES | YAML_NON_STRINGS:
        name = f"{DEFAULT_DATASET}-{name}".strip("-")
    return name[:MAX_NAME_LENGTH].rstrip("-")


def create_project(
    folder: Path,
    shown: str,
    images: Path | None = None,
    questions: Path | None = None,
    *,
    scene_graphs: Path | None = None,
    without_clip: bool = False,
) -> str:
    """Create a project with one data set in a new or empty folder.

    Args:
        folder: The folder.
        shown: The folder as the user typed it, for messages.
        images: Folder with images to copy into the data set; None if the user puts them there.
        questions: Table of questions about them.
        scene_graphs: Folder of scene graphs of the images; None if there are none.
        without_clip: Whether the data set asks for the subsets that need no CLIP model only.

    Returns:
        A message that says what was done, what to do next and what the release will ask for.

    Raises:
        UserError: The folder cannot become a project, or the images and the table have faults. Nothing is written then.
    """
    place = Path(os.path.realpath(folder))
    _check_folder(place, shown)
    name = make_dataset_name(place.name)
    staging = place / STAGING_NAME
    created = _make_folders(place, staging, shown)
    try:
        _write_project_files(staging, name)
        message = create_dataset(
            name,
            staging,
            images,
            questions,
            scene_graphs=scene_graphs,
            without_clip=without_clip,
            new_project=shown,
        )
        for path in staging.iterdir():
            path.rename(place / path.name)
        staging.rmdir()
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        _remove_empty(created)
        raise
    return message


def _check_folder(place: Path, shown: str) -> None:
    """Check that a folder may become a project.

    Raises:
        UserError: It is not empty, is or lies in a project or a release, or is no folder.
    """
    check_output_paths([Output("FOLDER", place, "folder")])
    if is_project(place):
        raise UserError(
            f"{shown}: is a project already, and nothing was changed. To add a data set, run `rgqa init NAME` in it"
        )
    if above := next(filter(is_project, place.parents), None):
        raise UserError(
            f"{shown}: lies in the project {above}, and a project cannot contain another one. Choose a folder outside of it, or add a data "
            "set: run `rgqa init NAME` in the project"
        )
    try:
        names = sorted(path.name for path in _list(place) if path.name != STAGING_NAME)
    except OSError as error:
        raise UserError(f"{shown}: cannot be read ({error.strerror}); choose another folder") from error
    if names:
        raise UserError(
            f"{shown}: the folder is not empty ({join_examples(names)}), and nothing was changed. Choose a new folder; --images and "
            "--questions copy your files into it"
        )


def _list(place: Path) -> list[Path]:
    return list(place.iterdir()) if place.is_dir() else []


def _make_folders(place: Path, staging: Path, shown: str) -> list[Path]:
    """Create the folder of a project, those above it, and the subfolder in which it is made.

    Args:
        place: The folder of the project.
        staging: The subfolder. What a killed process left there is deleted.
        shown: The folder as the user typed it, for messages.

    Returns:
        The new folders without the subfolder, the deepest first.

    Raises:
        UserError: A folder cannot be created.
    """
    new = [path for path in (place, *place.parents) if not path.exists()]
    try:
        for path in reversed(new):
            path.mkdir()
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir()
    except OSError as error:
        _remove_empty(new)
        raise UserError(
            f"{shown}: no folder can be created there ({error.strerror}); choose another one"
        ) from error
    return new


def _remove_empty(folders: list[Path]) -> None:
    """Delete those of some folders that exist and are empty."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def _write_project_files(root: Path, name: str) -> None:
    """Write the files of a new project, without its data set."""
    readme = Template(README_TEMPLATE.read_text(encoding="utf-8")).substitute(name=name)
    files = {
        PARAMS_FILE: PROJECT_PARAMS.format(name=name),
        BUILD_GRAPH: render_graph(),
        VERSION_FILE: render_version(get_installed_version()),
        Path("README.md"): readme,
        Path(".gitignore"): GITIGNORE,
        Path(".dvc/config"): DVC_CONFIG,
        Path(".dvc/.gitignore"): DVC_GITIGNORE,
    }
    for path, text in files.items():
        write_text(root / path, text)


def upgrade_project(root: Path = Path()) -> str:
    """Let a project of one's own use the installed code: write its dvc.yaml and `rgqa-version.yaml` again.

    Args:
        root: Root of the project.

    Returns:
        A message that says which stages will run again.

    Raises:
        UserError: The folder is no such project, or its dvc.yaml was edited. Nothing is written then.
    """
    path, installed = root / BUILD_GRAPH, get_installed_version()
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if not is_own_project(root) and f"-m {STAGE_RUNNER} " not in text:
        raise UserError(
            "there is nothing to upgrade here: only projects that rgqa init FOLDER made depend on the installed version. In a clone, dvc repro "
            "notices changed code"
            if is_project(root)
            else f"{PARAMS_FILE}: no such file; run this in the folder of a project that rgqa init FOLDER made"
        )
    used = None
    with suppress(UserError):
        used = read_version(root)
    known_graphs = {installed.graph, used.graph if used else ""}
    if text and hashlib.sha256(text.encode()).hexdigest() not in known_graphs:
        raise UserError(
            f"{BUILD_GRAPH}: was edited, and an upgrade would replace it; nothing was changed. Move it away (mv {BUILD_GRAPH} my-{BUILD_GRAPH}), "
            "run rgqa upgrade again, and repeat your changes in the new file if you need them"
        )
    old_stages = read_stages(BUILD_GRAPH, root=root) if text else {}
    stages = {name: make_project_stage(name, stage) for name, stage in read_packaged_stages().items()}
    write_text(path, render_graph())
    write_text(root / VERSION_FILE, render_version(installed))
    return "\n".join(
        [*_describe_upgrade(used, installed, old_stages, stages), *_describe_missing_keys(root, stages)]
    )


def _describe_upgrade(
    used: CodeVersion | None,
    installed: CodeVersion,
    old_stages: Mapping[str, Any],
    stages: Mapping[str, Any],
) -> list[str]:
    """Return the lines of the message after an upgrade.

    Args:
        used: The version that the project used; None if it is not known.
        installed: The version that it uses now.
        old_stages: The stages of its former dvc.yaml; {} if it was missing.
        stages: The stages of its new dvc.yaml.
    """
    if used is None:
        return [
            f"unknown version -> {installed.version}",
            "Next: dvc status lists the stages that will run again",
        ]
    code = find_changed_code(used, installed)
    changed = [name for name in stages if name in code or old_stages.get(name, stages[name]) != stages[name]]
    lines = [f"{used.version} -> {installed.version}"]
    if used.version == installed.version:
        lines = [f"the project uses the installed {PACKAGE_NAME} {installed.version}"]
    if changed:
        lines.append(f"  Will run again: {', '.join(changed)}")
        if later := [name for name in _find_later_stages(changed, stages) if name not in changed]:
            lines.append(f"  And, if the results of these change: {', '.join(later)}")
        lines.append("Next: dvc repro")
    else:
        lines.append("  No stage will run again, because their code is the same.")
    return lines


def _find_later_stages(changed: list[str], stages: Mapping[str, Any]) -> list[str]:
    """Return the stages that read, directly or not, what some stages write, in the order in which they run."""
    written = {out for name in changed for out in stages[name]["outs"]}
    later = []
    for name, stage in stages.items():
        if written.intersection(stage["deps"]):
            later.append(name)
            written.update(stage["outs"])
    return later


def _describe_missing_keys(root: Path, stages: Mapping[str, Any]) -> list[str]:
    """Return what to add to params.yaml, because DVC needs a key for each stage that has parameters."""
    own = [param for stage in stages.values() for param in stage["params"] if isinstance(param, str)]
    watched = {param.partition(".")[2] for param in own if param.startswith("${dataset}.")}
    content = parse_yaml(read_params_text(root / PARAMS_FILE), PARAMS_FILE)
    lines = []
    for name, section in content.items() if isinstance(content, dict) else ():
        if isinstance(section, dict) and (missing := sorted(watched - section.keys())):
            keys = ", ".join(f"`{key}: {{}}`" for key in missing)
            lines.append(
                f"  Add {keys} to `{name}` in {PARAMS_FILE}; DVC needs {format_count(len(missing), 'more key')}"
            )
    return lines
