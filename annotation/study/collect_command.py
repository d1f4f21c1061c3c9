"""Find the command that uses the verdicts of a data set, for the messages that name the next step."""

from __future__ import annotations

from pipeline.core.paths import DatasetFolders

# Name in interim/batch/ of the labels that people judge (`rgqa doubt --annotate`). Only such data sets have the file.
DOUBTED_FILE = "doubted.json"
# End of the names of human baselines (`rgqa annotate human-baseline sample`).
HUMAN_BASELINE_SUFFIX = "-human"


def is_human_baseline(folders: DatasetFolders) -> bool:
    """Return whether a data set is a human baseline, by its name."""
    return folders.dataset.endswith(HUMAN_BASELINE_SUFFIX)


def get_collect_command(folders: DatasetFolders, build: str = "dvc repro collect") -> str:
    """Return the command that uses new verdicts.

    Args:
        folders: The data set.
        build: The command for a data set whose release is built by DVC. DVC builds no other ones.
    """
    if (folders.stage_dir("batch") / DOUBTED_FILE).exists():
        return "rgqa errata collect"
    return "rgqa annotate human-baseline score" if is_human_baseline(folders) else build
