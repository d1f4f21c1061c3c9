"""Make the groups of commands, all with the same look and the same behaviour on errors."""

from __future__ import annotations

import typer


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
