"""Drop candidates that give their answer away, are badly said, or are known to have an answer.

Reads   ingest/images.jsonl, ingest/questions.jsonl, ingest/scenes.jsonl, vocabulary/vocabulary.json,
        vocabulary/reconstructed.jsonl, rank/candidates.jsonl, perturb/candidates.jsonl
Writes  screened.jsonl   Screened: candidates that stay, each with what the judge says and from which evidence
        dropped.jsonl    Dropped: candidates that go, each with one reason (`pipeline/candidates/screening/screen_rules.py`)
        screen.json      counts per subset: in == kept + sum(dropped); judgements of what was kept

The evidence about an image is its scene graph where there is one, else what its own questions say, else
none. The judge only ever drops what it knows to be answerable; "unknown" stays, and is no proof of the
contrary.
"""

from __future__ import annotations

from functools import partial

from pipeline.candidates.screening.screen_rules import ScreenInputs, screen_image
from pipeline.core.errors import run_command
from pipeline.core.jsonl_index import GroupedIndex
from pipeline.core.paths import DatasetFolders
from pipeline.core.per_image import CountKey, Counts, list_image_ids, select_counts, write_per_image
from pipeline.core.records import SUBSETS, Candidate, DroppedCandidate, Question, ScreenedCandidate
from pipeline.verifier.evidence_loading import make_evidence_loader


def read_inputs(folders: DatasetFolders) -> ScreenInputs:
    """What candidates are screened with; of the rows in files those of one image at a time are in memory."""
    vocabulary = folders.read_vocabulary()
    proposed = [folders.stage_dir(stage) / "candidates.jsonl" for stage in ("rank", "perturb")]
    return ScreenInputs(
        GroupedIndex(proposed, Candidate, "image_id"),
        GroupedIndex(folders.record_file(Question), Question, "image_id"),
        make_evidence_loader(folders, vocabulary),
        vocabulary,
    )


def count_keys(row: ScreenedCandidate | DroppedCandidate) -> list[CountKey]:
    """What is counted of a candidate: one that stays by judgement and evidence, one that goes by its reason."""
    if isinstance(row, DroppedCandidate):
        return [(row.subset, "dropped", row.reason)]
    subset, judgement = row.candidate.subset, row.verifier_result
    return [(subset, "verifier", judgement.answerability), (subset, "evidence", judgement.evidence_source)]


def make_report(counts: Counts) -> dict[str, dict[str, object]]:
    """Counts per subset: in == kept + sum(dropped)."""
    subsets = {}
    for subset in SUBSETS:
        named = select_counts(counts, subset, "verifier", "evidence", "dropped")
        kept = sum(named["verifier"].values())
        subsets[subset] = {"candidates": kept + sum(named["dropped"].values()), "kept": kept, **named}
    return subsets


def main() -> None:
    folders, files = (
        DatasetFolders(),
        {"screened.jsonl": ScreenedCandidate, "dropped.jsonl": DroppedCandidate},
    )
    inputs, images = partial(read_inputs, folders), list_image_ids(folders)
    counts = write_per_image(folders.stage_dir("screen"), images, files, inputs, screen_image, count_keys)
    stay, go = (sum(counts[key] for key in counts if key[1] == what) for what in ("verifier", "dropped"))
    folders.write_stage_outputs(
        "screen", f"{stay:,} of {stay + go:,} candidates stay", {"screen.json": make_report(counts)}
    )


if __name__ == "__main__":
    run_command(main)
