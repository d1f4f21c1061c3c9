"""Make the groups of commands, all with the same look and the same behaviour on errors."""

from __future__ import annotations

import typer

from pipeline.core.errors import UserError, exit_with_error, no_effect_message


def new_app(help: str | None = None, example: str | None = None) -> typer.Typer:
    """Return an empty group of commands.

    Args:
        help: what the commands do together; None for commands that are merged into another group.
        example: a command line that shows one of them.

    Returns:
        A group whose help is laid out by rich, so that no text of it is cut, and whose tracebacks are plain.
    """
    return typer.Typer(
        help=help,
        epilog=f"Example: `{example}`" if example else None,
        no_args_is_help=help is not None,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
    )


def refuse_options(context: typer.Context, names: str, reason: str) -> None:
    """End the command if one of these options was typed although it would have no effect.

    Args:
        names: names of the command's parameters, as Python has them, with blanks between.
        reason: why they would have no effect ("--stop only stops the server").
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
