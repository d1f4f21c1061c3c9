"""Load the evidence about images from the files of the build's stages."""

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
    """Return a function that loads the evidence about an image by its id.

    Graphs are read from disk on demand. Memory holds only the positions of the graphs in the files.

    Args:
        folders: The folders of the data set. Its stages ingest and vocabulary have run.
        vocabulary: The vocabulary of the data set. Its annotation recall, if known, tells how much scene
            graphs leave out.
        is_complete: Whether to treat every graph as complete, as a rehearsal without annotators does.

    Returns:
        A function that takes an image id and returns the evidence, or None if the image has no graph.
    """
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
