"""Drop candidates that give their answer away, are badly said, or are known to have an answer.

Reads   ingest/pictures.jsonl, ingest/questions.jsonl, ingest/scenes.jsonl, vocabulary/vocabulary.json,
        vocabulary/reconstructed.jsonl, rank/candidates.jsonl, perturb/candidates.jsonl
Writes  screened.jsonl   Screened: candidates that stay, each with what the judge says and from which evidence
        dropped.jsonl    Dropped: candidates that go, each with one reason (`pipeline/candidates/screening/screen_rules.py`)
        screen.json      counts per subset: in == kept + sum(dropped); judgements of what was kept

The evidence about a picture is its scene graph where there is one, else what its own questions say, else
none. The judge only ever drops what it knows to be answerable; "unknown" stays, and is no proof of the
contrary.
"""

from __future__ import annotations

from functools import partial

from pipeline.candidates.screening.screen_rules import ScreenInputs, screen_picture
from pipeline.core.errors import run
from pipeline.core.jsonl_index import Groups
from pipeline.core.paths import Folders
from pipeline.core.per_image import Counts, Key, counted, pictures_in_order, write_by_picture
from pipeline.core.records import SUBSETS, Candidate, Dropped, Question, Screened
from pipeline.verifier.evidence_loading import evidence_files


def read_inputs(folders: Folders) -> ScreenInputs:
    """What candidates are screened with; of the rows in files those of one picture at a time are in memory."""
    vocabulary = folders.vocabulary()
    proposed = [folders.stage(stage) / "candidates.jsonl" for stage in ("rank", "perturb")]
    return ScreenInputs(
        Groups(proposed, Candidate, "picture_id"),
        Groups(folders.file(Question), Question, "picture_id"),
        evidence_files(folders, vocabulary),
        vocabulary,
    )


def keys(row: Screened | Dropped) -> list[Key]:
    """What is counted of a candidate: one that stays by judgement and evidence, one that goes by its reason."""
    if isinstance(row, Dropped):
        return [(row.subset, "dropped", row.reason)]
    subset, judgement = row.candidate.subset, row.judgement
    return [(subset, "judged", judgement.answerability), (subset, "evidence", judgement.evidence)]


def report(counts: Counts) -> dict[str, dict[str, object]]:
    """Counts per subset: in == kept + sum(dropped)."""
    subsets = {}
    for subset in SUBSETS:
        named = counted(counts, subset, "judged", "evidence", "dropped")
        kept = sum(named["judged"].values())
        subsets[subset] = {"in": kept + sum(named["dropped"].values()), "kept": kept, **named}
    return subsets


def main() -> None:
    folders, files = Folders(), {"screened.jsonl": Screened, "dropped.jsonl": Dropped}
    inputs, pictures = partial(read_inputs, folders), pictures_in_order(folders)
    counts = write_by_picture(folders.stage("screen"), pictures, files, inputs, screen_picture, keys)
    stay, go = (sum(counts[key] for key in counts if key[1] == what) for what in ("judged", "dropped"))
    folders.finish("screen", f"{stay:,} of {stay + go:,} candidates stay", {"screen.json": report(counts)})


if __name__ == "__main__":
    run(main)
