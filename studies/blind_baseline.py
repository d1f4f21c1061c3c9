"""What models that see only the text can tell of perturbed questions, before anybody has judged one.

    python -m studies.blind_baseline
    python -m studies.blind_baseline --most 20000 --out blind.json

Every screened PT candidate of the data set in use stands beside the question that it was made from, one original for
each: all of them, those that `balance` would keep for their words, and those of the paper's rules on the same questions.
An attacker guesses which of all these texts are edited. Needs `dvc repro screen tag`.

max(AUROC, 1 - AUROC) with a 95 % interval over resampled groups; an edited question, its original and all rows of the
same text are one group, and a group is never on both sides of a fold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from pipeline.auditing.attackers import Attack, score, text_groups
from pipeline.auditing.text_attackers import TEXT_ATTACKERS
from pipeline.balancing.even_words import even
from pipeline.core.errors import UserError, run
from pipeline.core.files import read_json, read_jsonl, write_json
from pipeline.core.params import load
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.randomness import generator
from pipeline.core.records import Candidate, Picture, Question, Record, Screened, Subset, Tagged, Vocabulary
from pipeline.stages.balance import BalanceParams

SUBSETS: tuple[Subset, ...] = ("pt-easy", "pt-hard")
OURS, ALL, PAPER = "ours, balanced", "ours, all candidates", "the paper's"
LIMITS = {"pt-easy": 0.75, "pt-hard": 0.65}  # before annotation, of the worst attacker on ours, balanced
app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


class Baseline(Record):
    """What attackers reach on one subset: `pairs` edited questions with their originals, made from `questions`."""

    questions: int
    candidates: int
    pairs: int
    attacks: dict[str, Attack]

    @property
    def worst(self) -> float:
        return max(
            (attack.auroc for attack in self.attacks.values() if attack.auroc is not None), default=0.5
        )


def baseline(
    candidates: Sequence[Candidate],
    questions: Mapping[str, Question],
    folds: int,
    repetitions: int,
    seed: int,
    most: int,
) -> Baseline:
    """Attack one subset's candidates.

    Args:
        most: pairs to be tried; of more, so many are drawn by lot.
    """
    rng = generator(seed, "blind baseline")
    rows = sorted(candidates, key=lambda candidate: candidate.candidate_id)
    tried = [rows[i] for i in sorted(rng.permutation(len(rows))[:most])]
    texts = [text for row in tried for text in (questions[row.question_id].text, row.text)]
    labels = np.tile([0, 1], len(tried))
    groups = text_groups(texts, [row.question_id for row in tried for _ in range(2)])
    attacks = {
        name: score(attack(texts, labels, groups, folds, seed), labels, groups, repetitions, rng)
        for name, attack in TEXT_ATTACKERS.items()
    }
    return Baseline(questions=len(questions), candidates=len(rows), pairs=len(tried), attacks=attacks)


def table(found: Mapping[str, Mapping[Subset, Baseline]]) -> str:
    """All figures (rules -> subset -> baseline) as a table in Markdown."""
    lines = [
        "| subset | rules | pairs | " + " | ".join(TEXT_ATTACKERS) + " | worst | limit before annotation |"
    ]
    lines.append("|---" * (len(TEXT_ATTACKERS) + 5) + "|")
    for subset in SUBSETS:
        for rules, baselines in found.items():
            one = baselines[subset]
            cells = [
                "-" if a.auroc is None else f"{a.auroc:.3f} [{a.low:.2f}, {a.high:.2f}]"
                for a in one.attacks.values()
            ]
            limit = f"{LIMITS[subset]:.2f}" if rules == OURS else ""
            lines.append(
                f"| {subset} | {rules} | {one.pairs:,} | "
                + " | ".join(cells)
                + f" | {one.worst:.3f} | {limit} |"
            )
    return "\n".join(lines)


def measure(
    folders: Folders, folds: int, repetitions: int, seed: int, most: int, slack: float
) -> dict[str, dict[Subset, Baseline]]:
    """Baselines of the data set's PT subsets, by rules. `slack`: of `balance` (its parameter `word_slack`)."""
    from pipeline.stages.paper import perturbed, sound  # loads what attacks alone do not need

    ingest, screened = folders.stage("ingest"), folders.stage("screen") / "screened.jsonl"
    if not screened.exists():
        raise UserError(f"{screened} is missing; run `dvc repro screen`")
    shown = {picture.picture_id for picture in read_jsonl(ingest / "pictures.jsonl", Picture)}
    questions = {
        q.question_id: q for q in read_jsonl(ingest / "questions.jsonl", Question) if q.picture_id in shown
    }
    vocabulary = read_json(folders.stage("vocabulary") / "vocabulary.json", Vocabulary)
    tags = {row.text: row.words for row in read_jsonl(folders.stage("tag") / "tags.jsonl", Tagged)}
    ours = [row.candidate for row in read_jsonl(screened, Screened) if row.candidate.subset in SUBSETS]
    ours.sort(key=lambda candidate: candidate.candidate_id)
    made = {rules: {} for rules in (OURS, ALL, PAPER)}
    theirs = sound(perturbed(list(questions.values()), tags, vocabulary, seed), vocabulary)
    for subset in SUBSETS:
        made[ALL][subset] = [row for row in ours if row.subset == subset]
        made[PAPER][subset] = [row for row in theirs if row.subset == subset]
        stays = even(
            [row.edits for row in made[ALL][subset]], slack, generator(seed, "balance words", subset)
        )
        made[OURS][subset] = [row for row, stay in zip(made[ALL][subset], stays, strict=True) if stay]
    found: dict[str, dict[Subset, Baseline]] = {rules: {} for rules in made}
    for rules, subset in track(
        [(rules, subset) for rules in made for subset in SUBSETS], "blind baseline", unit="set"
    ):
        found[rules][subset] = baseline(made[rules][subset], questions, folds, repetitions, seed, most)
    return found


@app.command(epilog="Example: python -m studies.blind_baseline --out blind.json")
def main(
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")] = 5,
    repetitions: Annotated[int, typer.Option(min=1, help="Bootstrap samples of each interval.")] = 500,
    seed: Annotated[int, typer.Option(min=0, help="Of folds, samples and the paper's draws.")] = 20231001,
    most: Annotated[int, typer.Option(min=1, help="Pairs tried of each subset, drawn by lot.")] = 20_000,
    out: Annotated[Path | None, typer.Option(help="A JSON file for the figures.")] = None,
) -> None:
    """Tell what models that see only the text can tell of perturbed questions, before anybody has judged one."""

    def tell() -> None:
        found = measure(Folders(), folds, repetitions, seed, most, load("balance", BalanceParams).word_slack)
        if out:
            write_json(out, {"rules": found, "limits": LIMITS})
        print(table(found))

    run(tell)


if __name__ == "__main__":
    app()
