"""Where things lie. Everything of a data set is in `data/<data set>/`, its releases in `data/release/<data set>/`.

source/       what came in: questions, sceneGraphs, images (read-only for us)
truth/        the complete truth, known for the sample only; opened by simulated annotators and audit alone
clip/         a local CLIP: open_clip_config.json and weights, if the model is not fetched by name
vectors/      vectors that were computed elsewhere, to start from
annotations/  exports of verdicts, as people gave them
study/        who annotates, and who gets which task; git-ignored, it holds names
interim/      one folder per stage, written by that stage alone
"""

from __future__ import annotations

from pathlib import Path

from pipeline.core import params

DATA = Path("data")


class Folders:
    """The folders of one data set, relative to the project's root (the working directory)."""

    def __init__(self, dataset: str | None = None) -> None:
        self.dataset = dataset or params.dataset()
        self.home = DATA / self.dataset
        self.source = self.home / "source"
        self.truth = self.home / "truth"
        self.clip = self.home / "clip"
        self.vectors = self.home / "vectors"
        self.annotations = self.home / "annotations"
        self.study = self.home / "study"

    def stage(self, name: str) -> Path:
        """The folder that stage `name` writes."""
        return self.home / "interim" / name

    def release(self, version: str) -> Path:
        return DATA / "release" / self.dataset / version
