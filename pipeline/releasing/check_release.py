"""Is a release whole, and do its sanity predictions get the scores that it states?"""

from __future__ import annotations

from math import isclose
from pathlib import Path

import msgspec

from pipeline.core.errors import Problems
from pipeline.core.files import read_json, read_jsonl
from pipeline.core.records import Item
from pipeline.releasing.checksums import check_checksums
from pipeline.releasing.provenance import Provenance
from pipeline.releasing.rgqa_format import Prediction, RgqaRow
from pipeline.releasing.sanity import SanityScores, score_predictions

TOLERANCE = 1e-6  # the stated scores are rounded to six places


def check_release(folder: Path) -> str:
    """Check the sums of all files, that RGQA's files and the provenance tell of the same items, and that scoring the
    sanity predictions anew gives the stated scores. Returns one line saying what was checked.

    Raises:
        UserError: lists everything that does not agree.
    """
    files = check_checksums(folder)
    problems = Problems(f"{folder}: the release does not pass its sanity check")
    items: dict[str, list[Item]] = {}
    for row in read_jsonl(folder / "provenance.jsonl", Provenance):
        items.setdefault(row.item.subset, []).append(row.item)
    compared = 0
    for subset, members in items.items():
        rows = read_json(folder / "rgqa" / f"{subset}.json", list[RgqaRow])
        ours = [(i.item_id, i.picture_id, i.text, "UQ" if i.unanswerable else i.answer) for i in members]
        if ours != [(r.question_id, r.img_id, r.sent, next(iter(r.label))) for r in rows]:
            problems.add(f"rgqa/{subset}.json", "its rows are not those of provenance.jsonl")
        stated = read_json(folder / "sanity" / subset / "expected.json", dict[str, SanityScores])
        for name, expected in stated.items():
            predictions = read_json(folder / "sanity" / subset / f"{name}.json", list[Prediction])
            scores = score_predictions(members, predictions)
            compared += 1
            if not _agree(expected, scores):
                problems.add(f"sanity/{subset}/{name}.json", f"scores are {scores}, stated are {expected}")
    problems.raise_if_any()
    rehearsal = any(item.rehearsal for members in items.values() for item in members)
    return (
        f"{'a REHEARSAL, no benchmark: ' if rehearsal else ''}{files} files whole, "
        f"{sum(map(len, items.values())):,} items agree, {compared} sanity predictions get their scores"
    )


def _agree(stated: SanityScores, scores: SanityScores) -> bool:
    return all(
        a == b if a is None or b is None else isclose(a, b, rel_tol=0, abs_tol=TOLERANCE)
        for a, b in zip(msgspec.structs.astuple(stated), msgspec.structs.astuple(scores), strict=True)
    )
