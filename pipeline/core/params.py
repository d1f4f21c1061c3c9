"""params.yaml: which data set is in use, and each data set's numbers, one section per stage."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar, dataclass_transform, get_args, get_origin

import msgspec

from pipeline.core.atomic_files import open_for_reading
from pipeline.core.errors import Problems, UserError
from pipeline.core.renames import find_renamed_parameter
from pipeline.core.strict_yaml import parse_yaml

PARAMS_FILE = Path("params.yaml")
T = TypeVar("T", bound="Params")
# What has parameters of its own: the stages, and `rgqa annotate`.
SECTION_NAMES = (
    *("ingest", "vocabulary", "embed", "rank", "tag", "perturb", "screen", "estimate", "similarity"),
    *("batch", "annotate", "collect", "balance", "audit", "release"),
    *("paper", "comparison", "answer", "leaderboard"),
)
# Every number has a lower and an upper bound, so that a mistake is reported when the file is read, not after hours.
MAX_COUNT = 1_000_000_000
Seed = Annotated[int, msgspec.Meta(ge=0, lt=2**32)]  # what NumPy and scikit-learn take
Count = Annotated[int, msgspec.Meta(ge=1, le=MAX_COUNT)]
CountOrUnlimited = Annotated[int, msgspec.Meta(ge=0, le=MAX_COUNT)]  # 0 often means: no limit
FoldCount = Annotated[int, msgspec.Meta(ge=2, le=100)]
BootstrapReplicates = Annotated[int, msgspec.Meta(ge=50, le=100_000)]  # of a bootstrap


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of every stage's parameters. Each number's type has its range: `Seed`, `Count`, `Annotated[float, msgspec.Meta(ge=0, le=1)]`.

    Attributes:
        removed: names of parameters that earlier versions had, each with what to do about it.
    """

    removed_parameters: ClassVar[Mapping[str, str]] = {}


def read_dataset_name(path: Path = PARAMS_FILE) -> str:
    """Name of the data set in use: the key `dataset` of params.yaml."""
    return read_params_file(path)["dataset"]


def read_dataset_params(path: Path = PARAMS_FILE) -> dict[str, Any]:
    """All parameters of the data set in use, as written: for the record that a release keeps."""
    content = read_params_file(path)
    return content[content["dataset"]]


def load_params(stage: str, kind: type[T], path: Path = PARAMS_FILE) -> T:
    """Parameters of a stage for the data set in use.

    Raises:
        UserError: lists every parameter that is missing, misspelt, of the wrong type or out of range.
    """
    values, where = read_dataset_params(path).get(stage), f"{path}, {read_dataset_name(path)}.{stage}"
    if values is None:
        raise UserError(f"{where}: the section is missing")
    return convert_params(values, kind, where)


def convert_params(section: Any, kind: type[T], where: str) -> T:
    """Check a mapping against a parameter type field by field, so that all faults are told at once."""
    if not isinstance(section, dict):
        raise UserError(f"{where}: expected a mapping of parameters, got {section!r}")
    problems, values = Problems(where), {}
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    renamed = set()
    for name in map(str, [name for name in section if name not in fields]):
        if new_name := find_renamed_parameter(name, fields):
            problems.add(name, f"this parameter is now {new_name}; rename it")
            renamed.add(new_name)
        else:
            known = f"no such parameter; known are {', '.join(sorted(fields))}"
            problems.add(name, kind.removed_parameters.get(name, known))
    for name, field in fields.items():
        try:
            values[field.name] = msgspec.convert(section[name], field.type)
        except KeyError:
            if field.required and name not in renamed:
                problems.add(name, "missing")
        except msgspec.ValidationError as error:
            choices = ", ".join(map(json.dumps, _literal_values(field.type)))
            named = f"; choose from {choices}" if choices else ""
            problems.add(name, f"{error} (got {section[name]!r}){named}")
    problems.raise_if_any()
    return kind(**values)


def _literal_values(kind: Any) -> list[Any]:
    """The values that a type with a Literal names, alone, in a union or in a list; none of any other type."""
    if get_origin(kind) is Literal:
        return list(get_args(kind))
    parts = [value for part in get_args(kind) for value in _literal_values(part)]
    return [True, False, *parts] if parts and bool in get_args(kind) else parts


def read_release_version(path: Path = PARAMS_FILE) -> str:
    """Version of the release that is being built: the key `version` of params.yaml, like "1.0.0"."""
    return _check_version(path, read_params_file(path).get("version"))


def _check_version(path: Path, value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"\d+\.\d+\.\d+(-[a-z0-9.]+)?", value):
        raise UserError(f'{path}: expected a key `version` like "1.0.0", in quotes, got {value!r}')
    return value


def read_params_file(path: Path = PARAMS_FILE) -> dict[str, Any]:
    """All of params.yaml.

    Raises:
        UserError: it is missing, no valid YAML or read differently by DVC, has no section for the data set in use, or a
            version that no release can have, or keys that nothing reads.
    """
    content = parse_yaml(read_params_text(path), path)
    if not isinstance(content, dict) or not isinstance(content.get("dataset"), str):
        raise UserError(f"{path}: expected a key `dataset` that names the data set in use")
    name = content["dataset"]
    if not isinstance(content.get(name), dict):
        known = sorted(key for key, value in content.items() if isinstance(value, dict))
        raise UserError(
            f"{path}: dataset is {name!r}, but there is no section of that name; there are {', '.join(known)}"
        )
    if "version" in content:  # reported by the first stage, not after hours by the release
        _check_version(path, content["version"])
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
        if name not in SECTION_NAMES:
            meant = get_close_matches(str(name), SECTION_NAMES, 1)
            hint = f"is {meant[0]} meant?" if meant else f"known are {', '.join(SECTION_NAMES)}"
            problems.add(f"{used}.{name}", f"no stage has this name; {hint}")
    problems.raise_if_any()


def read_params_text(path: Path) -> str:
    """The text of params.yaml, or of a file like it.

    Raises:
        UserError: it is missing, or not UTF-8.
    """
    if not path.exists():
        raise UserError(f"{path}: no such file; run this from the project's root")
    with open_for_reading(path) as file:
        data = file.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 ({error}); save it as UTF-8") from error
