from pipeline.benchmark.report.pipeline_run import _pick_dropped_examples
from pipeline.core.json_files import read_jsonl
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import CollectedCandidate, DroppedCandidate, Item


def test_a_run_has_its_items_and_their_records(run):
    items = list(read_jsonl(DatasetFolders().stage_dir("balance") / "items.jsonl", Item))
    assert sorted(item.item_id for item in run.all_items) == sorted(item.item_id for item in items)
    uqs = {item.item_id for item in items if item.unanswerable}
    assert set(run.verified) == uqs
    assert set(run.verdicts) == {key for row in run.verified.values() for key in row.verdict_ids}
    assert {verdict.task_id for verdict in run.verdicts.values()} == set(run.tasks)
    assert {item.image_id for item in items} <= set(run.images)


def test_released_uqs_are_counted_in_the_files_of_the_release(run):
    for subset, items in run.items.items():
        assert run.released_uqs[subset] == sum(item.unanswerable for item in items)


def test_a_simulated_run_is_marked(run):
    assert run.simulated and not run.rehearsal


def test_the_example_of_a_reason_does_not_depend_on_the_order(run):
    rows = [
        DroppedCandidate(
            candidate_id=f"c{i}",
            subset="pt-easy",
            image_id="p",
            question_id="q",
            text=f"text {i}",
            stage="screen",
            reason=reason,
        )
        for i, reason in enumerate(("one", "one", "other"))
    ]
    examples = _pick_dropped_examples(rows)
    assert examples == _pick_dropped_examples(rows[::-1])
    assert examples["pt-easy", "screen", "one"] in ("text 0", "text 1")
    assert examples["pt-easy", "screen", "other"] == "text 2"


def test_candidates_dropped_by_verdicts_have_examples(run):
    verified = read_jsonl(DatasetFolders().stage_dir("collect") / "verified.jsonl", CollectedCandidate)
    ended = {
        (row.candidate.subset, "collect", row.status) for row in verified if row.status != "unanswerable"
    }
    assert ended and ended <= set(run.dropped_examples)
