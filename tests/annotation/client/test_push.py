import fcntl
import subprocess
import sys

import msgspec
import pytest

from annotation.client.credentials import LABEL_STUDIO_DIR
from annotation.client.labeling_config import build_labeling_config
from annotation.client.push import push_tasks
from annotation.client.volunteers import open_link_file
from annotation.study.roster import Annotator, read_roster, write_roster
from pipeline.core.errors import UserError
from pipeline.core.folder_lock import lock_folder
from pipeline.core.json_files import read_json, write_json, write_jsonl
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import CandidateEstimate, SpareGoldQuestion
from tests.annotation.client.tiny_project import TITLE, message
from tests.annotation.conftest import made_task, people, write_batch

KEYS = sorted(f"t{number:04}" for number in range(40))


def task_of(fake, key):
    return next(task for task in fake.in_project(TITLE) if task["data"]["task"] == key)


def leave(name):
    write_roster(
        DatasetFolders(),
        [
            msgspec.structs.replace(p, is_active=p.is_active and p.name != name)
            for p in read_roster(DatasetFolders())
        ],
    )


def queue():
    return read_json(DatasetFolders().study / "queue.json")


def test_every_task_is_imported_once_by_block(study):
    write_batch([msgspec.structs.replace(made_task(n), priority_block=n % 2) for n in range(40)])
    push_tasks()
    keys = study.keys(TITLE)
    assert sorted(keys) == KEYS
    blocks = [int(key[1:]) % 2 for key in keys]
    assert blocks == sorted(blocks) and keys[:20] != sorted(keys[:20])  # in random order within a block


def test_browser_data_reveals_nothing(study):
    push_tasks()
    for task in study.tasks.values():
        number = int(task["data"]["task"][1:])
        assert task["data"] == {
            "task": f"t{number:04}",
            "image": f"/data/local-files/?d=tiny/source/images/n{number % 5}.png",
            "first": f"What color is cup {number}?",
            "second": f"Is there a dog {number}?",
        }


def test_other_servers_get_one_project_with_max_votes(study, set_params):
    set_params("annotate", max_votes=3)
    push_tasks()
    project = study.project(TITLE)
    assert project["label_config"] == build_labeling_config()
    assert (project["show_instruction"], project["show_skip_button"]) == (True, True)
    assert (project["enable_empty_annotation"], project["show_collab_predictions"]) == (False, False)
    assert (project["sampling"], project["maximum_annotations"]) == ("Sequential sampling", 3)
    assert "valid" in project["expert_instruction"]
    assert not (DatasetFolders().study / "queue.json").exists()


def test_voting_that_would_end_too_early_is_refused_before_anybody_is_asked(own, set_params):
    set_params("annotate", min_posterior=0.9)
    with pytest.raises(UserError, match="voting would end before candidates can be released: params.yaml"):
        push_tasks()
    assert not (DatasetFolders().study / "queue.json").exists()


def test_own_server_gets_a_queue_file(own, set_params):
    set_params(
        "annotate",
        max_votes=3,
        min_posterior=0.9,
        overlap_rate=0.25,
        training_tasks=0,
        qualification_tasks=0,
        min_qualification_accuracy=0.7,
    )
    set_params("collect", min_posterior=0.9)
    leave("ben")
    push_tasks()
    content = queue()
    assert (content["dataset"], content["project"]) == ("tiny", TITLE)
    assert content["annotators"] == {"ann@example.org": "annotator-01", "cyd@example.org": "annotator-03"}
    rules = {
        "max_votes": 3,
        "min_posterior": 0.9,
        "overlap_rate": 0.25,
        "training_tasks": 0,
        "qualification_tasks": 0,
        "min_qualification_accuracy": 0.7,
        "min_release_posterior": 0.9,
    }
    assert rules.items() <= content["rules"].items()
    assert sorted(row["key"] for row in content["tasks"]) == KEYS
    (row,) = (row for row in content["tasks"] if row["key"] == "t0003")
    assert row == {
        "key": "t0003",
        "block": 0,
        "subset": "pt-hard",
        "first": {"role": "candidate", "candidate": "c3", "expected": None},
        "second": {"role": "gold", "candidate": None, "expected": "invalid"},
    }
    assert content["consent"]["hash"] and content["consent"]["contact"] and content["guidelines"]
    assert (content["known_tasks"], content["discarded_tasks"], content["is_signup_open"]) == ([], [], False)


def test_queue_file_is_private_and_unchanged_by_a_second_push(own):
    push_tasks()
    path = DatasetFolders().study / "queue.json"
    assert path.stat().st_mode & 0o777 == 0o600
    before = path.stat().st_mtime_ns
    push_tasks()
    assert path.stat().st_mtime_ns == before  # the server would rebuild its queue


def test_own_server_needs_an_annotator(own):
    write_roster(DatasetFolders(), [])
    with pytest.raises(UserError, match="no annotators yet.*rgqa annotate invite NAME"):
        push_tasks()


def test_queue_has_annotators_removed_people_and_sign_up(own):
    exa = Annotator(name="exa", pseudonym="adjudicator-01", email="Exa@example.org")
    left = msgspec.structs.replace(people("ann")[0], is_active=False)
    write_roster(DatasetFolders(), [left, exa])
    open_link_file(DatasetFolders()).touch()
    push_tasks()
    content = queue()
    assert (
        content["annotators"] == {"exa@example.org": "adjudicator-01"} and content["is_signup_open"] is True
    )
    assert content["removed"] == {"ann@example.org": "annotator-01"}


def test_results_of_collect_reach_the_queue(own):
    person = {"name": "annotator-02", "exclusion_reasons": ["drift"], "excluded_since": 20}
    known = made_task(3)
    report = {
        "simulated": False,
        "discarded_gold_questions": [{"image_id": known.image_id, "text": known.second.text}],
        "annotators": [person],
        "doubtful": {"c1": 0.6},
    }
    write_json(DatasetFolders().stage_dir("collect") / "quality.json", report)
    push_tasks()
    assert (queue()["discarded_tasks"], queue()["excluded_since"]) == (["t0003"], {"ben@example.org": 20})
    assert queue()["doubtful"] == {"c1": 0.6}
    write_json(DatasetFolders().stage_dir("collect") / "quality.json", report | {"simulated": True})
    push_tasks()
    assert (queue()["discarded_tasks"], queue()["excluded_since"], queue()["doubtful"]) == ([], {}, {})


def test_discarded_gold_question_is_used_nowhere(own, set_params):
    set_params("annotate", training_tasks=1, qualification_tasks=1)
    again = msgspec.structs.replace(made_task(0), second=made_task(1).second, task_id="t9999", image_id="n1")
    write_batch([*(made_task(number) for number in range(40)), again])
    push_tasks()
    known = queue()["known_tasks"]
    texts = {row[side]["text"] for row in known for side in ("first", "second")}
    discarded = [
        {"image_id": f"n{n % 5}", "text": f"Is there a dog {n}?"}
        for n in range(40)
        if f"Is there a dog {n}?" in texts or n == 1
    ]
    write_json(
        DatasetFolders().stage_dir("collect") / "quality.json",
        {"simulated": False, "discarded_gold_questions": discarded, "annotators": [], "doubtful": {}},
    )
    push_tasks()
    assert {"t0001", "t9999"} <= set(queue()["discarded_tasks"])
    now = {row[side]["text"] for row in queue()["known_tasks"] for side in ("first", "second")}
    assert now and not now & texts


def test_training_and_test_use_gold_questions_that_no_task_contains(own, set_params):
    set_params("annotate", training_tasks=1, qualification_tasks=1)
    rows = [
        SpareGoldQuestion(
            image_id=f"n{n}",
            question=msgspec.structs.replace(
                made_task(n).second,
                key=kind,
                text=f"{kind} spare {n}?",
                expected_choice=kind,
                gold_source="own question",
            ),
        )
        for n in range(5)
        for kind in ("valid", "invalid")
    ]
    write_jsonl(DatasetFolders().record_file(SpareGoldQuestion), rows)
    push_tasks()
    known = queue()["known_tasks"]
    assert len(known) == 5  # one for the training, and a pool of four tests
    assert all("spare" in row[side]["text"] for row in known for side in ("first", "second"))
    assert {row["image"].rpartition("/")[2] for row in known} == {f"n{n}.png" for n in range(5)}


def estimated(answerable, calibrated=True):
    home = DatasetFolders().stage_dir("estimate")
    rows = [
        CandidateEstimate(candidate_id=f"c{number}", p_answerable=answerable(number), difficulty="random")
        for number in range(40)
    ]
    write_jsonl(home / "estimates.jsonl", rows)
    write_json(home / "estimate.json", {"fitted": {"calibrated": calibrated}})


def test_expected_yield_is_printed(own, monkeypatch, capsys):
    # 20 candidates with 0.1 and 20 with 0.4: 18 + 12 of them should be unanswerable; the first ten are of the first block.
    monkeypatch.setattr("annotation.client.push.NUM_FIRST_TASKS", 10)
    write_batch([msgspec.structs.replace(made_task(n), priority_block=int(n >= 20)) for n in range(40)])
    estimated(lambda number: 0.1 if number < 20 else 0.4)
    push_tasks()
    output = capsys.readouterr().out
    rest = "unanswerable questions, minus those on which votes differ"
    assert f"push: the first 10 tasks should yield about 9 {rest}\n" in output
    assert f"push: 40 tasks should yield about 30 {rest}\n" in output
    assert queue()["prior_answerable"] == {f"c{n}": 0.1 if n < 20 else 0.4 for n in range(40)}
    estimated(lambda number: 0.25, calibrated=False)
    push_tasks()
    assert f"about 30 {rest} (by stated base rates" in capsys.readouterr().out


def test_a_second_push_changes_nothing(study):
    push_tasks()
    before = study.keys(TITLE)
    study.requests.clear()
    push_tasks()
    assert study.keys(TITLE) == before
    assert {method for method, _ in study.requests} == {"GET"}


def test_concurrent_push_waits(study, tmp_path):
    code = "import os, sys\nfrom annotation.client.push import push_tasks\npush_tasks()\n"
    with lock_folder(DatasetFolders().study):
        other = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, stdout=subprocess.PIPE)
        assert b"waiting for another rgqa command" in other.stderr.readline()
        assert study.projects == {}  # it looks at nothing while it waits
    other.communicate(timeout=60)
    assert other.returncode == 0 and sorted(study.keys(TITLE)) == KEYS
    with (DatasetFolders().study / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # and lets go


def test_only_the_image_folder_is_served_once(study, tiny):
    push_tasks()
    push_tasks()
    assert [row["path"] for row in study.storages] == [str(tiny / "data/tiny/source/images")]


def test_images_can_be_on_a_web_server(study, set_params):
    set_params("annotate", image_base_url="https://example.org/rgqa/")
    push_tasks()
    assert study.storages == []
    images = {task["data"]["image"] for task in study.tasks.values()}
    assert images == {f"https://example.org/rgqa/tiny/source/images/n{number}.png" for number in range(5)}


@pytest.mark.parametrize("carried_out", [False, True])
def test_interrupted_push_is_completed_by_the_next(study, monkeypatch, carried_out):
    monkeypatch.setattr("annotation.client.push.BATCH_SIZE", 7)
    number = 0

    def drop(method, path, _):
        nonlocal number
        number += path.endswith("/import")
        return "drop" if path.endswith("/import") and number == 3 else None

    setattr(study, "after" if carried_out else "fault", drop)
    with pytest.raises(UserError, match=r"interrupted .*Run the same command again"):
        push_tasks()
    study.fault = study.after = lambda *_: None
    push_tasks()
    assert sorted(study.keys(TITLE)) == KEYS


def test_copies_without_answers_are_deleted(study, capsys):
    push_tasks()
    first = task_of(study, "t0000")
    copy = study.put(first["project"], first["data"])
    study.annotate(copy)
    for key in ("t0001", "t0002"):
        study.put(first["project"], task_of(study, key)["data"])
    push_tasks()
    assert [task["id"] for task in study.in_project(TITLE) if task["data"]["task"] == "t0000"] == [copy["id"]]
    assert sorted(study.keys(TITLE)) == KEYS
    assert "3 tasks deleted" in capsys.readouterr().out


def test_answer_arriving_during_deletion_is_kept(study):
    push_tasks()
    task = task_of(study, "t0000")
    write_batch([made_task(number) for number in range(1, 40)])
    study.fault = lambda method, path, number: (
        study.annotate(task) and None if path == "/api/dm/actions/" and not task["annotations"] else None
    )
    push_tasks()
    assert "t0000" in study.keys(TITLE) and len(task["annotations"]) == 1


def test_untouched_tasks_of_an_earlier_batch_are_deleted(own, capsys):
    push_tasks()
    judged, skipped, begun = (task_of(own, key) for key in ("t0000", "t0001", "t0002"))
    own.annotate(judged)
    own.annotate(skipped, was_cancelled=True, result=[])
    begun["drafts"] = 1
    write_batch([made_task(number) for number in range(20, 60)])
    push_tasks()
    wanted = [f"t{number:04}" for number in range(20, 60)]
    assert sorted(own.keys(TITLE)) == sorted([*wanted, "t0000", "t0001", "t0002"])
    assert sorted(row["key"] for row in queue()["tasks"]) == wanted  # and they are asked no more
    assert "17 tasks deleted (copies, or of an earlier batch); 3 kept" in capsys.readouterr().out


def test_changed_settings_are_restored(study, capsys):
    push_tasks()
    study.project(TITLE)["label_config"] = build_labeling_config().replace('"valid"', '"okay"')
    study.project(TITLE)["show_collab_predictions"] = True
    push_tasks()
    assert study.project(TITLE)["label_config"] == build_labeling_config()
    assert "settings restored: label_config, show_collab_predictions" in capsys.readouterr().out


@pytest.mark.parametrize("harmless", ["spaces in the interface", "instructions that the server cleans"])
def test_irrelevant_changes_are_not_restored(study, capsys, harmless):
    study.cleans = harmless.startswith("instructions")
    push_tasks()
    if not study.cleans:
        study.project(TITLE)["label_config"] = build_labeling_config().replace("\n", "\n  ")
    push_tasks()
    assert "restored" not in capsys.readouterr().out


def test_interface_blocked_by_verdicts_is_reported(study):
    push_tasks()
    study.project(TITLE)["label_config"] = build_labeling_config().replace('"valid"', '"okay"')
    study.refuse_settings = True
    with pytest.raises(UserError) as caught:
        push_tasks()
    assert "the labelling interface of project `RGQA tiny` was changed" in message(caught)
    assert "Created annotations" in message(caught)


def test_foreign_tasks_are_kept_and_reported(study, capsys):
    push_tasks()
    study.put(study.project(TITLE)["id"], {"text": "made by hand"})
    push_tasks()
    assert {"text": "made by hand"} in [task["data"] for task in study.in_project(TITLE)]
    assert "1 task not created by this command" in capsys.readouterr().err


def test_projects_with_equal_titles_are_reported(study):
    push_tasks()
    study.projects[999] = dict(study.project(TITLE), id=999)
    with pytest.raises(UserError, match=r"has 2 projects `RGQA tiny` \(numbers \d+, 999\)"):
        push_tasks()


def test_inconsistent_batch_is_refused(study):
    home = DatasetFolders().stage_dir("batch")
    write_json(home / "label_studio_tasks.json", [])
    with pytest.raises(UserError, match="have different tasks.*dvc repro"):
        push_tasks()
    write_jsonl(home / "tasks.jsonl", [])
    with pytest.raises(UserError, match="there are no tasks.*dvc repro"):
        push_tasks()


def test_concurrent_project_change_is_reported(study):
    def after(method, path, number):
        if path.endswith("/import"):
            study.put(study.project(TITLE)["id"], {"text": "made by hand"})

    study.after = after
    with pytest.raises(UserError, match=r"has 41 tasks, but should have 40"):
        push_tasks()


def test_secrets_file_is_private(own):
    assert (LABEL_STUDIO_DIR / "secrets.json").stat().st_mode & 0o777 == 0o600


def test_volunteers_are_added_to_the_roster(own, capsys):
    finished = {"num_training_answered": 0, "num_test_answered": 0, "num_judged": 0}
    row = {"email": "zoe@volunteer.rgqa.local", "name": "Zoe"} | finished
    own.report["tiny"]["annotators"] = [row, {"email": "ann@example.org", "name": ""} | finished]
    push_tasks()
    assert len(read_roster(DatasetFolders())) == 3  # a seat counts after the first finished task
    row["num_training_answered"] = 1
    push_tasks()
    push_tasks()
    assert [(p.name, p.pseudonym) for p in read_roster(DatasetFolders())][3:] == [("Zoe", "annotator-04")]
    content = read_json(DatasetFolders().study / "queue.json")
    assert content["annotators"]["zoe@volunteer.rgqa.local"] == "annotator-04"
    assert capsys.readouterr().out.count("1 volunteer signed up through the open link: Zoe") == 1


def test_names_that_look_like_pseudonyms_are_replaced(own):
    finished = {"num_training_answered": 1, "num_test_answered": 0, "num_judged": 0}
    row = {"email": "x.1a2b3c4d@volunteer.rgqa.local", "name": "annotator-01"} | finished
    own.report["tiny"]["annotators"] = [row]
    push_tasks()
    assert [(p.name, p.pseudonym) for p in read_roster(DatasetFolders())][3:] == [
        ("named-annotator-01", "annotator-04")
    ]
