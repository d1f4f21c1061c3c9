"""Read params.yaml: the data set in use, and the parameters of each data set, one section per stage."""

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
# Sections of a data set: one for each stage, and one for `rgqa annotate`.
SECTION_NAMES = (
    *("ingest", "vocabulary", "embed", "rank", "tag", "perturb", "screen", "estimate", "similarity"),
    *("batch", "annotate", "collect", "balance", "audit", "release"),
    *("paper", "comparison", "answer", "leaderboard"),
)
# Every number has a lower and an upper bound, so that a mistake is reported when the file is read and not
# after hours.
MAX_COUNT = 1_000_000_000
# The range of seeds in NumPy and scikit-learn.
Seed = Annotated[int, msgspec.Meta(ge=0, lt=2**32)]
Count = Annotated[int, msgspec.Meta(ge=1, le=MAX_COUNT)]
# 0 usually means no limit.
CountOrUnlimited = Annotated[int, msgspec.Meta(ge=0, le=MAX_COUNT)]
# A size that follows from the amount of data. A number overrides it.
AutoCount = Count | Literal["auto"]
AutoCountOrNone = CountOrUnlimited | Literal["auto"]
FoldCount = Annotated[int, msgspec.Meta(ge=2, le=100)]
BootstrapReplicates = Annotated[int, msgspec.Meta(ge=50, le=100_000)]


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base class of the parameters of a stage.

    The type of each number states the valid range: `Seed`, `Count`, `Annotated[float, msgspec.Meta(ge=0,
    le=1)]`.

    Attributes:
        removed_parameters: Name of a parameter that only earlier versions had -> message that says what to
            do. Renamed parameters are in `renames.RENAMED_PARAMETERS`.
    """

    removed_parameters: ClassVar[Mapping[str, str]] = {}


def read_dataset_name(path: Path = PARAMS_FILE) -> str:
    """Return the name of the data set in use (key `dataset` of params.yaml)."""
    return read_params_file(path)["dataset"]


def read_dataset_params(path: Path = PARAMS_FILE) -> dict[str, Any]:
    """Return all parameters of the data set in use as they are written in the file.

    A release records these values.
    """
    content = read_params_file(path)
    return content[content["dataset"]]


def load_params(stage: str, kind: type[T], path: Path = PARAMS_FILE) -> T:
    """Return the parameters of a stage for the data set in use.

    Args:
        stage: Name of the section. An empty section means all defaults.
        kind: Type of the parameters.
        path: params.yaml.

    Raises:
        UserError: The section is missing, or lists every parameter that is missing, unknown, renamed, of the wrong type or out of
            range.
    """
    sections, where = read_dataset_params(path), f"{path}, {read_dataset_name(path)}.{stage}"
    if stage not in sections:
        # DVC needs the key, too.
        raise UserError(f"{where}: the section is missing; write `{stage}: {{}}` for the defaults")
    values = sections[stage]
    return convert_params({} if values is None else values, kind, where)


def convert_params(section: Any, kind: type[T], where: str) -> T:
    """Convert a section of params.yaml to its type, field by field, so that all problems are reported
    together.

    Args:
        section: The section as read from YAML.
        kind: Type of the parameters.
        where: File and section, for messages.

    Raises:
        UserError: Lists every parameter that is missing, unknown, renamed, of the wrong type or out of range.

    Example:
        >>> class RankParams(Params):
        ...     validation_proportion: float
        >>> convert_params({"dev_share": 0.2}, RankParams, "params.yaml, sample.rank")
        Traceback (most recent call last):
        ...
        pipeline.core.errors.UserError: params.yaml, sample.rank: 1 problem
        dev_share: this parameter is now validation_proportion; rename it
    """
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
            known = f"no such parameter; the parameters are {', '.join(sorted(fields))}"
            problems.add(name, kind.removed_parameters.get(name, known))
    for name, field in fields.items():
        try:
            values[field.name] = msgspec.convert(section[name], field.type)
        except KeyError:
            if field.required and name not in renamed:
                problems.add(name, "missing")
        except msgspec.ValidationError as error:
            choices = ", ".join(map(json.dumps, _literal_values(field.type)))
            verb = "choose a number or" if _takes_numbers(field.type) else "choose from"
            hint = f"; {verb} {choices}" if choices else ""
            problems.add(name, f"{error} (got {section[name]!r}){hint}")
    problems.raise_if_any()
    return kind(**values)


def _literal_values(kind: Any) -> list[Any]:
    """Return the values of all `Literal` types inside a type, for example inside a union or a list; [] if
    there are none.

    True and False are added if the type also accepts booleans.
    """
    if get_origin(kind) is Literal:
        return list(get_args(kind))
    values = [value for inner in get_args(kind) for value in _literal_values(inner)]
    return [True, False, *values] if values and bool in get_args(kind) else values


def _takes_numbers(kind: Any) -> bool:
    """Report whether a type is a number, or a union with a number such as `AutoCount`."""
    return kind in (int, float) or any(map(_takes_numbers, get_args(kind)))


def read_release_version(path: Path = PARAMS_FILE) -> str:
    """Return the version of the release that is being built (key `version` of params.yaml), for example
    "1.0.0".
    """
    return _check_version(path, read_params_file(path).get("version"))


def _check_version(path: Path, value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"\d+\.\d+\.\d+(-[a-z0-9.]+)?", value):
        raise UserError(f'{path}: expected a key `version` like "1.0.0", in quotes, got {value!r}')
    return value


def read_params_file(path: Path = PARAMS_FILE) -> dict[str, Any]:
    """Return the content of params.yaml.

    Raises:
        UserError: The file is missing, is not valid YAML, has values that DVC would read differently, has no
            section for the data set in use, has an invalid version, or has unknown keys.
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
    # The version is checked here, so that the first stage reports a wrong version and not the last stage
    # after hours.
    if "version" in content:
        _check_version(path, content["version"])
    _refuse_unknown_keys(content, path)
    return content


def _refuse_unknown_keys(content: dict[str, Any], path: Path) -> None:
    """Refuse keys that are probably typing errors.

    These are names of data sets without a folder that resemble a known key, other unknown keys whose value is
    not a section, and sections of stages that do not exist. A section for a data set that is not in use may
    have no folder, such as `gqa` after a clone.

    Raises:
        UserError: Lists these keys, each with the key that was probably meant.
    """
    problems, dataset = Problems(str(path)), content["dataset"]
    folders = {
        folder.name for folder in (path.parent / "data").glob("*/") if folder.name not in ("release", "cache")
    }
    known = ["dataset", "version", dataset, *sorted(folders)]
    for name, value in content.items():
        if name in known:
            continue
        if meant := get_close_matches(str(name), known, 1, 0.75):
            problems.add(
                str(name),
                f"there is no folder data/{name}, and this data set is not in use; did you mean {meant[0]}?",
            )
        elif not isinstance(value, dict):
            problems.add(
                str(name), "no such key; the keys are dataset, version and the name of each data set"
            )
    for name in content[dataset]:
        if name not in SECTION_NAMES:
            meant = get_close_matches(str(name), SECTION_NAMES, 1)
            hint = f"did you mean {meant[0]}?" if meant else f"the sections are {', '.join(SECTION_NAMES)}"
            problems.add(f"{dataset}.{name}", f"no stage has this name; {hint}")
    problems.raise_if_any()


def read_params_text(path: Path) -> str:
    """Return the text of params.yaml or a similar file.

    Raises:
        UserError: The file is missing or not UTF-8.
    """
    if not path.exists():
        raise UserError(
            f"{path}: no such file; run this in the folder of a project, or make one with rgqa init FOLDER"
        )
    with open_for_reading(path) as file:
        data = file.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 ({error}); save it as UTF-8") from error
