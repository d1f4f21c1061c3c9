"""Partial graphs of the tiny world's pictures."""

import msgspec

from pipeline.core.files import read_jsonl, write_jsonl
from pipeline.core.records import Question, Scene
from pipeline.judge.reconstruct import Reconstructed
from pipeline.stages import ingest, vocabulary


def test_pictures_without_a_published_graph_get_a_partial_one_from_unbalanced_questions_too(tiny, set_params):
    ingest.main()
    folder = tiny / "data/tiny/interim"
    questions = list(read_jsonl(folder / "ingest/questions.jsonl", Question))
    published = {scene.picture_id for scene in read_jsonl(folder / "ingest/scenes.jsonl", Scene)}
    wanted = sorted({q.picture_id for q in questions if q.program and q.answer} - published)
    more = msgspec.structs.replace(questions[0], question_id="extra", picture_id=wanted[0])
    write_jsonl(folder / "ingest/unbalanced.jsonl", [more])
    set_params("vocabulary", min_count=1)
    vocabulary.main()
    graphs = {
        graph.picture_id: graph
        for graph in read_jsonl(folder / "vocabulary/reconstructed.jsonl", Reconstructed)
    }
    assert list(graphs) == wanted and wanted and all(graph.reconstructed for graph in graphs.values())
    told = {key for thing in graphs[wanted[0]].objects for fact in thing.names for key in fact.questions}
    assert "extra" in told and "extra" not in {q.question_id for q in questions}
