"""Make the groups of commands of `rgqa`, which share the same layout of the help, the same handling of mistakes, and find the
project from any folder below it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from pipeline.core.errors import UserError, exit_with_error, no_effect_message, warn
from pipeline.core.renames import explain_renamed_command, explain_renamed_options

# Key of `Context.meta`: the folder in which the user called the command, relative to the project.
WORKING_FOLDER_KEY = "pipeline.working_folder"
# Names of text parameters that may be the path of a file or folder.
PATH_OR_NAME_PARAMETERS = ("source", "origin", "archives_from")
# Commands that work in a project whose code is of another version: they bring the two together.
VERSION_COMMANDS = ("init", "upgrade")


def new_app(help: str | None = None, example: str | None = None) -> typer.Typer:
    """Return an empty group of commands.

    Args:
        help: What the commands of the group do; None for commands that are merged into another group.
        example: A command line that shows one of the commands; None to show no example.

    Returns:
        A group whose help is laid out by rich, so that no text is truncated. Tracebacks are plain. A command
        or option under its old name is refused with a message that states the new name.
    """
    return _App(
        cls=_Group,
        help=help,
        epilog=f"Example: `{example}`" if example else None,
        no_args_is_help=help is not None,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
    )


def refuse_options(context: typer.Context, names: str, reason: str) -> None:
    """End the command if the user gave an option that would have no effect.

    Args:
        context: The context of the command.
        names: Names of the Python parameters of these options, separated by blanks.
        reason: Why the options would have no effect ("--stop only stops the server").
    """
    typed = [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name in names.split()
        and (source := context.get_parameter_source(parameter.name or "")) is not None
        and source.name == "COMMANDLINE"
    ]
    if typed:
        exit_with_error(UserError(no_effect_message(" ".join(typed), reason)))


def enter_project(context: typer.Context) -> None:
    """Change to the project in which the command was called, and warn if the project uses other code than is installed.

    Nothing changes if the working directory is no folder below a project. Paths that the user typed stay relative to the folder in which
    the user typed them.

    Args:
        context: The context of the command, whose parameters are changed.
    """
    # This loads YAML and records, which `rgqa --help` does not need.
    from pipeline.core.project import find_project, find_version_conflict

    try:
        start = Path.cwd()
    except FileNotFoundError:
        # The working directory was deleted, which the command reports.
        return
    if (root := find_project(start)) is None:
        return
    below = start.relative_to(root)
    context.meta[WORKING_FOLDER_KEY] = below
    if start != root:
        for name, value in context.params.items():
            source = context.get_parameter_source(name)
            if source is not None and source.name == "COMMANDLINE":
                context.params[name] = _from_folder(below, name, value)
        os.chdir(root)
    if context.command.name not in VERSION_COMMANDS:
        try:
            conflict = find_version_conflict()
        except UserError as error:
            exit_with_error(error)
        if conflict:
            warn(conflict)


def _from_folder(folder: Path, name: str, value: Any) -> Any:
    """Return the value of a parameter. Paths in it that are relative to a folder become relative to the project."""
    if isinstance(value, list | tuple):
        return type(value)(_from_folder(folder, name, one) for one in value)
    if isinstance(value, Path):
        return folder / value
    if name in PATH_OR_NAME_PARAMETERS and isinstance(value, str) and Path(value).exists():
        return str(folder / value)
    return value


class _App(typer.Typer):
    def command(
        self, name: str | None = None, *, cls: type[TyperCommand] | None = None, **settings: Any
    ) -> Callable[..., Any]:
        return super().command(name, cls=cls or _Command, **settings)


class _Command(TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known = {option for parameter in self.params for option in parameter.opts}
        # `run` and `score` pass their options on to argparse parsers, which check for old names themselves.
        if not ctx.ignore_unknown_options and (
            message := explain_renamed_options(" ".join(_command_path(ctx)), args, known)
        ):
            ctx.fail(message)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        # `run` and `score` work on the files that they are given, and need no project.
        if not ctx.ignore_unknown_options:
            enter_project(ctx)
        return super().invoke(ctx)


class _Group(TyperGroup):
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if self.get_command(ctx, args[0]) is None and (
            message := explain_renamed_command([*_command_path(ctx), *args])
        ):
            ctx.fail(message)
        return super().resolve_command(ctx, args)


def _command_path(ctx: Any) -> list[str]:
    """Return the names of the groups and of the command below `rgqa`, for example ["annotate", "invite"]."""
    path = []
    while ctx.parent is not None:
        path.insert(0, ctx.info_name)
        ctx = ctx.parent
    return path
