"""`rgqa audit`: what attackers that see only the text, or only which picture it is, tell of any benchmark in RGQA's format."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from rich.console import Console
from rich.table import Table

from pipeline.auditing.attackers import UNLEARNED, Attack, Folds, attack, text_groups
from pipeline.auditing.audit_page import reached
from pipeline.auditing.text_attackers import TEXT_ATTACKERS
from pipeline.core.errors import Problems, UserError
from pipeline.core.files import opened, write_json
from pipeline.core.output_paths import Output, check_output_paths
from pipeline.core.progress import track
from pipeline.core.randomness import generator


class LabelledText(msgspec.Struct, frozen=True):
    """What an attacker needs of a row in RGQA's format; other keys are left alone."""

    question_id: str
    sent: str
    label: dict[str, float]

    @property
    def source_question(self) -> str:
        """The id of the question that this one is, or was made from: `pteasy_n460556+202082119` -> `202082119`."""
        return self.question_id.rpartition("+")[2]


def read_subsets(path: Path) -> dict[str, list[LabelledText]]:
    """The subsets of a release's folder, or the one of a file, by name.

    Raises:
        UserError: lists the files that are missing, not in RGQA's format, or lack one of the two labels.
    """
    files = sorted((path / "rgqa").glob("*.json")) if path.is_dir() else [path]
    if not files:
        raise UserError(f"{path}: no rgqa/*.json in it; wanted a release's folder or a file in RGQA's format")
    problems = Problems(str(path))
    subsets = {}
    for file in files:
        try:
            rows = msgspec.json.decode(opened(file).read(), type=list[LabelledText])
        except UserError as error:
            problems.add(file.name, error.problems[0].removeprefix(f"{file}: ").partition(";")[0])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            problems.add(file.name, f"wanted a list of {{question_id, sent, label}}: {error}")
        else:
            for key, count in Counter(row.question_id for row in rows).items():
                if count > 1:
                    problems.add(file.name, f"question_id {key!r} is there {count} times")
            for row in rows:
                if not row.label or not row.sent.strip():
                    problems.add(file.name, f"{row.question_id}: no {'question' if row.label else 'label'}")
            if not any(re.search(r"\w", row.sent) for row in rows):
                problems.add(file.name, "its questions have no words")
            elif len({"UQ" in row.label for row in rows}) < 2:
                problems.add(
                    file.name, "wanted unanswerable (label UQ) and answerable questions, got one kind"
                )
            subsets[file.stem] = rows
    problems.raise_if_any()
    return subsets


def attack_texts(rows: Sequence[LabelledText], folds: int, repetitions: int, seed: int) -> dict[str, Attack]:
    """What each text-only attacker reaches on one subset: max(AUROC, 1 - AUROC), with a 95 % interval."""
    texts = [row.sent for row in rows]
    labels = np.array(["UQ" in row.label for row in rows], int)
    groups = text_groups(texts, [row.source_question for row in rows])
    parts = Folds(labels, groups, folds, seed)
    rng = generator(seed, "audit of a release")
    return {
        name: attack(guess(texts, parts), parts, repetitions, rng, name not in UNLEARNED)
        for name, guess in track(TEXT_ATTACKERS.items(), "audit", len(TEXT_ATTACKERS), "attacker")
    }


def audit_release(path: Path, folds: int, repetitions: int, seed: int, json: Path | None) -> None:
    """Print the table of all subsets and attackers; write the figures as JSON if asked for."""
    check_output_paths([Output("--json", json) if json else None], [path])
    subsets = read_subsets(path)
    attacks = {name: attack_texts(rows, folds, repetitions, seed) for name, rows in subsets.items()}
    # Subsets as columns, attackers as rows, the worst of them last.
    table = Table("max(AUROC, 1 - AUROC)", *(f"{name} ({len(rows):,})" for name, rows in subsets.items()))
    for attacker in TEXT_ATTACKERS:
        table.add_row(attacker, *(reached(found[attacker]) for found in attacks.values()))
    table.add_section()
    worst = (max(found.values(), key=lambda attack: attack.auroc or 0) for found in attacks.values())
    table.add_row("worst", *map(reached, worst))
    Console().print(table)
    if json:
        write_json(json, attacks)
        print(f"audit: {len(attacks)} subsets, {len(TEXT_ATTACKERS)} attackers -> {json}")
