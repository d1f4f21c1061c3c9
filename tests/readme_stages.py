"""The README's table of stages, made from the `desc` lines of dvc.yaml: `python -m tests.readme_stages` writes it."""

from __future__ import annotations

import re

import yaml

from tests.closure import ROOT

BEGIN, END = "<!-- stages: begin (made by `python -m tests.readme_stages`) -->", "<!-- stages: end -->"


def table() -> str:
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    rows = "\n".join(
        f"| [`{name}`](pipeline/stages/{name}.py) | {stage['desc']} |" for name, stage in stages.items()
    )
    return f"| stage | what it does |\n|---|---|\n{rows}\n"


def with_table(readme: str) -> str:
    return re.sub(
        f"{re.escape(BEGIN)}.*{re.escape(END)}", f"{BEGIN}\n{table()}{END}", readme, flags=re.DOTALL
    )


if __name__ == "__main__":
    path = ROOT / "README.md"
    path.write_text(with_table(path.read_text()))
