"""The README is true: its table of stages, its commands and the files it names."""

import re
import subprocess
import sys

from tests.closure import ROOT
from tests.readme_stages import with_table

README = (ROOT / "README.md").read_text()


def test_the_table_of_stages_is_that_of_dvc():
    assert with_table(README) == README


def test_every_command_it_names_exists():
    known = subprocess.run(
        [sys.executable, "-m", "pipeline.cli", "--help"], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout
    for command in re.findall(r"\brgqa ([a-z]+)", README):
        assert re.search(rf"^  {command}\b", known, re.MULTILINE), command
    for target in re.findall(r"\bmake ([a-z]+)", README):
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE), target
    for module in re.findall(r"python -m ([a-z_]+(?:\.[a-z_]+)+)", README):
        assert any(
            (ROOT / f"{module.replace('.', '/')}{end}").is_file() for end in (".py", "/__main__.py")
        ), module


def test_every_file_it_links_to_exists():
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", README):
        assert (ROOT / target).exists(), target


def test_every_command_has_an_example():
    listing = subprocess.run(
        [sys.executable, "-m", "pipeline.cli", "--help"], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout
    for command in re.findall(r"^  ([a-z]+) ", listing.split("Commands:")[1], re.MULTILINE):
        text = subprocess.run(
            [sys.executable, "-m", "pipeline.cli", command, "--help"],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
        ).stdout
        assert f"Example: rgqa {command}" in text
