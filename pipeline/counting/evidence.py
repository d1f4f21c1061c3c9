"""What is known of pictures: their scene graphs, with what these probably leave out, else what their questions tell."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pipeline.core.paths import Folders
from pipeline.core.records import Scene, Vocabulary
from pipeline.core.rows import Singles
from pipeline.counting.unlisted import LeftOut
from pipeline.judge.facts import Facts
from pipeline.judge.judgement import evidence_for
from pipeline.judge.reconstruct import Reconstructed
from pipeline.words.lexicon import Lexicon


def evidence_files(
    folders: Folders, vocabulary: Vocabulary, complete: bool = False
) -> Callable[[str], Facts | None]:
    """`evidence_for` pictures, by the graphs that stages wrote; of these, only where they lie is held in memory."""
    return partial(
        evidence_for,
        scenes=Singles(folders.file(Scene), Scene, "picture_id"),
        told=Singles(folders.stage("vocabulary") / "reconstructed.jsonl", Reconstructed, "picture_id"),
        lexicon=Lexicon(vocabulary.categories, vocabulary.attribute_types),
        complete=complete,
        unlisted=LeftOut(vocabulary) if vocabulary.listed else None,
    )
