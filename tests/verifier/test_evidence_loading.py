"""What stages wrote of pictures, as evidence."""

import msgspec

from pipeline.core.json_files import write_jsonl
from pipeline.core.paths import Folders
from pipeline.core.records import Scene
from pipeline.verifier.evidence_loading import evidence_files
from pipeline.verifier.verification import judge
from tests.notation import scene, steps


def test_evidence_is_read_from_what_stages_wrote_and_in_a_rehearsal_taken_as_complete(
    tmp_path, monkeypatch, vocabulary
):
    monkeypatch.chdir(tmp_path)
    folders = Folders("d")
    write_jsonl(folders.file(Scene), [scene("cup 1 at 500 500: red", complete=False)])
    write_jsonl(folders.stage("vocabulary") / "reconstructed.jsonl", [])
    dog = steps("select: dog (-)->query: color [0]")
    for complete, answerability in ((False, "unknown"), (True, "unanswerable")):
        facts_of = evidence_files(folders, vocabulary, complete)
        assert judge(dog, facts_of("p")).answerability == answerability  # no dog is listed
        assert facts_of("q") is None


def test_where_it_is_known_how_complete_graphs_are_facts_say_what_they_leave_out(
    tmp_path, monkeypatch, vocabulary
):
    monkeypatch.chdir(tmp_path)
    folders = Folders("d")
    write_jsonl(folders.file(Scene), [scene("cup 1 at 500 500: red", complete=False)])
    write_jsonl(folders.stage("vocabulary") / "reconstructed.jsonl", [])
    told = msgspec.structs.replace(vocabulary, listed={"object": 0.9})
    assert evidence_files(folders, vocabulary)("p").unlisted is None
    assert evidence_files(folders, told)("p").unlisted is not None
