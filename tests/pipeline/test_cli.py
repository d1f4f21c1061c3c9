"""The door itself: what it shows first."""

import typer
from typer.testing import CliRunner

from pipeline.cli import SECTIONS, app


def test_each_command_stands_in_one_section_of_the_help_with_what_it_does():
    names = [name for names in SECTIONS.values() for name in names.split()]
    assert sorted(names) == sorted(typer.main.get_command(app).commands)
    lines = CliRunner().invoke(app, ["--help"], terminal_width=80).output.splitlines()
    shown = [line.split()[0] for line in lines if line.startswith("  ") and line.split()[0] in names]
    assert shown == names
    assert "..." not in "".join(lines).replace("[ARGS]...", "")
