import pytest

from annotation.client.credentials import Login, Secrets, connection, write_secrets
from annotation.client.queues import (
    Queue,
    bring,
    look,
    noted,
    open_queues,
    read_batch,
    settings,
    who,
)
from annotation.study.exports import Person, pseudonym
from annotation.study.plan import AnnotateParams
from annotation.study.roster import write_roster
from pipeline.core.errors import Problems, UserError
from pipeline.core.files import read_json, write_json
from pipeline.core.paths import Folders
from tests.annotation.conftest import people

ANN = people("ann")[0]


@pytest.fixture
def queue(study):
    return Queue(title="queue", server=connection(), annotator=ANN)


@pytest.fixture
def put(study, queue):
    """Put a task of this key into the queue."""
    project = queue.server.ensure_project({"title": "queue"})
    return lambda key: study.put(project, {"task": key})


def rows(queue):
    """(number, key, state) of what the queue holds, what counts of copies first."""
    return list(look(queue).itertuples(index=False, name=None))


def test_a_queue_that_is_not_there_holds_nothing(queue):
    assert rows(queue) == []


def test_judged_begun_skipped_and_open_tasks_are_told_apart(study, queue, put):
    tasks = [put(key) for key in "abcd"]
    study.annotate(tasks[0])
    tasks[1]["drafts"] = 1
    study.annotate(tasks[2], was_cancelled=True, result=[])
    strange = study.put(tasks[0]["project"], {"text": "made by hand"})
    states = ["judged", "begun", "skipped", "open"]
    expected = [(task["id"], key, state) for task, key, state in zip(tasks, "abcd", states, strict=True)]
    assert rows(queue) == [*expected, (strange["id"], "", "open")]


def test_of_copies_the_touched_one_counts_and_else_the_first(study, queue, put):
    spare, judged, first, second = put("a"), put("a"), put("b"), put("b")
    study.annotate(judged)
    assert rows(queue) == [
        (judged["id"], "a", "judged"),
        (spare["id"], "a", "open"),
        (first["id"], "b", "open"),
        (second["id"], "b", "open"),
    ]


def test_a_verdict_counts_more_than_a_draft_and_a_draft_more_than_a_skip(study, queue, put):
    study.annotate(put("a"), was_cancelled=True, result=[])
    put("a")["drafts"] = 1
    assert [state for _, _, state in rows(queue)] == ["begun", "skipped"]
    study.annotate(put("a"))
    assert [state for _, _, state in rows(queue)] == ["judged", "begun", "skipped"]


def test_tasks_judged_in_two_copies_are_named(study, queue, put, capsys):
    for _ in range(3):
        study.annotate(put("a"))
    bring(queue, look(queue), [], {}, AnnotateParams())
    assert (
        "1 tasks were judged in two copies; both stay, the last verdict counts: a\n"
        in capsys.readouterr().err
    )


def test_nothing_is_made_where_nothing_is_wanted(study, queue):
    held = look(queue)
    study.requests.clear()
    bring(queue, held, [], {}, AnnotateParams())
    assert study.requests == []


@pytest.mark.parametrize(
    ("person", "owners", "expected"),
    [
        (7, {7}, ANN.pseudonym),
        (8, {7}, pseudonym(8)),  # the study leader, to try it
        (8, set(), ANN.pseudonym),  # the server knows no address of hers, so the queue decides
        (None, {7}, ANN.pseudonym),  # her account was deleted
        (Person(id=8), {7}, pseudonym(8)),
    ],
)
def test_a_queue_is_its_annotators_unless_the_server_knows_better(queue, person, owners, expected):
    assert who(person, queue, owners) == expected


def test_tasks_and_what_is_shown_of_them_must_be_the_same_batch(study):
    path = Folders().stage("batch") / "label_studio_tasks.json"
    write_json(path, read_json(path)[:-1])
    with pytest.raises(UserError, match="hold different tasks; run: dvc repro"):
        read_batch(Folders(), AnnotateParams())


def test_who_share_a_project_judge_each_task_as_often_as_wanted(queue):
    shared = Queue(title="shared", server=queue.server)
    params = AnnotateParams(votes=3)
    assert (settings(queue, params)["maximum_annotations"], settings(queue, params)["skip_queue"]) == (
        1,
        "IGNORE_SKIPPED",
    )
    assert (settings(shared, params)["maximum_annotations"], settings(shared, params)["skip_queue"]) == (
        3,
        "REQUEUE_FOR_OTHERS",
    )


@pytest.fixture
def own(tiny, monkeypatch):
    """Our own server, on which ann and ben have accounts."""
    for name in ("LABEL_STUDIO_URL", "LABEL_STUDIO_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    logins = {name: Login(email=f"{name}@example.org", password="p", token=name) for name in ("ann", "ben")}
    write_secrets(
        Secrets(url="http://127.0.0.1:8080", admin=Login(email="a", password="p"), annotators=logins)
    )


def test_on_our_server_each_queue_has_the_same_title_and_a_token_of_its_own(own):
    write_roster(Folders(), people("ann", "ben"))
    problems = Problems("test")
    queues = open_queues(Folders(), problems)
    assert [(queue.name, queue.title, queue.server.token) for queue in queues] == [
        ("annotator-01", "RGQA tiny", "ann"),
        ("annotator-02", "RGQA tiny", "ben"),
    ]
    assert problems.lines == []


def test_elsewhere_all_queues_are_projects_of_one_server(study):
    queues = open_queues(Folders(), Problems("test"))
    assert [queue.title for queue in queues] == [f"RGQA tiny: annotator-0{number}" for number in (1, 2, 3)]
    assert len({id(queue.server) for queue in queues}) == 1


def test_opening_asks_the_servers_nothing(study):
    open_queues(Folders(), Problems("test"))
    assert study.requests == []


def test_who_has_no_account_is_told_and_the_others_are_reached(own):
    write_roster(Folders(), people("ann", "zoe"))
    problems = Problems("test")
    assert [queue.name for queue in open_queues(Folders(), problems)] == ["annotator-01"]
    assert len(problems.lines) == 1 and problems.lines[0].startswith("zoe has no account")


def test_when_nobody_can_be_reached_all_of_it_is_told(own):
    write_roster(Folders(), people("yan", "zoe"))
    with pytest.raises(UserError) as caught:
        open_queues(Folders(), Problems("test"))
    assert [line.split()[0] for line in caught.value.problems] == ["test:", "yan", "zoe"]


def test_our_server_wants_annotators_of_a_name(own):
    with pytest.raises(UserError, match="nobody annotates yet; run: rgqa annotate invite NAME"):
        open_queues(Folders(), Problems("test"))


def test_what_several_queues_say_alike_is_noted_once():
    problems = Problems("test")
    for _ in range(2):
        with noted(problems):
            raise UserError("no server answers")
    with noted(problems, "annotator-01: "):
        raise UserError(["a", "b"])
    assert problems.lines == ["no server answers", "annotator-01: a", "annotator-01: b"]
