from pathlib import Path

import pytest

from annotation.client.credentials import connect
from annotation.client.label_studio import LabelStudioClient, is_same_setting
from annotation.client.push import push_tasks
from pipeline.core.errors import UserError

OK = (200, "application/json")


@pytest.fixture
def server(fake):
    return connect()


@pytest.fixture
def project(server):
    return server.ensure_project({"title": "birds"})


def test_project_is_created_once(server, fake, project):
    assert server.ensure_project({"title": "birds"}) == server.find_project("birds") == project
    assert len(fake.projects) == 1


def test_longer_title_is_another_project(server, project):
    assert server.ensure_project({"title": "birds: qualification"}) != project
    assert server.find_project("bird") is None


def test_tasks_are_sorted_by_number_over_many_pages(server, fake, project, monkeypatch):
    monkeypatch.setattr("annotation.client.label_studio.PAGE_SIZE", 2)
    server.import_tasks(project, [{"data": {"task": f"t{number}"}} for number in range(5)])
    assert [task.rgqa_task_id for task in server.iter_tasks(project)] == [f"t{number}" for number in range(5)]
    # two a page: the third holds the last one, and its total says that there is no fourth
    assert fake.requests.count(("GET", "/api/tasks/")) == 3
    assert server.count_tasks(project) == 5


def test_only_untouched_tasks_are_deleted(server, fake, project):
    server.import_tasks(
        project, [{"data": {"task": name}} for name in ("open", "judged", "skipped", "begun")]
    )
    _, judged, skipped, begun = fake.tasks.values()
    fake.annotate(judged)
    fake.annotate(skipped, was_cancelled=True, result=[])
    begun["drafts"] = 1
    assert server.delete_untouched_tasks(project, list(fake.tasks)) == 1
    assert [task.rgqa_task_id for task in server.iter_tasks(project)] == ["judged", "skipped", "begun"]
    assert [task.rgqa_task_id for task in server.iter_annotated_tasks(project)] == ["judged", "skipped"]


def test_annotations_have_annotator_result_and_time(server, fake, project):
    server.import_tasks(project, [{"data": {"task": "t"}}])
    (task,) = fake.tasks.values()
    given = fake.annotate(task, person=7, lead_time=4)
    ((annotation,),) = [task.annotations for task in server.iter_annotated_tasks(project)]
    assert (annotation.id, annotation.completed_by, annotation.result) == (given["id"], 7, given["result"])
    assert (annotation.lead_time, annotation.created_at) == (4.0, given["created_at"])


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b"[]",
        b'{"tasks": null, "total": 3}',
        b'{"tasks": [{"id": 1}], "total": 1}',
        b'{"tasks": []}',
        b"1",
    ],
)
def test_malformed_task_list_is_not_read_as_empty(study, body):
    push_tasks()
    before = len(study.tasks)
    study.fault = lambda method, path, number: (*OK, body) if path == "/api/tasks/" else None
    with pytest.raises(UserError, match="answers, but is not a Label Studio 1.23"):
        push_tasks()
    study.fault = lambda *_: None
    assert len(study.tasks) == before


@pytest.mark.parametrize("body", [b"{}", b"[]", b'{"results": null}', b'"x"'])
def test_malformed_project_list_is_not_read_as_empty(study, body):
    push_tasks()
    before = len(study.projects)
    study.fault = lambda method, path, number: (
        (*OK, body) if (method, path) == ("GET", "/api/projects/") else None
    )
    with pytest.raises(UserError, match="answers, but is not a Label Studio 1.23"):
        push_tasks()
    study.fault = lambda *_: None
    assert len(study.projects) == before


def test_writes_are_sent_once_and_reads_are_retried(server, fake, project):
    fake.requests.clear()
    fake.fault = lambda method, path, number: (500, "application/json", b'{"detail": "locked"}')
    with pytest.raises(UserError, match="reports: locked"):
        server.import_tasks(project, [{"data": {"task": "t"}}])
    assert fake.requests == [("POST", f"/api/projects/{project}/import")]
    fake.requests.clear()
    with pytest.raises(UserError, match="reports: locked"):
        server.count_tasks(project)
    assert fake.requests == [("GET", f"/api/projects/{project}/")] * 2


def test_background_import_is_reported(server, fake, project):
    fake.after = lambda method, path, number: (
        (201, "application/json", b'{"import": 5}') if path.endswith("/import") else None
    )
    with pytest.raises(UserError, match="imports tasks in the background"):
        server.import_tasks(project, [{"data": {"task": "t"}}])


def test_unservable_images_are_reported_with_two_solutions(server, fake, project):
    fake.fault = lambda method, path, number: (
        (400, "application/json", b'{"detail": "serving is off"}')
        if (method, path) == ("POST", "/api/storages/localfiles/")
        else None
    )
    with pytest.raises(UserError) as caught:
        server.serve_images(project, Path("/images"))
    first, reason, advice = caught.value.problems
    assert first == f"{fake.url} cannot serve the images of /images:"
    assert "serving is off" in reason
    assert "LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED=true" in advice
    assert "annotate.image_base_url" in advice


def test_interface_is_compared_by_meaning_and_other_settings_by_value():
    assert is_same_setting(
        "label_config",
        '<View>\n  <Text name="a" value="$b"/></View>',
        '<View><Text value="$b" name="a" /></View>',
    )
    assert not is_same_setting(
        "label_config", "<View><Text name='a'/></View>", "<View><Text name='b'/></View>"
    )
    assert not is_same_setting("label_config", None, "<View/>")
    assert not is_same_setting("label_config", "<View>", "<View/>")
    assert not is_same_setting("title", "a ", "a")


def test_own_server_is_contacted_without_proxy(own, monkeypatch):
    for name in ("NO_PROXY", "no_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # where nothing listens
    assert connect().find_project("birds") is None
    with pytest.raises(UserError, match="no server answers"):  # another's way is the environment's business
        LabelStudioClient(own.url, connect().token).find_project("birds")
