"""Evidence that is loaded from the files of the stages."""

import msgspec

from pipeline.core.json_files import write_jsonl
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import SceneGraph
from pipeline.verifier.evidence_loading import make_evidence_loader
from pipeline.verifier.verification import verify_question
from tests.notation import scene, steps


def test_evidence_is_loaded_from_the_files_of_the_stages(tmp_path, monkeypatch, vocabulary):
    monkeypatch.chdir(tmp_path)
    folders = DatasetFolders("d")
    write_jsonl(folders.record_file(SceneGraph), [scene("cup 1 at 500 500: red", complete=False)])
    write_jsonl(folders.stage_dir("vocabulary") / "reconstructed.jsonl", [])
    dog = steps("select: dog (-)->query: color [0]")
    for complete, answerability in ((False, "unknown"), (True, "unanswerable")):
        load_evidence = make_evidence_loader(folders, vocabulary, complete)
        assert verify_question(dog, load_evidence("p")).answerability == answerability
        assert load_evidence("q") is None


def test_loaded_evidence_has_completeness_if_the_recall_is_known(tmp_path, monkeypatch, vocabulary):
    monkeypatch.chdir(tmp_path)
    folders = DatasetFolders("d")
    write_jsonl(folders.record_file(SceneGraph), [scene("cup 1 at 500 500: red", complete=False)])
    write_jsonl(folders.stage_dir("vocabulary") / "reconstructed.jsonl", [])
    with_recall = msgspec.structs.replace(vocabulary, annotation_recall={"object": 0.9})
    assert make_evidence_loader(folders, vocabulary)("p").completeness is None
    assert make_evidence_loader(folders, with_recall)("p").completeness is not None
