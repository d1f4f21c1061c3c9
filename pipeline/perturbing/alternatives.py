"""Several draws of each edit, of which the one is taken that a language model finds most plausible. Off unless
`perturb: alternatives` is above 1; the model's scores are made outside the stages (`rgqa plausibility`)."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.core.files import read_jsonl
from pipeline.core.paths import Folders
from pipeline.core.records import Alternatives, Candidate, Dropped, TextScore
from pipeline.perturbing.perturb_picture import PerturbInputs, perturb_picture


@dataclass(frozen=True, slots=True)
class RankedInputs:
    """What pictures are perturbed with, how many draws there are of each edit, and the scores of texts, as far as known."""

    perturb: PerturbInputs
    draws: int
    scores: dict[str, float]


def text_scores(folders: Folders) -> dict[str, float]:
    """The scores of texts that `rgqa plausibility` left; none if it never ran."""
    path = folders.text_scores
    return {row.text: row.score for row in read_jsonl(path, TextScore)} if path.exists() else {}


def perturb_and_rank(inputs: RankedInputs, picture_id: str) -> list[Candidate | Dropped | Alternatives]:
    """What becomes of the questions of one picture, sorted by candidate id, and what there was to choose from.

    Where each text drawn for a question has a score, the highest is taken, else the first draw that gave a candidate:
    a new text is not worse because nobody has scored it. One that is not weak goes before one that is.
    """
    draws = [perturb_picture(inputs.perturb, picture_id, number) for number in range(inputs.draws)]
    rows: list[Candidate | Dropped | Alternatives] = []
    for tried in zip(*draws, strict=True):
        by_text: dict[str, Candidate] = {}
        for row in tried:
            if isinstance(row, Candidate):
                by_text.setdefault(row.text, row)
        candidates = list(by_text.values())
        if not candidates:
            rows.append(tried[0])
            continue
        first, texts = candidates[0], tuple(by_text)
        known = inputs.scores if all(text in inputs.scores for text in texts) else {}
        rows.append(min(candidates, key=lambda row: (row.weak, -known.get(row.text, 0.0))))
        if len(texts) > 1:
            scores = tuple(known[text] for text in texts if known)
            rows.append(
                Alternatives(candidate_id=first.candidate_id, subset=first.subset, texts=texts, scores=scores)
            )
    return rows
