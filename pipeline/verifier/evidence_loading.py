"""What is known of images: their scene graphs, with what these probably leave out, else what their questions tell."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pipeline.core.jsonl_index import UniqueIndex
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import SceneGraph, Vocabulary
from pipeline.language.lexicon import Lexicon
from pipeline.verifier.evidence import Evidence
from pipeline.verifier.graph_completeness import EstimatedGraphCompleteness
from pipeline.verifier.partial_graphs import PartialGraph
from pipeline.verifier.verification import build_evidence


def make_evidence_loader(
    folders: DatasetFolders, vocabulary: Vocabulary, is_complete: bool = False
) -> Callable[[str], Evidence | None]:
    """`evidence_for` images, by the graphs that stages wrote; of these, only where they lie is held in memory."""
    return partial(
        build_evidence,
        scenes=UniqueIndex(folders.record_file(SceneGraph), SceneGraph, "image_id"),
        partial_graphs=UniqueIndex(
            folders.stage_dir("vocabulary") / "reconstructed.jsonl", PartialGraph, "image_id"
        ),
        lexicon=Lexicon(vocabulary.categories, vocabulary.attribute_types),
        is_complete=is_complete,
        completeness=EstimatedGraphCompleteness(vocabulary) if vocabulary.annotation_recall else None,
    )
