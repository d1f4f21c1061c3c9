"""Read and write `annotations/panel.jsonl`, the verdicts of vision models.

The file is separate from pulled.json, which has the verdicts of people. Each row names the model and the prompt.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pipeline.core.json_files import read_jsonl, write_jsonl
from pipeline.core.records import Choice, Record

PANEL_FILENAME = "panel.jsonl"


class PanelVerdict(Record):
    """The choices of a model for the two questions of a task.

    Attributes:
        task_id: Id of the task.
        model: Name of the model.
        prompt: Name of the prompt, "prompt-1", "prompt-2" and so on.
        first, second: The choices.
        first_reason, second_reason: Reasons for the choice "invalid"; "" if no reason was given.
    """

    task_id: str
    model: str
    prompt: str
    first: Choice
    second: Choice
    first_reason: str = ""
    second_reason: str = ""

    @property
    def voter(self) -> str:
        """Name of the model and of the prompt. Each prompt of a model is a voter of its own."""
        return f"{self.model} {self.prompt}"


def read_panel(path: Path) -> list[PanelVerdict]:
    """Return the verdicts of all models; [] if the file does not exist.

    Raises:
        UserError: The file is damaged.
    """
    return list(read_jsonl(path, PanelVerdict)) if path.exists() else []


def write_panel(path: Path, model: str, verdicts: Iterable[PanelVerdict]) -> int:
    """Replace the verdicts of one model, and keep those of other models. The same content gives the same bytes.

    Returns:
        The number of verdicts of all models.
    """
    rows = [row for row in read_panel(path) if row.model != model] + list(verdicts)
    rows.sort(key=lambda row: (row.task_id, row.model, row.prompt))
    write_jsonl(path, rows)
    return len(rows)
