"""What is known of pictures: their scene graphs, with what these probably leave out, else what their questions tell."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pipeline.core.jsonl_index import Singles
from pipeline.core.paths import Folders
from pipeline.core.records import Scene, Vocabulary
from pipeline.language.lexicon import Lexicon
from pipeline.verifier.evidence import Facts
from pipeline.verifier.graph_completeness import LeftOut
from pipeline.verifier.partial_graphs import Reconstructed
from pipeline.verifier.verification import evidence_for


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
