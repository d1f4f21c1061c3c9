"""Drop candidates that reveal their answer, are ungrammatical, or are known to be answerable.

Reads   ingest/images.jsonl, ingest/questions.jsonl, ingest/scenes.jsonl, vocabulary/vocabulary.json,
        vocabulary/reconstructed.jsonl, rank/candidates.jsonl, perturb/candidates.jsonl
Writes  screened.jsonl   ScreenedCandidate: candidates that are kept, each with the result of the verifier and the source
                         of the evidence
        dropped.jsonl    DroppedCandidate: candidates that are dropped, each with one reason
                         (`pipeline/candidates/screening/screen_rules.py`)
        screen.json      counts per subset, where candidates == kept + sum(dropped), and the results of the verifier for
                         the kept candidates

The evidence about an image is its scene graph. If there is no scene graph, the evidence is what the image's
own questions state. Only candidates that the verifier knows to be answerable are dropped for this reason.
Candidates with the result "unknown" are kept, although this result does not prove that the question is
unanswerable.
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
    """Read the inputs of stage `screen`. Only the records of one image at a time are in memory."""
    vocabulary = folders.read_vocabulary()
    proposed = [folders.stage_dir(stage) / "candidates.jsonl" for stage in ("rank", "perturb")]
    return ScreenInputs(
        GroupedIndex(proposed, Candidate, "image_id"),
        GroupedIndex(folders.record_file(Question), Question, "image_id"),
        make_evidence_loader(folders, vocabulary),
        vocabulary,
    )


def count_keys(row: ScreenedCandidate | DroppedCandidate) -> list[CountKey]:
    """Return the keys under which a record is counted.

    A kept candidate counts under the result of the verifier and under the source of the evidence. A dropped
    candidate counts under the reason.
    """
    if isinstance(row, DroppedCandidate):
        return [(row.subset, "dropped", row.reason)]
    subset, result = row.candidate.subset, row.verifier_result
    return [(subset, "verifier", result.answerability), (subset, "evidence", result.evidence_source)]


def make_report(counts: Counts) -> dict[str, dict[str, object]]:
    """Return the counts of each subset, where candidates == kept + sum(dropped)."""
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
    kept, dropped = (sum(counts[key] for key in counts if key[1] == what) for what in ("verifier", "dropped"))
    folders.write_stage_outputs(
        "screen", f"{kept:,} of {kept + dropped:,} candidates kept", {"screen.json": make_report(counts)}
    )


if __name__ == "__main__":
    run_command(main)
