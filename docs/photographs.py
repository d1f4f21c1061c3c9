"""Draw docs/images/photos.png: candidates that `make photos` made, each with the question it was made from.

    python -m docs.photographs pteasy_coffee+coffee-3 pthard_archivesnews-16004479832+archives-1

Nobody has judged these candidates, so choose some that are unanswerable, and look at the image.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pipeline.benchmark.release.card_image import draw_card_image
from pipeline.core.atomic_files import atomic_write
from pipeline.core.errors import UserError
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import ImageRecord, Item, Question, ScreenedCandidate
from tests.closure import ROOT

PROJECT = ROOT / "build" / "photos"
OUT = ROOT / "docs" / "images" / "photos.png"


def collect_pairs(candidate_ids: list[str]) -> list[Item]:
    """Return two items for each candidate, itself and its source question, in the order of the ids.

    Raises:
        UserError: Lists the ids that are not candidates.
    """
    folders = DatasetFolders("photos")
    questions = {question.question_id: question for question in folders.read_records(Question)}
    candidates = {
        row.candidate.candidate_id: row.candidate for row in folders.read_records(ScreenedCandidate)
    }
    if unknown := [name for name in candidate_ids if name not in candidates]:
        raise UserError(f"{', '.join(unknown)}: no such candidate in {folders.stage_dir('screen')}")
    items = []
    for candidate in (candidates[name] for name in candidate_ids):
        source = questions[candidate.question_id]
        for unanswerable, text, answer in ((True, candidate.text, ""), (False, source.text, source.answer)):
            items.append(
                Item(
                    item_id=candidate.candidate_id if unanswerable else source.question_id,
                    subset=candidate.subset,
                    image_id=candidate.image_id,
                    question_id=source.question_id,
                    text=text,
                    unanswerable=unanswerable,
                    answer=answer,
                    pair_id=candidate.candidate_id,
                    split="test",
                )
            )
    return items


def main(candidate_ids: list[str]) -> None:
    """Draw the image."""
    if not PROJECT.is_dir():
        raise UserError(f"{PROJECT}: no such folder. Run: make photos")
    os.chdir(PROJECT)
    items = collect_pairs(candidate_ids)
    paths = {image.image_id: Path(image.path) for image in DatasetFolders("photos").read_records(ImageRecord)}
    with atomic_write(OUT) as file:
        file.write(draw_card_image(items, paths))
    print(f"photographs: {len(candidate_ids)} pairs -> {OUT.relative_to(ROOT)}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except UserError as error:
        sys.exit(f"error: {error}")
