"""`rgqa plausibility`: how plausible a language model finds the texts that `perturb` may choose from."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from pipeline.core.errors import UserError
from pipeline.core.files import read_jsonl, write_jsonl
from pipeline.core.paths import Folders
from pipeline.core.progress import done, track
from pipeline.core.records import Alternatives, TextScore
from pipeline.encoders.language_models import LocalModel, ServerModel

BATCH = 32
SAVED_EVERY = 30.0  # seconds: at most as much work is lost by a kill


def score_texts(model: str, server: str | None, chat: bool, jobs: int) -> None:
    """Score the texts that have no score yet, and keep them beside those that have, sorted by text.

    Args:
        model: a local folder, or the model's name at the server. jobs: requests at the same time.

    Raises:
        UserError: there is nothing to choose from, the scores there are another model's, or the model cannot be asked.
    """
    folders = Folders()
    texts = {text for row in folders.rows(Alternatives) for text in row.texts}
    if not texts:
        raise UserError(
            f"{folders.file(Alternatives)}: no texts to choose from; set perturb: alternatives above 1 in params.yaml, and run "
            "dvc repro perturb"
        )
    if chat and not server:
        raise UserError("--chat asks a server: name it (--server)")
    path = folders.text_scores
    scored = {row.text: row for row in read_jsonl(path, TextScore)} if path.exists() else {}
    judge = ServerModel(server, model, chat) if server else LocalModel(Path(model))
    if others := {row.model for row in scored.values()} - {judge.name}:
        raise UserError(
            f"{path}: scores of {', '.join(sorted(others))}, which cannot be compared with those of {judge.name}; delete the "
            "file, or go on with that model"
        )
    missing = sorted(texts - scored.keys(), key=lambda text: (len(text), text))
    size = 1 if chat else BATCH
    batches = [missing[start : start + size] for start in range(0, len(missing), size)]
    saved = time.monotonic()
    try:
        with closing(side_by_side(judge.scores, batches, jobs if server else 1)) as results:
            for batch, scores in track(results, "plausibility", len(batches), "batch"):
                for text, score in zip(batch, scores, strict=True):
                    if score is not None:
                        scored[text] = TextScore(text=text, score=round(score, 4), model=judge.name)
                if time.monotonic() - saved > SAVED_EVERY:
                    _save(path, scored)
                    saved = time.monotonic()
    finally:
        _save(path, scored)
    without = len(texts - scored.keys())
    done(
        "plausibility", f"{len(texts) - without:,} of {len(texts):,} texts have a score by {judge.name}", path
    )


def side_by_side(
    ask: Callable[[Sequence[str]], list[float | None]], batches: Sequence[Sequence[str]], jobs: int
) -> Generator[tuple[Sequence[str], list[float | None]]]:
    """Each batch with its scores, in order; what has not begun when this is closed is never asked."""
    pool = ThreadPoolExecutor(jobs)
    try:
        yield from zip(batches, pool.map(ask, batches), strict=True)
    finally:
        pool.shutdown(cancel_futures=True)


def _save(path: Path, scored: dict[str, TextScore]) -> None:
    write_jsonl(path, (scored[text] for text in sorted(scored)))
