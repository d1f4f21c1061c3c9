import json
import re
from collections import Counter

import msgspec
import pytest

from annotation.client.pull import content, pull
from annotation.client.push import push
from annotation.client.task_screen import interface
from annotation.study.exports import ExportedAnnotation
from annotation.study.plan import Assignment
from annotation.study.roster import read_roster, write_roster
from pipeline.core.errors import UserError
from pipeline.core.files import read_jsonl, write_json, write_jsonl
from pipeline.core.paths import Folders
from pipeline.core.records import Estimate, Verdict
from tests.annotation.conftest import made_task, people, write_batch
from tests.annotation.fake_label_studio import TOKEN
from tests.annotation.study.conftest import quality

TITLES = {f"annotator-0{number}": f"RGQA tiny: annotator-0{number}" for number in (1, 2, 3)}
ANN, BEN, CYD = TITLES.values()


def everything(fake):
    """Title -> keys in the order of the tasks' numbers."""
    return {project["title"]: fake.keys(project["title"]) for project in fake.projects.values()}


def planned():
    """Title -> keys as in plan.jsonl."""
    rows = {title: [] for title in TITLES.values()}
    for row in read_jsonl(Folders().study / "plan.jsonl", Assignment):
        rows[TITLES[row.annotator]].append(row.task_id)
    return rows


def task_of(fake, title, key):
    return next(task for task in fake.in_project(title) if task["data"]["task"] == key)


def message(caught):
    return "\n".join(caught.value.problems)


def leave(name):
    write_roster(
        Folders(),
        [msgspec.structs.replace(p, active=p.active and p.name != name) for p in read_roster(Folders())],
    )


def test_every_annotator_gets_a_project_with_the_planned_tasks_in_the_planned_order(study):
    push()
    assert everything(study) == planned()
    assert Counter(key for row in planned().values() for key in row) == {
        f"t{number:04}": 2 for number in range(40)
    }


def test_what_the_browser_receives_betrays_nothing(study):
    push()
    for task in study.tasks.values():
        number = int(task["data"]["task"][1:])
        assert task["data"] == {
            "task": f"t{number:04}",
            "image": f"/data/local-files/?d=tiny/source/images/n{number % 5}.png",
            "first": f"What color is cup {number}?",
            "second": f"Is there a dog {number}?",
        }


def test_a_project_is_set_up_for_independent_verdicts_in_the_planned_order(study):
    push()
    project = study.project(ANN)
    assert project["label_config"] == interface()
    assert (project["show_instruction"], project["show_skip_button"]) == (True, True)
    assert (project["enable_empty_annotation"], project["show_collab_predictions"]) == (False, False)
    assert (project["sampling"], project["maximum_annotations"]) == ("Sequential sampling", 1)
    assert "valid" in project["expert_instruction"]


def test_the_study_leaders_own_texts_are_the_instructions(study):
    Folders().study.mkdir(parents=True, exist_ok=True)
    (Folders().study / "consent.md").write_text("Ask Ann.")
    push()
    assert "Ask Ann." in study.project(ANN)["expert_instruction"]


def estimated(answerable, calibrated=True):
    home = Folders().stage("estimate")
    rows = [
        Estimate(candidate_id=f"c{number}", answerable=answerable(number), difficulty="random")
        for number in range(40)
    ]
    write_jsonl(home / "estimates.jsonl", rows)
    write_json(home / "estimate.json", {"fitted": {"calibrated": calibrated}})


def test_what_the_tasks_should_give_is_told_before_people_are_asked(study, monkeypatch, capsys):
    # 20 candidates with 0.1 and 20 with 0.4: 18 + 12 of them should be unanswerable; the first ten are of the first block.
    monkeypatch.setattr("annotation.client.push.FIRST", 10)
    tasks = [msgspec.structs.replace(made_task(n), block=int(n >= 20)) for n in range(40)]
    write_batch(tasks)
    estimated(lambda number: 0.1 if number < 20 else 0.4)
    push()
    told = capsys.readouterr().out
    assert (
        "push: the first 10 tasks should give about 9 unanswerable questions, less those on which votes differ\n"
        in told
    )
    assert (
        "push: 40 tasks should give about 30 unanswerable questions, less those on which votes differ\n"
        in told
    )
    estimated(lambda number: 0.25, calibrated=False)
    push()
    assert (
        "about 30 unanswerable questions, less those on which votes differ; not calibrated here"
        in capsys.readouterr().out
    )


def test_the_surest_tasks_go_out_first(study, set_params):
    # Only half of the tasks fit in.
    write_batch([msgspec.structs.replace(made_task(n), block=n % 2) for n in range(40)])
    set_params("annotate", votes=2, most_tasks=14)  # 3 people x 14 = 42 votes for 20 tasks of the first block
    push()
    for keys in planned().values():
        block = [int(key[1:]) % 2 for key in keys]
        assert block == sorted(block)
    given = Counter(key for keys in planned().values() for key in keys)
    assert all(given[f"t{number:04}"] == 2 for number in range(0, 40, 2))


def test_a_second_push_changes_nothing(study):
    push()
    before = everything(study)
    study.requests.clear()
    push()
    assert everything(study) == before
    assert {method for method, _ in study.requests} == {"GET"}


def test_only_the_folder_of_the_pictures_is_served_and_only_once(study, tiny):
    push()
    push()
    assert [row["path"] for row in study.storages] == [str(tiny / "data/tiny/source/images")] * 3


def test_pictures_can_lie_on_a_web_server(study, set_params):
    set_params("annotate", pictures="https://example.org/rgqa/")
    push()
    assert study.storages == []
    images = {task["data"]["image"] for task in study.tasks.values()}
    assert images == {f"https://example.org/rgqa/tiny/source/images/n{number}.png" for number in range(5)}


def test_with_an_empty_roster_all_share_one_project_with_all_tasks(study, set_params):
    write_roster(Folders(), [])
    set_params("annotate", votes=3)
    push()
    push()
    assert {title: sorted(keys) for title, keys in everything(study).items()} == {
        "RGQA tiny": [f"t{n:04}" for n in range(40)]
    }
    assert study.project("RGQA tiny")["maximum_annotations"] == 3


def test_in_a_shared_project_what_was_touched_is_not_put_in_again(study):
    write_roster(Folders(), [])
    push()
    judged, skipped, begun = study.in_project("RGQA tiny")[:3]
    study.annotate(judged)
    study.annotate(skipped, was_cancelled=True, result=[])
    begun["drafts"] = 1
    push()
    assert len(study.keys("RGQA tiny")) == 40


@pytest.mark.parametrize("carried_out", [False, True])
def test_a_push_that_broke_off_is_finished_by_the_next(study, monkeypatch, carried_out):
    monkeypatch.setattr("annotation.client.queues.BATCH", 7)
    number = 0

    def drop(method, path, _):
        nonlocal number
        number += path.endswith("/import")
        return "drop" if path.endswith("/import") and number == 3 else None

    setattr(study, "after" if carried_out else "fault", drop)
    with pytest.raises(UserError, match=r"broke off .*what was done is kept, run the same command again"):
        push()
    study.fault = study.after = lambda *_: None
    push()
    assert {title: sorted(keys) for title, keys in everything(study).items()} == {
        t: sorted(k) for t, k in planned().items()
    }


def test_a_batch_that_was_half_imported_is_completed(study):
    push()
    before = everything(study)
    for key in before[BEN][5:17]:
        del study.tasks[task_of(study, BEN, key)["id"]]
    push()
    assert {title: sorted(keys) for title, keys in everything(study).items()} == {
        t: sorted(k) for t, k in before.items()
    }


def test_copies_without_an_answer_go_and_the_one_with_it_stays(study, capsys):
    push()
    title, key = ANN, planned()[ANN][0]
    first = task_of(study, title, key)
    copy = study.put(first["project"], first["data"])
    study.annotate(copy)
    for number in range(3):
        task = task_of(study, BEN, planned()[BEN][number])
        study.put(task["project"], task["data"])
    push()
    assert [task["id"] for task in study.in_project(title) if task["data"]["task"] == key] == [copy["id"]]
    assert len(study.keys(BEN)) == len(set(study.keys(BEN)))
    assert "3 open tasks taken out (3 of them copies)" in capsys.readouterr().out


def test_copies_that_were_both_judged_stay_and_are_told(study, capsys):
    push()
    key = planned()[ANN][0]
    first = task_of(study, ANN, key)
    copy = study.put(first["project"], first["data"])
    study.annotate(first)
    study.annotate(copy)
    push()
    assert {first["id"], copy["id"]} <= set(study.tasks)
    assert (
        f"1 tasks were judged in two copies; both stay, the last verdict counts: {key}"
        in capsys.readouterr().err
    )


def test_answers_skips_and_drafts_stay_when_somebody_leaves_and_open_tasks_go_to_others(study):
    push()
    judged, skipped, begun = planned()[CYD][:3]
    study.annotate(task_of(study, CYD, judged))
    study.annotate(task_of(study, CYD, skipped), was_cancelled=True, result=[])
    task_of(study, CYD, begun)["drafts"] = 1
    leave("cyd")
    push()
    assert sorted(study.keys(CYD)) == sorted([judged, skipped, begun])
    count = Counter(study.keys(ANN) + study.keys(BEN))
    assert count == {
        f"t{n:04}": 1 if f"t{n:04}" == judged else 2 for n in range(40)
    }  # cyd's verdict is one of two votes


def test_begun_tasks_do_not_move_when_somebody_joins(study):
    push()
    for task in study.in_project(ANN):
        task["drafts"] = 1
    write_roster(Folders(), people("ann", "ben", "cyd", "dan"))
    push()
    keys = everything(study)
    assert len(keys["RGQA tiny: annotator-04"]) > 5
    assert Counter(key for row in keys.values() for key in row) == {
        f"t{number:04}": 2 for number in range(40)
    }


def test_an_answer_that_arrives_while_tasks_are_taken_out_stays(study):
    push()
    key = planned()[CYD][0]
    leave("cyd")
    task = task_of(study, CYD, key)
    study.fault = lambda method, path, number: (
        study.annotate(task) and None if path == "/api/dm/actions/" and not task["annotations"] else None
    )
    push()
    assert study.keys(CYD) == [key]
    assert len(task["annotations"]) == 1


def test_tasks_of_an_earlier_batch_go_unless_somebody_touched_them(study):
    push()
    judged = "t0000"
    title = next(title for title, keys in planned().items() if judged in keys)
    study.annotate(task_of(study, title, judged))
    write_batch([made_task(number) for number in range(20, 60)])
    push()
    keys = Counter(key for row in everything(study).values() for key in row)
    assert keys == {f"t{n:04}": 2 for n in range(20, 60)} | {judged: 1}


def test_settings_that_were_changed_by_hand_are_put_right(study, capsys):
    push()
    study.project(ANN)["label_config"] = interface().replace('"valid"', '"okay"')
    study.project(ANN)["show_collab_predictions"] = True
    push()
    assert study.project(ANN)["label_config"] == interface()
    assert (
        "annotator-01: settings put right: label_config, show_collab_predictions" in capsys.readouterr().out
    )


def test_spaces_in_the_interface_do_not_count_as_a_change(study, capsys):
    push()
    study.project(ANN)["label_config"] = interface().replace("\n", "\n  ")
    push()
    assert "put right" not in capsys.readouterr().out


def test_instructions_that_the_server_cleans_are_no_change_each_time(study, capsys):
    study.cleans = True
    push()
    push()
    assert "put right" not in capsys.readouterr().out


def test_an_interface_that_verdicts_hold_fast_is_told_and_the_other_queues_are_brought_up_to_date(study):
    push()
    study.project(ANN)["label_config"] = interface().replace('"valid"', '"okay"')
    del study.tasks[task_of(study, BEN, planned()[BEN][0])["id"]]
    study.refuse_settings = True
    with pytest.raises(UserError) as caught:
        push()
    assert (
        "annotator-01: the labelling interface of project `RGQA tiny: annotator-01` was changed"
        in message(caught)
    )
    assert "Created annotations" in message(caught)
    assert sorted(study.keys(BEN)) == sorted(planned()[BEN])


def test_tasks_that_are_not_ours_stay_and_are_told(study, capsys):
    push()
    study.put(study.project(ANN)["id"], {"text": "made by hand"})
    push()
    assert {"text": "made by hand"} in [task["data"] for task in study.in_project(ANN)]
    assert "1 tasks are not ours" in capsys.readouterr().err


def test_two_projects_of_one_title_are_told(study):
    push()
    twin = dict(study.project(BEN), id=999)
    study.projects[999] = twin
    with pytest.raises(
        UserError, match=r"has 2 projects `RGQA tiny: annotator-02` \(numbers \d+, 999\), and one is expected"
    ):
        push()


def test_verdicts_that_were_pulled_count_even_when_the_project_is_gone(study):
    push()
    key = planned()[ANN][0]
    path = Folders().annotations / "pulled.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    given = ExportedAnnotation(id=1, completed_by="annotator-01")
    path.write_bytes(content({(key, msgspec.json.encode(given))}))
    number = study.project(ANN)["id"]
    del study.projects[number]
    study.tasks = {task["id"]: task for task in study.tasks.values() if task["project"] != number}
    push()
    assert key not in study.keys(ANN)
    assert Counter(k for row in everything(study).values() for k in row)[key] == 1


def test_tasks_that_need_another_vote_are_offered_to_somebody_else(study):
    push()
    key = "t0000"
    had = [title for title, keys in planned().items() if key in keys]
    for title in had:
        study.annotate(task_of(study, title, key))
    home = Folders().stage("collect")
    write_json(home / "quality.json", quality())
    write_jsonl(
        home / "verdicts.jsonl",
        [
            Verdict(
                verdict_id=str(n), task_id=key, annotator=f"annotator-0{n}", first="valid", second="valid"
            )
            for n in (1, 2)
        ],
    )
    row = {
        "task_id": key,
        "candidate_id": "c0",
        "votes_counted": 1,
        "votes_wanted": 2,
        "reason": "votes were set aside",
    }
    write_json(home / "another_vote.json", [row])
    push()
    assert [title for title, keys in everything(study).items() if key in keys and title not in had] == [
        title for title in TITLES.values() if title not in had
    ]


def test_too_few_people_are_told(study, capsys):
    write_roster(Folders(), people("ann"))
    push()
    assert (
        "40 votes cannot be planned (40 tasks lack 1): annotate.votes is 2, and 1 annotators are active"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("step", ["looking", "importing"])
def test_a_server_that_fails_is_told_in_its_own_words(study, step):
    where = "/api/projects/" if step == "looking" else "/import"
    study.fault = lambda method, path, number: (
        (500, "application/json", b'{"detail": "database is locked"}') if path.endswith(where) else None
    )
    with pytest.raises(UserError) as caught:
        push()
    assert "says: database is locked (status 500); what was done is kept" in message(caught)


HTML = (200, "text/html", b"<!doctype html><title>Welcome</title>")


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (HTML, "answers, but is no Label Studio; check LABEL_STUDIO_URL and the server's log"),
        (
            (404, "text/html", b"<h1>Not Found</h1>"),
            "answers, but is no Label Studio; check LABEL_STUDIO_URL and the server's log",
        ),
        ((502, "text/html", b"<h1>Bad Gateway</h1>"), "answers, but is in trouble (status 502)"),
        ((301, "text/html", b""), "sends us on to"),
        ((200, "application/json", b'{"hello": 1}'), "answers, but is no Label Studio"),
        ((403, "application/json", b'{"detail": "no"}'), "does not allow this with this token (no)"),
        ("drop", "broke off"),
    ],
)
def test_a_server_that_is_no_label_studio_is_told(study, fault, expected):
    study.fault = lambda *_: fault
    with pytest.raises(UserError) as caught:
        push()
    assert expected in message(caught)


def test_nobody_at_the_address_is_told(study, monkeypatch):
    study.close()
    with pytest.raises(UserError, match=r"no server answers at http://127.0.0.1:\d+ "):
        push()
    monkeypatch.setenv("LABEL_STUDIO_URL", "localhost")
    with pytest.raises(UserError, match="localhost is no address of a server"):
        push()


def test_a_wrong_token_is_told(study, monkeypatch):
    monkeypatch.setenv("LABEL_STUDIO_TOKEN", "wrong")
    with pytest.raises(
        UserError, match=r"does not accept the token \(Invalid token.\).*make a new one in Label Studio"
    ):
        push()


def personal_token(expires, signature):
    import base64

    parts = [{"alg": "HS256"}, {"token_type": "refresh", "exp": expires}]
    return ".".join(
        [*(base64.urlsafe_b64encode(json.dumps(p).encode()).rstrip(b"=").decode() for p in parts), signature]
    )


def test_a_personal_token_opens_the_server_too(study, monkeypatch):
    monkeypatch.setenv("LABEL_STUDIO_TOKEN", personal_token(4_000_000_000, "good"))
    push()
    assert len(study.tasks) == 80
    assert ("POST", "/api/token/refresh/") in study.requests


@pytest.mark.parametrize(("expires", "signature"), [(1_000_000_000, "good"), (4_000_000_000, "called-back")])
def test_a_personal_token_that_expired_or_was_called_back_is_told(study, monkeypatch, expires, signature):
    monkeypatch.setenv("LABEL_STUDIO_TOKEN", personal_token(expires, signature))
    with pytest.raises(UserError, match="does not accept the token .*expired"):
        push()


def test_another_version_is_warned_of_once(study, capsys):
    study.release = "1.19.0"
    push()
    assert capsys.readouterr().err.count("this is Label Studio 1.19.0; tested with 1.23") == 1


def test_a_server_that_takes_fewer_tasks_than_it_was_sent_is_told(study):
    study.after = lambda method, path, number: (
        (201, "application/json", b'{"task_count": 3}') if path.endswith("/import") else None
    )
    with pytest.raises(UserError, match="took 3 of 2[0-9] tasks"):
        push()


def test_a_server_that_loses_tasks_is_told_by_counting(study):
    def lose(method, path, number):
        if path.endswith("/import"):
            del study.tasks[max(study.tasks)]

    study.after = lose
    with pytest.raises(UserError, match=r"holds 2\d tasks and should hold 2\d"):
        push()


def test_an_answer_that_does_not_come_is_told(study, monkeypatch):
    import time

    monkeypatch.setattr("annotation.client.label_studio.ANSWER_SECONDS", 0.2)
    study.fault = lambda method, path, number: time.sleep(0.5) if path.endswith("/import") else None
    with pytest.raises(UserError, match="gave no answer within 0 seconds"):
        push()


def test_nothing_secret_is_printed(study, capsys, monkeypatch):
    push()
    monkeypatch.setenv("LABEL_STUDIO_TOKEN", "wrong" + TOKEN)
    with pytest.raises(UserError) as caught:
        push()
    out = capsys.readouterr()
    assert TOKEN not in out.out + out.err + message(caught)
    assert "example.org" not in out.out + out.err


ROUND = "RGQA tiny: annotator-{:02}: qualification"


def answer_round(study, number: int, as_known: bool) -> None:
    """Judge the whole round of an annotator: "Is there a dog 7?" is known to be invalid, of even numbers valid."""
    for task in study.in_project(ROUND.format(number)):
        known = [
            "invalid" if int(re.findall(r"\d+", task["data"][name])[0]) % 2 else "valid"
            for name in ("first", "second")
        ]
        said = known if as_known else ["valid" if one == "invalid" else "invalid" for one in known]
        study.annotate(task, *said)


def real(study, number: int) -> list[str]:
    title = f"RGQA tiny: annotator-{number:02}"
    return study.keys(title) if any(row["title"] == title for row in study.projects.values()) else []


def test_real_tasks_come_to_those_who_passed_the_round_and_to_nobody_before(study, set_params, capsys):
    set_params("annotate", qualification=2, qualification_share=0.8)
    push()
    assert [len(study.keys(ROUND.format(number))) for number in (1, 2, 3)] == [2, 2, 2]
    assert [real(study, number) for number in (1, 2, 3)] == [[], [], []]
    answer_round(study, 1, as_known=True)
    answer_round(study, 2, as_known=False)
    capsys.readouterr()
    push()
    assert (
        len(real(study, 1)) == 40 and real(study, 2) == [] and real(study, 3) == []
    )  # alone, she gets every task once
    said = capsys.readouterr().out
    assert "annotator-01: qualification: passed, 4 of 4 questions as known" in said
    assert "annotator-02: qualification: not passed, 0 of 4 questions as known" in said
    assert "annotator-03: qualification: 0 of 4 questions answered" in said


def test_answers_of_the_round_are_no_verdicts(study, set_params):
    set_params("annotate", qualification=2)
    push()
    answer_round(study, 1, as_known=True)
    push()
    pull()
    assert not (Folders().annotations / "pulled.json").exists()


def test_without_the_parameter_there_is_no_round(study):
    push()
    assert not [row for row in study.projects.values() if "qualification" in row["title"]]
    assert real(study, 1)
