from collections import Counter
from pathlib import Path

import pytest
import yaml

from annotation.client.report import print_report
from annotation.study import human_baseline
from annotation.study.answers_table import QualityRules
from annotation.study.assignment import AdaptiveAssigner
from annotation.study.assignment_params import AnnotateParams, to_task_mapping
from annotation.study.import_annotations import import_exports
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json, read_jsonl, write_json, write_jsonl
from pipeline.core.params import load_params
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import ImageRecord, Item, Record, Task, Verdict
from tests.annotation.study.export_files import annotation, exported

HOME = Path("data/tiny-human")


class Row(Record):
    item: Item
    votes_invalid: int = 0


def item(number, subset="clip-hard", uq=True, image="n1", split="test", key=None):
    return Item(
        item_id=key or f"{subset}-{'uq' if uq else 'aq'}-{number}",
        subset=subset,
        image_id=image,
        question_id=f"q{number}",
        text=f"What is {number}?",
        unanswerable=uq,
        answer="" if uq else "red",
        pair_id="p",
        split=split,
    )


def items(uqs=60, aqs=70, subset="clip-hard"):
    made = [item(n, subset, True, f"n{n % 20}") for n in range(uqs)]
    return made + [item(n, subset, False, f"n{n % 20}") for n in range(aqs)]


def questions(tasks):
    return [row for task in tasks for row in (task.first, task.second)]


def counts(tasks):
    return Counter((task.subset, row.expected_choice) for task in tasks for row in (task.first, task.second))


def test_equally_many_aqs_and_uqs_are_sampled_per_subset():
    tasks = human_baseline.choose_tasks([*items(), *items(40, 60, "pt-easy")], items_per_label=50, seed=1)
    assert counts(tasks) == {
        ("clip-hard", "valid"): 50,
        ("clip-hard", "invalid"): 50,
        ("pt-easy", "valid"): 40,
        ("pt-easy", "invalid"): 40,
    }
    assert len({row.question_id for row in questions(tasks)}) == 180


def test_only_test_items_are_sampled_once_each():
    validation = [item(n, split="validation", key=f"validation{n}") for n in range(9)] + [
        item(n, uq=False, split="validation", key=f"validation{n}a") for n in range(9)
    ]
    shared = [item(n, subset, False, key=f"aq{n}") for subset in ("clip-easy", "clip-hard") for n in range(4)]
    uqs = [item(n, subset) for subset in ("clip-easy", "clip-hard") for n in range(4)]
    tasks = human_baseline.choose_tasks([*validation, *shared, *uqs], items_per_label=2, seed=1)
    assert sorted(counts(tasks).values()) == [2, 2, 2, 2]
    asked = [row.question_id for row in questions(tasks) if row.expected_choice == "valid"]
    assert len(asked) == len(set(asked)) == 4
    assert not [key for key in asked if key.startswith("validation")]


def test_images_are_used_evenly():
    # 20 images, 50 tasks: two or three of each, whatever the lot says.
    tasks = human_baseline.choose_tasks(items(), items_per_label=50, seed=3)
    assert set(Counter(task.image_id for task in tasks).values()) == {2, 3}
    of = {row.item_id: row.image_id for row in items()}
    assert all(of[row.question_id] == task.image_id for task in tasks for row in (task.first, task.second))


def test_one_question_of_a_task_says_nothing_about_the_other():
    # 12 couples of each kind alike and 26 mixed: as two draws out of 50 and 50 would be.
    tasks = human_baseline.choose_tasks(items(), items_per_label=50, seed=1)
    kinds = Counter((task.first.expected_choice, task.second.expected_choice) for task in tasks)
    assert (kinds["valid", "valid"], kinds["invalid", "invalid"]) == (12, 12)
    assert (
        min(kinds["valid", "invalid"], kinds["invalid", "valid"]) >= 6
    )  # 13 by chance, standard deviation 2.5


def test_tasks_are_mixed_if_no_image_has_two_items_of_a_kind():
    rows = [item(n, uq=uq, image=f"n{n}") for n in range(10) for uq in (True, False)]
    tasks = human_baseline.choose_tasks(rows, items_per_label=8, seed=1)
    assert set(counts(tasks).values()) == {8} and len({task.image_id for task in tasks}) == 8


def test_sample_depends_on_seed_but_not_on_item_order():
    rows = items()
    assert human_baseline.choose_tasks(rows, 20, 1) == human_baseline.choose_tasks(rows[::-1], 20, 1)
    assert human_baseline.choose_tasks(rows, 20, 1) != human_baseline.choose_tasks(rows, 20, 2)


@pytest.fixture
def release(tiny):
    rows = [Row(item=row) for row in items(12, 12)]
    write_jsonl("data/release/tiny/1.0.0/provenance.jsonl", rows)
    images = [
        ImageRecord(
            image_id=f"n{n}",
            split="testdev",
            path=f"data/tiny/source/images/n{n}.jpg",
            width=9,
            height=9,
            sha256="0",
        )
        for n in range(20)
    ]
    write_jsonl("data/tiny/interim/ingest/images.jsonl", images)
    return Path("data/release/tiny/1.0.0")


def test_browser_data_is_an_image_and_two_questions(release):
    human_baseline.sample_items(release, items_per_label=4, seed=1)
    tasks = {task.task_id: task for task in read_jsonl(HOME / "interim/batch/tasks.jsonl", Task)}
    rows = read_json(HOME / "interim/batch/label_studio_tasks.json")
    assert len(rows) == 4
    for row in rows:
        task = tasks[row["data"]["task"]]
        assert row == {
            "data": {
                "task": task.task_id,
                "first": task.first.text,
                "second": task.second.text,
                "image": f"/data/local-files/?d=tiny/source/images/{task.image_id}.jpg",
            }
        }


def test_data_set_gets_three_votes_without_gold_questions(release, set_params):
    human_baseline.sample_items(release, items_per_label=4, seed=1)
    document = yaml.safe_load(Path("params.yaml").read_text())
    Path("params.yaml").write_text(yaml.safe_dump(document | {"dataset": "tiny-human"}))
    tasks, params = list(DatasetFolders().read_records(Task)), load_params("annotate", AnnotateParams)
    study = AdaptiveAssigner(
        [to_task_mapping(task) for task in tasks],
        {},
        params.to_assignment_rules(params.resolve_sizes(tasks)._replace(wave_size=100), QualityRules()),
    )
    for person in "abc":
        for _ in tasks:
            study.record_answer(
                person, study.assign_next_task(person), "invalid", "invalid"
            )  # whatever they say, they go on
        assert not study.has_failed_gold(person)
    assert study.assign_next_task("d") is None and (params.training_tasks, params.qualification_tasks) == (
        0,
        0,
    )


def test_sampling_again_is_reproducible_and_another_sample_is_refused(release):
    human_baseline.sample_items(release, items_per_label=4, seed=1)
    files = [*(HOME / "interim/batch").iterdir(), Path("params.yaml")]
    before = [path.read_bytes() for path in files]
    human_baseline.sample_items(release, items_per_label=4, seed=1)
    with pytest.raises(UserError, match="a different sample exists already"):
        human_baseline.sample_items(release, items_per_label=4, seed=2)
    assert [path.read_bytes() for path in files] == before


def test_errors_are_reported(release, tiny):
    with pytest.raises(UserError, match="there is no release"):
        human_baseline.sample_items(Path("data/release/tiny/9.9.9"))
    write_jsonl("data/tiny/interim/ingest/images.jsonl", [])
    with pytest.raises(UserError) as caught:
        human_baseline.sample_items(release, items_per_label=4)
    assert "not in the data set tiny" in caught.value.problems[0]
    assert caught.value.problems[1].endswith("this image is not in the data set")
    with pytest.raises(UserError, match="tiny has no judgements of a human baseline"):
        write_jsonl(DatasetFolders().record_file(Task), [])
        human_baseline.score_judgements()


def test_judgements_are_scored(release, capsys):
    human_baseline.sample_items(release, items_per_label=4, seed=1)
    document = yaml.safe_load(Path("params.yaml").read_text())
    Path("params.yaml").write_text(yaml.safe_dump(document | {"dataset": "tiny-human"}))
    with pytest.raises(UserError, match=r"pulled.json does not exist"):
        human_baseline.score_judgements()
    tasks = list(DatasetFolders().read_records(Task))
    rows = [
        exported(
            task.task_id,
            annotation(
                2 * n + 1, "annotator-01", task.first.expected_choice, task.second.expected_choice
            ),  # always right
            annotation(2 * n + 2, "annotator-02", "unsure", "valid"),  # accepts everything
        )
        for n, task in enumerate(tasks)
    ]
    write_json(Path("export.json"), rows)
    import_exports([Path("export.json")])
    assert capsys.readouterr().out.endswith("Next, run `rgqa annotate human-baseline score`.\n")
    with pytest.raises(
        UserError, match="has no quality report: tiny-human. Run: rgqa annotate human-baseline score"
    ):
        print_report()
    human_baseline.score_judgements()
    said = capsys.readouterr().out
    (line,) = [line for line in said.splitlines() if line.split()[:2] == ["clip-hard", "2"]]
    # AQs: 8 of 8 accepted. UQs: 4 of 8 rejected, Wilson 21.5 to 78.5 %. Right: 12 of 16, 50.5 to 89.8 %.
    assert line.split("  ")[-4:] and "100.0% [67.6%, 100.0%]" in line
    assert line.count("50.0% [21.5%, 78.5%]") == 2 and "75.0% [50.5%, 89.8%]" in line
    judgements = read_json(HOME / "study/judgements/clip-hard.json")
    assert len(judgements) == 16 and sum(row["accepted"] for row in judgements) == 12
    assert judgements == read_json(HOME / "study/judgements/all.json")


def test_rate_without_judgements_is_undefined():
    (task,) = [
        t
        for t in human_baseline.choose_tasks(items(), 4, 1)
        if {t.first.expected_choice, t.second.expected_choice} == {"valid"}
    ]
    said = Verdict(verdict_id="v", task_id=task.task_id, annotator="p", first="valid", second="valid")
    line = human_baseline.format_table(
        human_baseline.build_judgements({task.task_id: task}, [said])
    ).splitlines()[1]
    assert line.count("undefined") == 2  # UQs rejected, UQs accepted
