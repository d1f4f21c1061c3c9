"""The connection to Label Studio and its credentials."""

from pathlib import Path

import pytest

from annotation.client.credentials import LABEL_STUDIO_DIR, SECRETS_FILE, Secrets, connect, read_secrets
from annotation.client.label_studio import LabelStudioClient, is_same_setting
from annotation.client.push import push_tasks
from annotation.study.private_files import write_private
from pipeline.core.errors import UserError

# Label studio


OK = (200, "application/json")


@pytest.fixture
def server(fake):
    return connect()


@pytest.fixture
def birds_project(server):
    return server.ensure_project({"title": "birds"})


def test_project_is_created_once(server, fake, birds_project):
    assert server.ensure_project({"title": "birds"}) == server.find_project("birds") == birds_project
    assert len(fake.projects) == 1


def test_longer_title_is_another_project(server, birds_project):
    assert server.ensure_project({"title": "birds: qualification"}) != birds_project
    assert server.find_project("bird") is None


def test_tasks_are_sorted_by_number_over_many_pages(server, fake, birds_project, monkeypatch):
    monkeypatch.setattr("annotation.client.label_studio.PAGE_SIZE", 2)
    server.import_tasks(birds_project, [{"data": {"task": f"t{number}"}} for number in range(5)])
    assert [task.rgqa_task_id for task in server.iter_tasks(birds_project)] == [
        f"t{number}" for number in range(5)
    ]
    # two a page: the third holds the last one, and its total says that no fourth exists
    assert fake.requests.count(("GET", "/api/tasks/")) == 3
    assert server.count_tasks(birds_project) == 5


def test_only_untouched_tasks_are_deleted(server, fake, birds_project):
    server.import_tasks(
        birds_project, [{"data": {"task": name}} for name in ("open", "judged", "skipped", "begun")]
    )
    _, judged, skipped, begun = fake.tasks.values()
    fake.annotate(judged)
    fake.annotate(skipped, was_cancelled=True, result=[])
    begun["drafts"] = 1
    assert server.delete_untouched_tasks(birds_project, list(fake.tasks)) == 1
    assert [task.rgqa_task_id for task in server.iter_tasks(birds_project)] == ["judged", "skipped", "begun"]
    assert [task.rgqa_task_id for task in server.iter_annotated_tasks(birds_project)] == ["judged", "skipped"]


def test_annotations_have_annotator_result_and_time(server, fake, birds_project):
    server.import_tasks(birds_project, [{"data": {"task": "t"}}])
    (task,) = fake.tasks.values()
    given = fake.annotate(task, person=7, lead_time=4)
    ((annotation,),) = [task.annotations for task in server.iter_annotated_tasks(birds_project)]
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


def test_writes_are_sent_once_and_reads_are_retried(server, fake, birds_project):
    fake.requests.clear()
    fake.fault = lambda method, path, number: (500, "application/json", b'{"detail": "locked"}')
    with pytest.raises(UserError, match="reports: locked"):
        server.import_tasks(birds_project, [{"data": {"task": "t"}}])
    assert fake.requests == [("POST", f"/api/projects/{birds_project}/import")]
    fake.requests.clear()
    with pytest.raises(UserError, match="reports: locked"):
        server.count_tasks(birds_project)
    assert fake.requests == [("GET", f"/api/projects/{birds_project}/")] * 2


def test_background_import_is_reported(server, fake, birds_project):
    fake.after = lambda method, path, number: (
        (201, "application/json", b'{"import": 5}') if path.endswith("/import") else None
    )
    with pytest.raises(UserError, match="imports tasks in the background"):
        server.import_tasks(birds_project, [{"data": {"task": "t"}}])


def test_unservable_images_are_reported_with_two_solutions(server, fake, birds_project):
    fake.fault = lambda method, path, number: (
        (400, "application/json", b'{"detail": "serving is off"}')
        if (method, path) == ("POST", "/api/storages/localfiles/")
        else None
    )
    with pytest.raises(UserError) as caught:
        server.serve_images(birds_project, Path("/images"))
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


# Credentials


OURS = Secrets(url="http://127.0.0.1:8080", email="admin@rgqa.local", password="a", token="admin's")


def opened():
    server = connect()
    return server.url, server.token, server.is_managed


@pytest.fixture
def empty_project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("LABEL_STUDIO_URL", "LABEL_STUDIO_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("empty_project")
def test_secrets_round_trip_and_are_private():
    write_private(SECRETS_FILE, OURS)
    assert read_secrets() == OURS
    assert SECRETS_FILE.stat().st_mode & 0o777 == 0o600
    assert LABEL_STUDIO_DIR.stat().st_mode & 0o777 == 0o700


@pytest.mark.usefixtures("empty_project")
def test_readable_secrets_are_refused():
    write_private(SECRETS_FILE, OURS)
    SECRETS_FILE.chmod(0o640)
    with pytest.raises(UserError, match="other users .* chmod 600 data/label-studio/secrets.json"):
        read_secrets()


@pytest.mark.usefixtures("empty_project")
def test_own_server_uses_the_administrator_token():
    write_private(SECRETS_FILE, OURS)
    assert opened() == (OURS.url, "admin's", True)


@pytest.mark.usefixtures("empty_project")
def test_environment_variables_override_own_server(monkeypatch):
    write_private(SECRETS_FILE, OURS)
    monkeypatch.setenv("LABEL_STUDIO_URL", "https://label.example.org/")
    monkeypatch.setenv("LABEL_STUDIO_TOKEN", "t")
    assert opened() == ("https://label.example.org", "t", False)


@pytest.mark.usefixtures("empty_project")
@pytest.mark.parametrize("name", ["LABEL_STUDIO_URL", "LABEL_STUDIO_TOKEN"])
def test_one_of_two_environment_variables_is_refused(monkeypatch, name):
    monkeypatch.setenv(name, "x")
    with pytest.raises(UserError, match="LABEL_STUDIO_URL.*LABEL_STUDIO_TOKEN"):
        connect()


@pytest.mark.usefixtures("empty_project")
def test_missing_server_is_explained():
    with pytest.raises(UserError, match="rgqa annotate serve"):
        connect()
