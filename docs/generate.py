"""Write what documents take from the code: the pages of commands and parameters, and the tables of stages, files and packages.

    python -m docs.generate            write them
    python -m docs.generate --check    fail if one of them differs from the code

A document marks the place of a table with `<!-- table: stages -->` before it and `<!-- end -->` after it.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import click
import msgspec
import typer
import yaml

from pipeline.cli.main import app
from pipeline.core.params import Params
from pipeline.core.stage_graph import read_stages, stage_module
from pipeline.inference.argument_parser import make_parser
from pipeline.public_sets.author_scores import MAIN_SCORES
from pipeline.public_sets.registry import KNOWN_SETS
from pipeline.scoring.cli_options import build_parser
from tests.closure import ROOT, module_of

REFERENCE = ROOT / "docs" / "reference"
GENERATED = "<!-- Made by python -m docs.generate; do not edit. -->\n"
# Commands whose options are those of the wheel's commands.
ARGPARSE_COMMANDS = {
    "score": partial(build_parser, "rgqa score"),
    "run": partial(make_parser, "rgqa run", with_plots=True, with_public_sets=True),
}
# The value of parameters that follow from the data.
AUTO = Literal["auto"]
# The section of the parameters that belongs to no stage.
ANNOTATE = "annotation.study.assignment_params.AnnotateParams"


def clean(text: str) -> str:
    """Return a text for one cell of a table."""
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()


def commands_page() -> str:
    """Return the page of all commands, with their arguments and options."""
    lines = [
        GENERATED,
        "# Commands\n",
        "`rgqa --help` and `rgqa COMMAND --help` print the same. The wheel in the folder `scorers/` of a release installs two",
        "stand-alone commands, `rgqa-score` and `rgqa-run`. They work like `rgqa score` and `rgqa run`, and need NumPy only.\n",
    ]
    for name, command in every_command(typer.main.get_command(app), "rgqa"):
        lines += [f"## {name}\n", *describe(name, command), ""]
    return "\n".join(lines).rstrip() + "\n"


def every_command(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """Yield all commands below a group, with their full names."""
    if isinstance(command, click.Group) or hasattr(command, "commands"):
        for child, sub in getattr(command, "commands", {}).items():
            yield from every_command(sub, f"{name} {child}")
    else:
        yield name, command


def describe(name: str, command: click.Command) -> Iterator[str]:
    """Yield the lines on one command: what it does, its arguments, its options, an example."""
    yield inspect.cleandoc(command.help or "") + "\n"
    short = name.removeprefix("rgqa ")
    if short in ARGPARSE_COMMANDS:
        yield from describe_parser(ARGPARSE_COMMANDS[short]())
        return
    rows = []
    for parameter in command.params:
        if parameter.name == "help":
            continue
        option = parameter.param_type_name == "option"
        shown = (
            ", ".join([*parameter.opts, *parameter.secondary_opts])
            if option
            else (parameter.metavar or str(parameter.name).upper())
        )
        help_text = getattr(parameter, "help", "") or ""
        rows.append(f"| `{shown}` | {clean(help_text)} | {default_of(parameter)} |")
    if rows:
        yield from ("| option | what it does | default |", "|---|---|---|", *rows, "")
    if command.epilog:
        yield from (f"{clean(paragraph)}\n" for paragraph in command.epilog.split("\n\n"))


def default_of(parameter: click.Parameter) -> str:
    """Return the default of an option as text; "required" for one without."""
    value = parameter.default
    if parameter.required:
        return "required"
    if value is None or value in ((), "") or callable(value):
        return "-"
    return f"`{value}`" if not isinstance(value, bool) else ("yes" if value else "no")


def describe_parser(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the options of a command that argparse reads, by group."""
    for group in parser._action_groups:
        rows = [
            f"| `{', '.join(action.option_strings) or action.metavar or action.dest}` | "
            f"{clean((action.help or '').replace('%%', '%'))} |"
            for action in group._group_actions
            if action.dest not in ("help", "version")
        ]
        if rows:
            title = {"positional arguments": "arguments", "options": "options"}.get(
                group.title or "", group.title or ""
            )
            yield from (f"**{title}**\n", "| option | what it does |", "|---|---|", *rows, "")
    if parser.epilog:
        yield from ("```text", parser.epilog.rstrip(), "```\n")


def params_types() -> dict[str, type[Params]]:
    """Return the class of each section of a data set in params.yaml, in the order of the stages."""
    found: dict[str, type[Params]] = {}
    for stage in read_stages(root=ROOT):
        module = importlib.import_module(stage_module(stage, ROOT))
        if kind := getattr(module, f"{stage.capitalize()}Params", None):
            found[stage] = kind
        if stage == "batch":
            name, _, kind_name = ANNOTATE.rpartition(".")
            found["annotate"] = getattr(importlib.import_module(name), kind_name)
    return found


def meanings(kind: type[Params]) -> dict[str, str]:
    """Return the meaning of each parameter, from the section `Attributes:` of the class's docstring."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):  # the parameters of a base class are described there
        for line in (
            inspect.cleandoc(base.__dict__.get("__doc__") or "").partition("Attributes:\n")[2].splitlines()
        ):
            if start := re.match(r" {4}(\w+): (.*)", line):
                found[start[1]] = start[2]
            elif line.strip() and found:
                found[list(found)[-1]] += f" {line.strip()}"
    return found


def parameters_page() -> str:
    """Return the page of all parameters: meaning, values, default, and what the sample and GQA use."""
    given = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    lines = [
        GENERATED,
        "# Parameters\n",
        "Each data set has a section in `params.yaml`, with one section for each stage that has parameters, and a section `annotate` for the",
        "human study. The key `dataset` at the top of the file names the data set in use, and `version` the version of the next release. `rgqa init NAME` adds a",
        "section. After a change, `dvc repro` runs the stages that the change affects. Unknown keys and values out of range are errors.\n",
    ]
    for section, kind in params_types().items():
        texts = meanings(kind)
        fields = msgspec.structs.fields(kind)
        missing = [field.name for field in fields if field.name not in texts]
        assert not missing, f"{kind.__name__}: no meaning of {', '.join(missing)} in its docstring"
        lines += [
            f"## {section}\n",
            "| key | meaning | values | default | sample | GQA |",
            "|---|---|---|---|---|---|",
        ]
        for field in fields:
            default = field.default
            if default is msgspec.NODEFAULT:
                default = (
                    field.default_factory() if field.default_factory is not msgspec.NODEFAULT else "required"
                )
            used = [shown(given[name].get(section, {}).get(field.name, "")) for name in ("sample", "gqa")]
            lines.append(
                f"| `{field.name}` | {clean(texts[field.name])} | {clean(values_of(field.type))} | {shown(default)} | {' | '.join(used)} |"
            )
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def shown(value: Any) -> str:
    """Return a value as YAML writes it; a long text is cut, and nothing stands for the default."""
    if value in ("", "required"):
        return value or ""
    if value is None:
        return "-"
    if isinstance(value, (list, tuple)):
        value = list(value)
    text = clean(yaml.safe_dump(value, default_flow_style=True, width=10_000).replace("\n...", ""))
    return f"`{text}`" if len(text) <= 40 else "(text)" if isinstance(value, str | list) else f"`{text}`"


def values_of(kind: Any) -> str:
    """Return which values a type takes, in words.

    >>> from typing import Annotated, Literal
    >>> values_of(Annotated[int, msgspec.Meta(ge=0, lt=10)]), values_of(Literal["a", "b"]), values_of(bool)
    ('integer, 0 to 9', '`a`, `b`', 'true or false')
    >>> values_of(Annotated[int, msgspec.Meta(ge=1, le=9)] | Literal["auto"])
    'integer, 1 to 9, or `auto`'
    """
    choices = get_args(kind) if get_origin(kind) in (Union, UnionType) else ()
    if AUTO in choices:
        return ", ".join(values_of(choice) for choice in choices if choice != AUTO) + ", or `auto`"
    meta = next((item for item in getattr(kind, "__metadata__", ()) if isinstance(item, msgspec.Meta)), None)
    base = get_args(kind)[0] if meta else kind
    if base is bool:
        return "true or false"
    if base in (int, float) and meta:
        word = "integer" if base is int else "number"
        low = meta.ge if meta.ge is not None else meta.gt
        high = (
            meta.le
            if meta.le is not None
            else (meta.lt - 1 if base is int and meta.lt is not None else meta.lt)
        )
        open_ends = [f"above {low:g}"] * (meta.gt is not None) + [f"below {high:g}"] * (
            meta.lt is not None and base is float
        )
        span = f"{low:,g} to {high:,g}" if base is float else f"{low:,} to {high:,}"
        return (
            f"{word}, {' and '.join(open_ends)}"
            if len(open_ends) == 2
            else f"{word}, {span}" + (f" ({open_ends[0]})" if open_ends else "")
        )
    if base is str:
        return "text"
    origin = getattr(base, "__origin__", None)
    text = str(base)
    if "Literal" in text and origin not in (tuple, dict, list):
        words = [word for word in re.findall(r"'([^']*)'", text) if word]
        return ", ".join(f"`{word}`" for word in words) + (", true, false" if "bool" in text else "")
    if origin is tuple:
        inner = get_args(base)[0]
        return f"list of {values_of(inner)}" if "date" not in text else "two dates"
    if origin is dict:
        return f"by {values_of(get_args(base)[0])}: {values_of(get_args(base)[1])}"
    if "date" in text:
        return "date"
    if "dict" in text:
        return "text by name"
    return "see text"


STAGES = read_stages(root=ROOT)
PLACE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
DOCUMENTS = sorted((ROOT / "docs").rglob("*.md"))


def reads(stage: str) -> list[str]:
    """The stages whose folders a stage reads."""
    deps = STAGES[stage]["deps"]
    interim = [dep.split("/")[3] for dep in deps if dep.startswith("data/${dataset}/interim/")]
    return interim + ["release" for dep in deps if dep.startswith("data/release/")]


def folders_read(stage: str) -> list[str]:
    """The folders of the data set, beside those of stages, that a stage reads."""
    home = "data/${dataset}/"
    own = [dep.removeprefix(home) for dep in STAGES[stage]["deps"] if dep.startswith(home)]
    return [f"`{folder}/`" for folder in own if not folder.startswith("interim/")]


def run_after(stage: str) -> list[str]:
    """The stages that run again when this one writes something new, in the order in which they run."""
    later: list[str] = []
    for name in STAGES:
        if {stage, *later} & set(reads(name)):
            later.append(name)
    return later


def stages(above: str) -> str:
    rows = [
        f"| `{name}` | {stage['desc']} | {', '.join(reads(name) + folders_read(name))} "
        f"| {', '.join(run_after(name)) or '-'} |"
        for name, stage in STAGES.items()
    ]
    return "\n".join(["| stage | what it does | reads | then run again |", "|---|---|---|---|", *rows])


def interim(above: str) -> str:
    """What each stage writes, from the part of its docstring that begins with "Writes"."""
    rows = [
        f"| `{stage}` | {', '.join(f'`{name}`' for name in names)} | {what} |"
        for stage in STAGES
        for names, what in written_by(stage)
        if stage != "release"
    ]
    return "\n".join(["| stage | file | what |", "|---|---|---|", *rows])


def written_by(stage: str) -> list[tuple[list[str], str]]:
    """Files and what they are: `Writes  items.jsonl   the UQs` and the lines below it, further lines indented deeper."""
    docstring = ast.get_docstring(ast.parse((ROOT / module_of(stage)).read_text())) or ""
    lines = docstring.partition("\nWrites")[2].split("\n\n")[0].splitlines()
    files: list[tuple[list[str], str]] = []
    for line in lines:
        if row := re.fullmatch(r" {2,8}(\S+\.\w+(?:, \S+\.\w+)*) {2,}(.+)", line):
            files.append((row[1].split(", "), row[2]))
        elif line.startswith("          "):
            names, what = files.pop()
            files.append((names, f"{what} {line.strip()}"))
    return files


def packages(above: str) -> str:
    """The packages of the project, with the first sentence of their docstrings."""
    rows = [f"| `{name}` | {purpose(name)} |" for name in package_names()]
    return "\n".join(["| package | what it is for |", "|---|---|", *rows])


def package_names() -> list[str]:
    """The packages of `pipeline`, `annotation` and `research`, without those inside of them."""
    return [
        path.parent.relative_to(ROOT).as_posix()
        for top in ("pipeline", "annotation", "research")
        for path in sorted((ROOT / top).glob("*/__init__.py"))
    ]


def purpose(package: str) -> str:
    """The first sentence of the package's docstring."""
    docstring = ast.get_docstring(ast.parse((ROOT / package / "__init__.py").read_text())) or ""
    return re.split(r"(?<=\.)\s|\n\n", docstring)[0].replace("\n", " ")


def public_sets(above: str) -> str:
    """The public sets, their files, their main score, and where the layout of their files was read."""
    rows = []
    for known in KNOWN_SETS:
        if known.is_documented:
            source = clean(known.source)
            score = f"`{MAIN_SCORES[known.set_name]}`" if known.set_name in MAIN_SCORES else "-"
            rows.append(f"| {clean(known.name)} | {clean(known.files)} | {score} | {source} |")
    return "\n".join(["| set | files | main score | layout read from |", "|---|---|---|---|", *rows])


TABLES: dict[str, Callable[[str], str]] = {
    "stages": stages,
    "interim": interim,
    "packages": packages,
    "public_sets": public_sets,
}


def with_tables(text: str, path: Path) -> str:
    """A document with its tables as the code has them."""
    above = "../" * (len(path.relative_to(ROOT).parts) - 1)
    return PLACE.sub(lambda place: f"{place[1]}{TABLES[place[2]](above)}\n{place[3]}", text)


PAGES = {"commands.md": commands_page, "parameters.md": parameters_page}


def generated() -> Iterator[tuple[Path, str]]:
    """Yield each document that has something from the code, with its text as the code defines it."""
    pages = {REFERENCE / name: make() for name, make in PAGES.items()}
    yield from pages.items()
    for path in DOCUMENTS:
        if path not in pages:
            yield path, with_tables(path.read_text(encoding="utf-8"), path)


def main(arguments: list[str] | None = None) -> None:
    """Write the documents, or compare them with `--check`."""
    check = "--check" in (sys.argv[1:] if arguments is None else arguments)
    for path, text in generated():
        current = path.read_text(encoding="utf-8") if path.is_file() else ""
        if current != text and check:
            sys.exit(
                f"error: {path.relative_to(ROOT)} is not what the code says; run: python -m docs.generate"
            )
        if current != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
