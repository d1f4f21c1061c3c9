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

    Graphs are read from disk on demand. Only their positions in the files are held in memory.

    Args:
        folders: the data set whose stages ingest and vocabulary have run.
        vocabulary: the data set's vocabulary. Its annotation recall, if known, tells how much scene graphs
            leave out.
        is_complete: whether to treat every graph as complete, as a rehearsal without annotators does.
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
