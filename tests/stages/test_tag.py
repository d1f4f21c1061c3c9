from __future__ import annotations

from pipeline.core.json_files import read_json, read_jsonl
from pipeline.core.records import TaggedText
from pipeline.stages import ingest, perturb, tag, vocabulary


def test_the_stages_run_on_the_tiny_world_and_give_the_same_bytes_again(tiny, set_params):
    for stage in ("vocabulary", "perturb"):
        set_params(stage)

    def run() -> dict[str, bytes]:
        for module in (ingest, vocabulary, tag, perturb):
            module.main()
        return {
            path.name: path.read_bytes() for path in sorted((tiny / "data/tiny/interim").rglob("*.json*"))
        }

    first = run()
    assert run() == first
    tagged = {row.text for row in read_jsonl(tiny / "data/tiny/interim/tag/tags.jsonl", TaggedText)}
    questions = read_json(tiny / "data/tiny/source/questions1.2/testdev_balanced_questions.json")
    assert tagged == {row["question"] for row in questions.values()}
    report = read_json(tiny / "data/tiny/interim/perturb/perturb.json")
    for counts in report.values():
        assert (
            counts["questions"] == len(questions) == counts["candidates"] + sum(counts["unedited"].values())
        )
