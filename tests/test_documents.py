"""Links, commands, options, modules and generated tables in the documents are valid."""

import argparse
import re
import shlex

import pytest
import typer
import yaml

from docs.generate import generated
from pipeline.cli.main import app
from pipeline.inference.argument_parser import make_parser
from pipeline.scoring.cli_options import build_parser
from tests.closure import ROOT

DOCUMENTS = sorted(
    path
    for path in ROOT.rglob("*.md")
    if path.name != "CHANGELOG.md"
    and not {".venv", ".venv-label-studio", "build", "interim", "release", ".pytest_cache", "node_modules"}
    & set(path.relative_to(ROOT).parts)
)
assert DOCUMENTS, "no Markdown found"
COMMANDS = typer.main.get_command(app)
# Commands of the wheel.
WHEEL = {"score": build_parser(), "run": make_parser()}
OWN_PACKAGES = ("pipeline", "annotation", "research", "docs", "tests")
CODE = re.compile(r"```[a-z]*\n(.*?)```|`([^`\n]+)`", re.DOTALL)
LINK = re.compile(r"\]\((?!https?://|mailto:)([^)\s]+)\)")


def code_lines(text: str) -> list[str]:
    """Return lines of code blocks (continued lines joined) and code spans, without comments."""
    blocks = [block or inline for block, inline in CODE.findall(text)]
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [re.sub(r"\s#.*", "", line).strip() for line in lines]


def commands(text: str, *names: str) -> list[list[str]]:
    """Return the words of each command line that begins with one of these names (after `VARIABLE=value`)."""
    lines = (re.sub(r"^([A-Z_]+=\S+\s+)+|^\$ ", "", line) for line in code_lines(text))
    return [shlex.split(re.split(r"\s[|>&;]", line)[0]) for line in lines if line.split(" ")[0] in names]


def anchors(text: str) -> set[str]:
    """Return the anchors of headings as GitHub makes them."""
    headings = re.findall(r"^#+ +(.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def options_of(parser: argparse.ArgumentParser) -> set[str]:
    return {option for action in parser._actions for option in action.option_strings}


def fault_of_rgqa(words: list[str]) -> str | None:
    """Return the problem of a command line of `rgqa`, or None."""
    command = COMMANDS
    rest = words[1:]
    while rest and hasattr(command, "commands") and not rest[0].startswith("-"):
        # COMMAND is a placeholder.
        if rest[0].isupper():
            return None
        following = command.commands.get(rest[0])
        if following is None:
            return f"no command {rest[0]!r}"
        command, rest = following, rest[1:]
    # These options are parsed by the wheel's command.
    if command.name in WHEEL:
        known = options_of(WHEEL[command.name])
    else:
        known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
    unknown = [word for word in rest if word.startswith("--") and word.split("=")[0] not in known]
    return f"no option {', '.join(unknown)}" if unknown else None


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_have_targets(path):
    for link in LINK.findall(path.read_text()):
        file, _, anchor = link.partition("#")
        target = path.parent / file if file else path
        assert target.exists(), link
        assert not anchor or anchor in anchors(target.read_text()), link


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_exist_with_their_options(path):
    text = path.read_text()
    assert [(words, fault) for words in commands(text, "rgqa") if (fault := fault_of_rgqa(words))] == []
    for name, parser in WHEEL.items():
        for words in commands(text, f"rgqa-{name}"):
            given = {word.split("=")[0] for word in words if word.startswith("--")}
            assert given <= options_of(parser), words


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_scripts_modules_and_targets_exist(path):
    text = path.read_text()
    makefile = (ROOT / "Makefile").read_text()
    for words in commands(text, "make"):
        for target in words[1:]:
            assert "=" in target or re.search(rf"^{target}:", makefile, re.MULTILINE), words
    for words in commands(text, "python"):
        if words[1:2] == ["-m"] and words[2:]:
            module = ROOT / words[2].replace(".", "/")
            ours = words[2].split(".")[0] in OWN_PACKAGES
            assert not ours or module.with_suffix(".py").is_file() or (module / "__main__.py").is_file(), (
                words
            )
        elif words[1:] and words[1].endswith(".py"):
            assert (ROOT / words[1]).is_file(), words


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_named_files_of_the_code_exist(path):
    named = re.findall(
        rf"`((?:{'|'.join(OWN_PACKAGES)})/[\w./-]+)`",
        path.read_text(),
    )
    assert [name for name in named if not re.search("NAME|REASON", name) and not (ROOT / name).exists()] == []


def test_tables_are_those_of_the_code():
    for path, text in generated():
        assert path.read_text() == text, "run python -m docs.generate"


def test_hooks_run_the_checks_of_make_check():
    """Each command of `make check` is a hook of pre-commit: a hook names neither other folders nor files that are gone."""
    makefile = (ROOT / "Makefile").read_text()
    code = re.search(r"^CODE *= *(.+)$", makefile, re.MULTILINE)[1]
    recipe = re.search(r"^check: setup\n((?:\t.+\n)+)", makefile, re.MULTILINE)[1]
    checks = [
        line.replace("$(CODE)", code).replace("$(BIN)/", "").replace("--pythonpath python", "").split()
        for line in recipe.splitlines()
    ]
    hooks = [
        hook["entry"].replace("--force-exclude", "").split()
        for hook in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    ]
    # pre-commit names the files that ruff checks, and lets it format them.
    assert sorted(hooks) == sorted(
        [word for word in words if words[0] != "ruff" or word not in (".", "--check")] for words in checks
    )


def every_command(command, name):
    if hasattr(command, "commands"):
        for child, sub in command.commands.items():
            yield from every_command(sub, f"{name} {child}")
    else:
        yield name, command


@pytest.mark.parametrize(
    ("name", "command"), list(every_command(COMMANDS, "rgqa")), ids=lambda value: str(value)
)
def test_every_command_has_help_and_a_valid_example(name, command):
    assert command.help
    assert all(parameter.help for parameter in command.params if parameter.param_type_name == "option"), name
    examples = re.findall(r"^Example: `(.*?)`", command.epilog or "", re.MULTILINE)
    assert examples, name
    for example in examples:
        assert example.startswith(name), (name, example)
        assert fault_of_rgqa(shlex.split(example)) is None
