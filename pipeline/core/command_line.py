"""Make the groups of commands of `rgqa`, which share the same layout of the help and the same handling of
mistakes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from pipeline.core.errors import UserError, exit_with_error, no_effect_message
from pipeline.core.renames import explain_renamed_command, explain_renamed_options


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
