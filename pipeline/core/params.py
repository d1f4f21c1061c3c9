"""params.yaml: which data set is in use, and each data set's numbers, one section per stage."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar, dataclass_transform, get_args, get_origin

import msgspec

from pipeline.core.atomic_files import opened
from pipeline.core.errors import Problems, UserError
from pipeline.core.strict_yaml import read_yaml

PARAMS_FILE = Path("params.yaml")
T = TypeVar("T", bound="Params")
# What has parameters of its own: the stages, and `rgqa annotate`.
SECTIONS = (
    *("ingest", "vocabulary", "embed", "rank", "tag", "perturb", "screen", "estimate", "similarity"),
    *("batch", "annotate", "collect", "balance", "audit", "release"),
    *("paper", "comparison", "answer", "leaderboard"),
)
# Every number has a lower and an upper bound, so that a mistake is reported when the file is read, not after hours.
MOST = 1_000_000_000
Seed = Annotated[int, msgspec.Meta(ge=0, lt=2**32)]  # what NumPy and scikit-learn take
Count = Annotated[int, msgspec.Meta(ge=1, le=MOST)]
CountOrNone = Annotated[int, msgspec.Meta(ge=0, le=MOST)]  # 0 often means: no limit
FoldCount = Annotated[int, msgspec.Meta(ge=2, le=100)]
Repetitions = Annotated[int, msgspec.Meta(ge=50, le=100_000)]  # of a bootstrap


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of every stage's parameters. Each number's type has its range: `Seed`, `Count`, `Annotated[float, msgspec.Meta(ge=0, le=1)]`.

    Attributes:
        removed: names of parameters that earlier versions had, each with what to do about it.
    """

    removed: ClassVar[Mapping[str, str]] = {}


def dataset(path: Path = PARAMS_FILE) -> str:
    """Name of the data set in use: the key `dataset` of params.yaml."""
    return document(path)["dataset"]


def section(path: Path = PARAMS_FILE) -> dict[str, Any]:
    """All parameters of the data set in use, as written: for the record that a release keeps."""
    content = document(path)
    return content[content["dataset"]]


def load(stage: str, kind: type[T], path: Path = PARAMS_FILE) -> T:
    """Parameters of a stage for the data set in use.

    Raises:
        UserError: lists every parameter that is missing, misspelt, of the wrong type or out of range.
    """
    values, where = section(path).get(stage), f"{path}, {dataset(path)}.{stage}"
    if values is None:
        raise UserError(f"{where}: the section is missing")
    return convert(values, kind, where)


def convert(section: Any, kind: type[T], where: str) -> T:
    """Check a mapping against a parameter type field by field, so that all faults are told at once."""
    if not isinstance(section, dict):
        raise UserError(f"{where}: expected a mapping of parameters, got {section!r}")
    problems, values = Problems(where), {}
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    for name in [name for name in section if name not in fields]:
        known = f"no such parameter; known are {', '.join(sorted(fields))}"
        problems.add(str(name), kind.removed.get(str(name), known))
    for name, field in fields.items():
        try:
            values[field.name] = msgspec.convert(section[name], field.type)
        except KeyError:
            if field.required:
                problems.add(name, "missing")
        except msgspec.ValidationError as error:
            choices = ", ".join(map(json.dumps, _choices(field.type)))
            named = f"; choose from {choices}" if choices else ""
            problems.add(name, f"{error} (got {section[name]!r}){named}")
    problems.raise_if_any()
    return kind(**values)


def _choices(kind: Any) -> list[Any]:
    """The values that a type with a Literal names, alone, in a union or in a list; none of any other type."""
    if get_origin(kind) is Literal:
        return list(get_args(kind))
    parts = [value for part in get_args(kind) for value in _choices(part)]
    return [True, False, *parts] if parts and bool in get_args(kind) else parts


def version(path: Path = PARAMS_FILE) -> str:
    """Version of the release that is being built: the key `version` of params.yaml, like "1.0.0"."""
    return _version(path, document(path).get("version"))


def _version(path: Path, value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"\d+\.\d+\.\d+(-[a-z0-9.]+)?", value):
        raise UserError(f'{path}: expected a key `version` like "1.0.0", in quotes, got {value!r}')
    return value


def document(path: Path = PARAMS_FILE) -> dict[str, Any]:
    """All of params.yaml.

    Raises:
        UserError: it is missing, no valid YAML or read differently by DVC, has no section for the data set in use, or a
            version that no release can have, or keys that nothing reads.
    """
    content = read_yaml(text_of(path), path)
    if not isinstance(content, dict) or not isinstance(content.get("dataset"), str):
        raise UserError(f"{path}: expected a key `dataset` that names the data set in use")
    name = content["dataset"]
    if not isinstance(content.get(name), dict):
        known = sorted(key for key, value in content.items() if isinstance(value, dict))
        raise UserError(
            f"{path}: dataset is {name!r}, but there is no section of that name; there are {', '.join(known)}"
        )
    if "version" in content:  # reported by the first stage, not after hours by the release
        _version(path, content["version"])
    _refuse_unknown_keys(content, path)
    return content


def _refuse_unknown_keys(content: dict[str, Any], path: Path) -> None:
    """Refuse keys that are typing errors: names of data sets without a folder, and of stages that do not exist.

    A data set that is not in use may lack its folder, as `gqa` does after a clone.

    Raises:
        UserError: lists all such keys, each with the key that was probably meant.
    """
    problems, used = Problems(str(path)), content["dataset"]
    folders = {
        folder.name for folder in (path.parent / "data").glob("*/") if folder.name not in ("release", "cache")
    }
    known = ["dataset", "version", used, *sorted(folders)]
    for name, value in content.items():
        if name in known:
            continue
        if meant := get_close_matches(str(name), known, 1, 0.75):
            problems.add(
                str(name), f"no data set is in data/{name}, and it is not in use; is {meant[0]} meant?"
            )
        elif not isinstance(value, dict):
            problems.add(str(name), "no such key; wanted are dataset, version and a section of each data set")
    for name in content[used]:
        if name not in SECTIONS:
            meant = get_close_matches(str(name), SECTIONS, 1)
            hint = f"is {meant[0]} meant?" if meant else f"known are {', '.join(SECTIONS)}"
            problems.add(f"{used}.{name}", f"no stage has this name; {hint}")
    problems.raise_if_any()


def text_of(path: Path) -> str:
    """The text of params.yaml, or of a file like it.

    Raises:
        UserError: it is missing, or not UTF-8.
    """
    if not path.exists():
        raise UserError(f"{path}: no such file; run this from the project's root")
    with opened(path) as file:
        data = file.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 ({error}); save it as UTF-8") from error
