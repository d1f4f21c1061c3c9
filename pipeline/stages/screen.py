"""Drop candidates that give their answer away, contradict themselves, or are known to have an answer.

Reads   ingest/pictures.jsonl, ingest/questions.jsonl, ingest/scenes.jsonl, vocabulary/vocabulary.json,
        vocabulary/reconstructed.jsonl, rank/candidates.jsonl, perturb/candidates.jsonl
Writes  screened.jsonl   Screened: candidates that stay, each with what the judge says and from which evidence
        dropped.jsonl    Dropped: candidates that go, each with one reason (`pipeline/screening/screen_rules.py`)
        screen.json      counts per subset: in == kept + sum(dropped); judgements of what was kept

The evidence about a picture is its scene graph where there is one, else what its own questions say, else
none. The judge only ever drops what it knows to be answerable; "unknown" stays, and is no proof of the
contrary.
"""

from __future__ import annotations

from functools import partial

from pipeline.core.by_picture import Counts, Key, counted, pictures_in_order, write_by_picture
from pipeline.core.errors import run
from pipeline.core.files import read_json, write_json
from pipeline.core.paths import Folders
from pipeline.core.progress import done
from pipeline.core.records import SUBSETS, Candidate, Dropped, Question, Scene, Screened, Vocabulary
from pipeline.core.rows import Groups, Singles
from pipeline.judge.judgement import evidence_for
from pipeline.judge.reconstruct import Reconstructed
from pipeline.screening.screen_picture import ScreenInputs, screen_picture
from pipeline.words.lexicon import Lexicon


def read_inputs(folders: Folders) -> ScreenInputs:
    """What candidates are screened with; of the rows in files those of one picture at a time are in memory."""
    ingest, counting = folders.stage("ingest"), folders.stage("vocabulary")
    vocabulary = read_json(counting / "vocabulary.json", Vocabulary)
    proposed = [folders.stage(stage) / "candidates.jsonl" for stage in ("rank", "perturb")]
    facts = partial(
        evidence_for,
        scenes=Singles(ingest / "scenes.jsonl", Scene, "picture_id"),
        told=Singles(counting / "reconstructed.jsonl", Reconstructed, "picture_id"),
        lexicon=Lexicon(vocabulary.categories, vocabulary.attribute_types),
    )
    candidates = Groups(proposed, Candidate, "picture_id")
    questions = Groups(ingest / "questions.jsonl", Question, "picture_id")
    return ScreenInputs(candidates, questions, facts, vocabulary)


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
    folders = Folders()
    out, files = folders.stage("screen"), {"screened.jsonl": Screened, "dropped.jsonl": Dropped}
    inputs = partial(read_inputs, folders)
    counts = write_by_picture(out, pictures_in_order(folders), files, inputs, screen_picture, keys)
    write_json(out / "screen.json", report(counts))
    stay, go = (sum(counts[key] for key in counts if key[1] == what) for what in ("judged", "dropped"))
    done("screen", f"{stay:,} of {stay + go:,} candidates stay", out)


if __name__ == "__main__":
    run(main)
