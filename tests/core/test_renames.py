"""Old names of parameters, commands and options get one message that has the new name."""

import importlib
import re
from pathlib import Path

import msgspec
import pytest
import typer
from typer.testing import CliRunner

from annotation.study.assignment_params import AnnotateParams
from pipeline.cli.main import app
from pipeline.core.errors import UserError
from pipeline.core.params import convert_params
from pipeline.core.renames import (
    RENAMED_COMMANDS,
    RENAMED_OPTIONS,
    RENAMED_PARAMETERS,
    explain_renamed_command,
    explain_renamed_options,
)
from pipeline.core.stage_graph import stage_module
from pipeline.inference.argument_parser import make_parser
from pipeline.scoring.cli_options import build_parser
from tests.closure import ROOT

PARSERS = {"run": make_parser, "score": build_parser}
PARAMETERS = [
    (section, old, new) for section, names in RENAMED_PARAMETERS.items() for old, new in names.items()
]
OPTIONS = [(command, old, new) for command, names in RENAMED_OPTIONS.items() for old, new in names.items()]


def params_type(section):
    if section == "annotate":
        return AnnotateParams
    return getattr(importlib.import_module(stage_module(section, ROOT)), f"{section.capitalize()}Params")


def find_command(words):
    command = typer.main.get_command(app)
    for word in words.split():
        command = getattr(command, "commands", {}).get(word)
    return command


def options_of(command):
    if command in PARSERS:
        return {option for action in PARSERS[command]()._actions for option in action.option_strings}
    return {
        option
        for parameter in find_command(command).params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }


def message_of(output):
    """The text of an error without its frame and line breaks."""
    return re.sub(r"[\s│]+", " ", output)


@pytest.mark.parametrize(("section", "old", "new"), PARAMETERS)
def test_an_old_parameter_gets_one_message_with_the_new_name(section, old, new):
    kind = params_type(section)
    required = {field.encode_name for field in msgspec.structs.fields(kind) if field.required}
    with pytest.raises(UserError) as caught:
        convert_params({old: 1}, kind, f"params.yaml, sample.{section}")
    about = [line for line in caught.value.problems[1:] if old in line.split(":")[0].split() or new in line]
    assert len(about) == 1 and re.search(rf"\b{new}\b", about[0])
    assert len(caught.value.problems) == 1 + 1 + len(required - {new})


def test_keys_of_the_projects_own_files_are_new_names():
    for file in ("params.yaml", "tests/tiny/params.yaml"):
        text = Path(ROOT, file).read_text()
        for section, old, _ in PARAMETERS:
            block = re.search(rf"(?m)^  {section}:\n((?:    .*\n)*)", text)
            assert not block or not re.search(rf"(?m)^    {old}:", block[1]), (file, section, old)


@pytest.mark.parametrize(("old", "new"), RENAMED_COMMANDS.items())
def test_an_old_command_gets_one_message_with_the_new_name(old, new):
    assert find_command(old) is None and find_command(new) is not None
    ended = CliRunner().invoke(app, [*old.split(), "x"])
    assert ended.exit_code == 2 and f"`rgqa {old}` is now `rgqa {new}`" in message_of(ended.output)


@pytest.mark.parametrize(("command", "old", "new"), OPTIONS)
def test_an_old_option_gets_one_message_with_the_new_name(command, old, new):
    options = options_of(command)
    assert new in options and old not in options
    for words in ([old, "1"], [f"{old}=1"]):
        ended = CliRunner().invoke(app, [*command.split(), *words])
        assert ended.exit_code == 2 and f"{old} is now {new}" in message_of(ended.output)


def test_a_renamed_command_is_reported_with_its_renamed_options():
    assert explain_renamed_command(["annotate", "study", "draw", "--each", "3"]) == (
        "`rgqa annotate study draw` is now `rgqa annotate human-baseline sample`, --each is now --items-per-label"
    )
    assert explain_renamed_command(["attribute", "--grids"]) is None


def test_other_words_are_not_reported():
    assert explain_renamed_options("run", ["--", "--part"]) is None
    assert explain_renamed_options("run", ["--part"], known={"--part"}) is None
    assert explain_renamed_options("init", ["--part"]) is None
