"""What stages wrote of images, as evidence."""

import msgspec

from pipeline.core.json_files import write_jsonl
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import SceneGraph
from pipeline.verifier.evidence_loading import make_evidence_loader
from pipeline.verifier.verification import verify_question
from tests.notation import scene, steps


def test_evidence_is_read_from_what_stages_wrote_and_in_a_rehearsal_taken_as_complete(
    tmp_path, monkeypatch, vocabulary
):
    monkeypatch.chdir(tmp_path)
    folders = DatasetFolders("d")
    write_jsonl(folders.record_file(SceneGraph), [scene("cup 1 at 500 500: red", complete=False)])
    write_jsonl(folders.stage_dir("vocabulary") / "reconstructed.jsonl", [])
    dog = steps("select: dog (-)->query: color [0]")
    for complete, answerability in ((False, "unknown"), (True, "unanswerable")):
        facts_of = make_evidence_loader(folders, vocabulary, complete)
        assert verify_question(dog, facts_of("p")).answerability == answerability  # no dog is listed
        assert facts_of("q") is None


def test_where_it_is_known_how_complete_graphs_are_facts_say_what_they_leave_out(
    tmp_path, monkeypatch, vocabulary
):
    monkeypatch.chdir(tmp_path)
    folders = DatasetFolders("d")
    write_jsonl(folders.record_file(SceneGraph), [scene("cup 1 at 500 500: red", complete=False)])
    write_jsonl(folders.stage_dir("vocabulary") / "reconstructed.jsonl", [])
    told = msgspec.structs.replace(vocabulary, annotation_recall={"object": 0.9})
    assert make_evidence_loader(folders, vocabulary)("p").completeness is None
    assert make_evidence_loader(folders, told)("p").completeness is not None
