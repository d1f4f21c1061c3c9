from pipeline.benchmark.report.pipeline_run import _pick_dropped_examples
from pipeline.core.json_files import read_jsonl
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import CollectedCandidate, DroppedCandidate, Item


def test_a_run_has_its_items_by_subset_and_what_concerns_them(run):
    items = list(read_jsonl(DatasetFolders().stage_dir("balance") / "items.jsonl", Item))
    assert sorted(item.item_id for item in run.all_items) == sorted(item.item_id for item in items)
    uqs = {item.item_id for item in items if item.unanswerable}
    assert set(run.verified) == uqs
    assert set(run.verdicts) == {key for row in run.verified.values() for key in row.verdict_ids}
    assert {verdict.task_id for verdict in run.verdicts.values()} == set(run.tasks)
    assert {item.image_id for item in items} <= set(run.images)


def test_what_is_released_is_counted_in_the_releases_own_files(run):
    for subset, items in run.items.items():
        assert run.released[subset] == sum(item.unanswerable for item in items)


def test_a_simulated_run_says_so(run):
    assert run.simulated and not run.rehearsal


def test_each_reason_has_an_example_whatever_the_order_of_the_rows(run):
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


def test_candidates_that_verdicts_ended_have_examples_too(run):
    verified = read_jsonl(DatasetFolders().stage_dir("collect") / "verified.jsonl", CollectedCandidate)
    ended = {
        (row.candidate.subset, "collect", row.status) for row in verified if row.status != "unanswerable"
    }
    assert ended and ended <= set(run.examples)
