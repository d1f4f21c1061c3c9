import pytest

from annotation.client.contents import Contents, bring, look, picture_folders, read_batch, settings, who
from annotation.client.credentials import connection
from annotation.client.label_studio import LabelStudio
from annotation.client.queues import Queue
from annotation.study.exports import Person, pseudonym
from annotation.study.plan import AnnotateParams
from pipeline.core.errors import UserError
from pipeline.core.files import read_json, write_json
from pipeline.core.paths import Folders
from tests.annotation.conftest import people

ANN = people("ann")[0]
KNOWN = ("a", "b", "c", "d")


@pytest.fixture
def queue(study):
    return Queue(title="queue", server=LabelStudio(connection()), annotator=ANN)


@pytest.fixture
def put(study, queue):
    """Put a task of this key into the queue."""
    project = queue.server.ensure_project({"title": "queue"})
    return lambda key: study.put(project, {"task": key})


def test_a_queue_that_is_not_there_holds_nothing(queue):
    assert look(queue, KNOWN) == Contents()


def test_judged_begun_skipped_and_open_tasks_are_told_apart(study, queue, put):
    study.annotate(put("a"))
    put("b")["drafts"] = 1
    study.annotate(put("c"), was_cancelled=True, result=[])
    free = put("d")
    old = put("of another batch")
    study.put(put("x")["project"], {"text": "made by hand"})
    contents = look(queue, (*KNOWN, "x"))
    assert contents.touched == {"a": "judged", "b": "begun", "c": "skipped"}
    assert contents.open["d"] == free["id"]
    assert (contents.outdated, contents.strange, contents.total) == ([old["id"]], 1, 7)


def test_of_copies_the_touched_one_stays_and_else_the_first(study, queue, put):
    judged, spare, first, second = put("a"), put("a"), put("b"), put("b")
    study.annotate(judged)
    contents = look(queue, KNOWN)
    assert contents.copies == [spare["id"], second["id"]]
    assert contents.open == {"b": first["id"]}


def test_a_verdict_counts_more_than_a_draft_and_a_draft_more_than_a_skip(study, queue, put):
    study.annotate(put("a"), was_cancelled=True, result=[])
    put("a")["drafts"] = 1
    assert look(queue, KNOWN).touched == {"a": "begun"}
    study.annotate(put("a"))
    assert look(queue, KNOWN).touched == {"a": "judged"}


def test_tasks_judged_in_two_copies_are_named(study, queue, put):
    study.annotate(put("a"))
    study.annotate(put("a"))
    assert look(queue, KNOWN).judged_twice == ["a"]


def test_nothing_is_made_where_nothing_is_wanted(study, queue):
    bring(queue, Contents(), [], {}, AnnotateParams())
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


def test_a_folder_inside_another_is_served_with_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    images = ["a/images/1.jpg", "a/images/more/2.jpg", "b/images/3.jpg"]
    shown = {name: {"image": f"/data/local-files/?d={name}"} for name in images}
    assert picture_folders(shown) == [tmp_path / "data/a/images", tmp_path / "data/b/images"]
