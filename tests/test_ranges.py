"""Every number that a user can set has a lower and an upper bound, so that no number causes a traceback or an endless run."""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec.inspect import FloatType, IntType, Type, type_info
from typer.main import get_command

from pipeline.cli.main import app
from pipeline.core.errors import UserError
from pipeline.core.params import Params
from pipeline.inference import argument_parser
from pipeline.scoring import cli_options
from tests.closure import PACKAGES, ROOT, modules


def subclasses(kind: type) -> set[type]:
    """Return all direct and indirect subclasses of a class."""
    return {one for child in kind.__subclasses__() for one in (child, *subclasses(child))}


def every_params() -> list[type]:
    """Return all classes of parameters, after importing every module that defines one."""
    for path in (path for package in PACKAGES for path in modules(Path(package))):
        if re.search(r"^class \w+\((Params|QualityRules)\)", (ROOT / path).read_text(), re.MULTILINE):
            importlib.import_module(".".join(path.with_suffix("").parts))
    found = [kind for kind in subclasses(Params) if kind.__module__.split(".")[0] in PACKAGES]
    return sorted(found, key=lambda kind: kind.__name__)


def numbers(kind: Type) -> Iterator[IntType | FloatType]:
    """Yield the numeric types in a type."""
    if isinstance(kind, IntType | FloatType):
        yield kind
    for name in ("types", "item_types"):
        for part in getattr(kind, name, None) or ():
            yield from numbers(part)
    for name in ("item_type", "key_type", "value_type"):
        if isinstance(part := getattr(kind, name, None), Type):
            yield from numbers(part)


def test_every_number_of_the_parameters_has_a_range():
    kinds = every_params()
    assert len(kinds) >= 15 and {"RankParams", "CollectParams"} <= {kind.__name__ for kind in kinds}
    unbounded = [
        f"{kind.__name__}.{field.name}"
        for kind in kinds
        for field in msgspec.structs.fields(kind)
        for one in numbers(type_info(field.type))
        if (one.ge is None and one.gt is None) or (one.le is None and one.lt is None)
    ]
    assert unbounded == []


def commands(command, path=("rgqa",)):
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))
    if not hasattr(command, "commands"):
        yield " ".join(path), command


def test_every_numeric_option_of_the_command_line_has_a_range():
    unbounded, seen = [], 0
    for path, command in commands(get_command(app)):
        for parameter in command.params:
            kind = getattr(getattr(parameter, "type_descriptor", None), "annotation", str)
            if any(one in (kind, *getattr(kind, "__args__", ())) for one in (int, float)):
                seen += 1
                unbounded += [f"{path} {parameter.name}"] * (parameter.min is None or parameter.max is None)
    assert seen > 20 and unbounded == []


def numeric(parser) -> list[str]:
    return [action.dest for action in parser._actions if action.type in (int, float)]


@pytest.mark.parametrize("value", [-(10**30), 10**30])
def test_every_number_of_rgqa_run_is_checked(value):
    parser = argument_parser.make_parser("rgqa run")
    names = numeric(parser)
    assert len(names) > 6
    for name in names:
        option = f"--{name.replace('_', '-')}"
        with pytest.raises(UserError, match=f"{option} is"):
            argument_parser.parse_options(parser.parse_args(["x", "--model", "m", f"{option}={value}"]))


def test_every_number_of_rgqa_score_is_checked():
    for name in numeric(cli_options.build_parser()):
        wanted, is_right = cli_options.VALUE_CHECKS[name]
        many = name in ("risks", "costs")
        assert wanted and not is_right([float("nan")] if many else float("nan")), name
        # A threshold can be any number, because confidences have no unit.
        if name != "threshold":
            assert not any(is_right([value] if many else value) for value in (-(10**30), 10**30)), name
