"""On a real server: what an annotator can reach by address and by API, logged in through the page and by a token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import requests

from tests.annotation.server.conftest import ANSWER, Studio

pytestmark = pytest.mark.server


KEPT_AWAY = {401, 403, 404, 405, 415}


# method, address, JSON. {project}, {task}, {annotation}, {draft}, {view} are the other annotator's, {me} one's own project,
# {mytask} one's own task, {other} the other's number, {org} the other's organisation.
OTHERS = [
    ("GET", "/api/projects/{project}/", None),
    ("PATCH", "/api/projects/{project}/", {"title": "mine"}),
    ("DELETE", "/api/projects/{project}/", None),
    ("GET", "/api/projects/{project}", None),
    ("GET", "/api/projects/{project}/next/", None),
    ("GET", "/api/projects/{project}/label-stream-history/", None),
    ("GET", "/api/projects/{project}/tasks/", None),
    ("GET", "/api/projects/{project}/summary/", None),
    ("GET", "/api/projects/{project}/annotators/", None),
    ("GET", "/api/projects/{project}/sample-task/", None),
    ("GET", "/api/projects/{project}/export?exportType=JSON", None),
    ("GET", "/api/projects/{project}/export/files", None),
    ("GET", "/api/projects/{project}/exports/", None),
    ("POST", "/api/projects/{project}/exports/", {}),
    ("POST", "/api/projects/{project}/import", [{"first": "x"}]),
    ("GET", "/projects/{project}/", None),
    ("GET", "/projects/{project}/data", None),
    ("GET", "/projects/{project}/settings/", None),
    ("GET", "/api/dm/project/?project={project}", None),
    ("GET", "/api/dm/columns/?project={project}", None),
    ("GET", "/api/dm/columns/?project={me}&project={project}", None),
    ("GET", "/api/dm/actions/?project={project}", None),
    ("POST", "/api/dm/actions/?id=next_task&project={project}", {}),
    ("GET", "/api/dm/views/?project={project}", None),
    ("GET", "/api/dm/views/{view}/", None),
    ("POST", "/api/dm/views/", {"project": "{project}", "data": {}}),
    ("GET", "/api/tasks/?project={project}", None),
    ("GET", "/api/tasks?project={project}", None),
    ("GET", "/api/tasks/?view={view}&project={me}", None),
    ("GET", "/api/tasks/?view={view}", None),
    ("GET", "/api/tasks/{task}/", None),
    ("GET", "/api/tasks/{task}", None),
    ("GET", "/api/tasks/{task}/?project={me}", None),
    ("PATCH", "/api/tasks/{task}/", {"data": {}}),
    ("DELETE", "/api/tasks/{task}/", None),
    ("GET", "/api/tasks/{task}/agreement/", None),
    ("GET", "/api/tasks/{task}/annotations/", None),
    ("POST", "/api/tasks/{task}/annotations/", {"result": ANSWER}),
    ("GET", "/api/tasks/{task}/drafts", None),
    ("POST", "/api/tasks/{task}/drafts", {"result": ANSWER, "lead_time": 1}),
    ("GET", "/api/annotations/{annotation}/", None),
    ("PATCH", "/api/annotations/{annotation}/", {"result": []}),
    ("DELETE", "/api/annotations/{annotation}/", None),
    ("POST", "/api/annotations/{annotation}/convert-to-draft", {}),
    ("GET", "/api/drafts/{draft}/", None),
    ("PATCH", "/api/drafts/{draft}/", {"result": []}),
    ("DELETE", "/api/drafts/{draft}/", None),
    ("GET", "/api/predictions/?project={project}", None),
    ("POST", "/api/predictions/", {"task": "{task}", "result": []}),
    ("GET", "/api/users/?project={project}", None),
    ("GET", "/api/users/{other}/", None),
    ("PATCH", "/api/users/{other}/", {"first_name": "x"}),
    ("DELETE", "/api/users/{other}/", None),
    ("GET", "/api/organizations/{org}", None),
    ("GET", "/api/organizations/{org}/memberships", None),
    ("GET", "/api/storages/?project={project}", None),
    ("GET", "/api/storages/localfiles/?project={project}", None),
    ("GET", "/api/ml/?project={project}", None),
    ("GET", "/api/label_links/?project={project}", None),
    ("GET", "/api/webhooks/?project={project}", None),
    ("GET", "/tasks/{task}/resolve/?fileuri=YQ==", None),
    ("GET", "/projects/{project}/resolve/?fileuri=YQ==", None),
    ("GET", "/api/fsm/entities/task/{task}/history", None),
    ("POST", "/api/tasks/{mytask}/annotations/", {"result": ANSWER, "completed_by": "{other}"}),
    ("POST", "/api/tasks/{mytask}/annotations/", {"result": ANSWER, "parent_annotation": "{annotation}"}),
    ("POST", "/api/tasks/{mytask}/annotations/", {"result": ANSWER, "task": "{task}"}),
]


# Within one's own organisation: everything but labelling.
OWN = [
    ("GET", "/projects/{me}/settings/", None),
    ("PATCH", "/api/projects/{me}/", {"title": "mine"}),
    ("DELETE", "/api/projects/{me}/", None),
    ("POST", "/api/projects/", {"title": "mine"}),
    ("POST", "/api/projects/{me}/import", [{"first": "x"}]),
    ("POST", "/api/projects/{me}/reimport", {}),
    ("DELETE", "/api/projects/{me}/tasks/", None),
    ("GET", "/api/projects/{me}/export?exportType=JSON", None),
    ("POST", "/api/projects/{me}/exports/", {}),
    ("DELETE", "/api/tasks/{mytask}/", None),
    ("PATCH", "/api/tasks/{mytask}/", {"data": {}}),
    ("POST", "/api/tasks/", {"project": "{me}", "data": {}}),
    (
        "POST",
        "/api/dm/actions/?id=delete_tasks&project={me}",
        {"selectedItems": {"all": True, "excluded": []}},
    ),
    (
        "POST",
        "/api/dm/actions/?id=delete_tasks_annotations&project={me}",
        {"selectedItems": {"all": True, "excluded": []}},
    ),
    (
        "POST",
        "/api/dm/actions/?id=next_task&id=delete_tasks&project={me}",
        {"selectedItems": {"all": True, "excluded": []}},
    ),
    ("DELETE", "/api/dm/views/reset/?project={me}", None),
    ("GET", "/api/invite", None),
    ("POST", "/api/invite/reset-token", {}),
    ("GET", "/api/organizations/", None),
    ("POST", "/api/organizations/", {"title": "mine"}),
    ("POST", "/api/users/", {"email": "x@y.zz", "username": "x"}),
    ("PATCH", "/api/users/{myself}/", {"active_organization": "{org}"}),
    ("GET", "/api/current-user/token", None),
    ("POST", "/api/current-user/reset-token/", {}),
    ("GET", "/api/token/", None),
    ("POST", "/api/token/", {}),
    ("POST", "/api/jwt/settings", {"legacy_api_tokens_enabled": True}),
    ("PATCH", "/api/session-policy/", {"max_session_age": 1}),
    ("POST", "/api/webhooks/", {"url": "http://127.0.0.1:1/", "organization": 1}),
    ("POST", "/api/ml/", {"url": "http://127.0.0.1:1/", "project": "{me}"}),
    ("POST", "/api/storages/localfiles/", {"project": "{me}", "path": "/etc"}),
    (
        "POST",
        "/api/storages/s3/validate",
        {"project": "{me}", "bucket": "x", "s3_endpoint": "http://127.0.0.1:1/"},
    ),
    ("POST", "/api/storages/export/localfiles", {"project": "{me}", "path": "/srv"}),
    ("GET", "/user/account/", None),
    ("GET", "/organization/", None),
    ("GET", "/people/", None),
    ("GET", "/admin/", None),
    ("GET", "/django-rq/", None),
    ("GET", "/docs/api/schema/json/", None),
    ("GET", "/feature-flags/", None),
    ("GET", "/trigger500/", None),
    ("GET", "/data/upload/1/x.json", None),
    ("GET", "/storage-data/uploaded/?filepath=upload/1/x.json", None),
]


@pytest.fixture(scope="module")
def judged(studio: Studio) -> dict[str, dict[str, int]]:
    """What each annotator owns, after one answer, one draft and one view."""
    owned = {}
    for name in ("ann", "ben"):
        session, task = studio.login(name), studio.tasks[name][0]
        annotation = session.post(
            f"{studio.url}/api/tasks/{task}/annotations/",
            json={"result": ANSWER, "lead_time": 3.5},
            timeout=60,
        )
        draft = session.post(
            f"{studio.url}/api/tasks/{task}/drafts", json={"result": ANSWER, "lead_time": 1}, timeout=60
        )
        view = session.post(
            f"{studio.url}/api/dm/views/", json={"project": studio.projects[name], "data": {}}, timeout=60
        )
        me = session.get(f"{studio.url}/api/current-user/whoami", timeout=60).json()
        owned[name] = {
            "annotation": annotation.json()["id"],
            "draft": draft.json()["id"],
            "view": view.json()["id"],
            "project": studio.projects[name],
            "task": task,
            "user": me["id"],
            "org": me["active_organization"],
        }
    return owned


def filled(value: Any, numbers: dict[str, int]) -> Any:
    """The same with numbers in place of names in braces; a string that was nothing else becomes the number."""
    if isinstance(value, str):
        text = value.format(**numbers) if "{" in value else value
        return int(text) if value.startswith("{") and value.endswith("}") else text
    if isinstance(value, list):
        return [filled(one, numbers) for one in value]
    return {key: filled(one, numbers) for key, one in value.items()} if isinstance(value, dict) else value


@pytest.fixture
def numbers(judged: dict[str, dict[str, int]]) -> dict[str, int]:
    mine, others = judged["ann"], judged["ben"]
    more = {"me": mine["project"], "mytask": mine["task"], "myself": mine["user"], "other": others["user"]}
    return {**others, **more}


@pytest.mark.parametrize(("method", "address", "body"), OTHERS)
def test_what_is_anothers_is_out_of_reach(
    studio: Studio, ann: requests.Session, numbers: dict[str, int], method: str, address: str, body: Any
) -> None:
    answer = ann.request(
        method,
        studio.url + filled(address, numbers),
        json=filled(body, numbers),
        timeout=60,
        allow_redirects=False,
    )
    assert answer.status_code in KEPT_AWAY, answer.text[:300]


@pytest.mark.parametrize(("method", "address", "body"), OWN)
def test_an_annotator_can_only_label(
    studio: Studio, ann: requests.Session, numbers: dict[str, int], method: str, address: str, body: Any
) -> None:
    answer = ann.request(
        method,
        studio.url + filled(address, numbers),
        json=filled(body, numbers),
        timeout=60,
        allow_redirects=False,
    )
    assert answer.status_code in KEPT_AWAY, answer.text[:300]


def test_the_same_addresses_do_answer_their_owner(studio: Studio, judged: dict[str, dict[str, int]]) -> None:
    # Otherwise the refusals above would prove nothing: the addresses might not exist.
    ben, own = studio.login("ben"), judged["ben"]
    asked = [
        f"/api/projects/{own['project']}/",
        f"/api/projects/{own['project']}/next/",
        f"/api/dm/project/?project={own['project']}",
        f"/api/dm/columns/?project={own['project']}",
        f"/api/tasks/?project={own['project']}",
        f"/api/tasks/{own['task']}/",
        f"/api/tasks/{own['task']}/annotations/",
        f"/api/tasks/{own['task']}/drafts",
        f"/api/annotations/{own['annotation']}/",
        f"/api/drafts/{own['draft']}/",
        f"/api/dm/views/{own['view']}/",
        f"/projects/{own['project']}/data",
        f"/api/users/?project={own['project']}",
    ]
    assert {
        address: ben.get(studio.url + address, timeout=60).status_code for address in asked
    } == dict.fromkeys(asked, 200)


def test_lists_hold_nothing_of_others(
    studio: Studio, ann: requests.Session, judged: dict[str, dict[str, int]]
) -> None:
    projects = ann.get(f"{studio.url}/api/projects/", timeout=60).json()["results"]
    assert [project["id"] for project in projects] == [judged["ann"]["project"]]
    people = ann.get(
        f"{studio.url}/api/users/", params={"project": judged["ann"]["project"]}, timeout=60
    ).json()
    assert "ben" not in str(people) and "admin" not in str(people)


def test_an_annotator_answers_corrects_and_drafts_as_themselves(
    studio: Studio, judged: dict[str, dict[str, int]]
) -> None:
    ann, task, me = studio.login("ann"), studio.tasks["ann"][1], judged["ann"]["user"]
    drafted = ann.post(
        f"{studio.url}/api/tasks/{task}/drafts", json={"result": ANSWER, "lead_time": 2}, timeout=60
    ).json()
    made = ann.post(
        f"{studio.url}/api/tasks/{task}/annotations/?project={studio.projects['ann']}",
        json={
            "result": ANSWER,
            "lead_time": 4.25,
            "draft_id": drafted["id"],
            "project": str(studio.projects["ann"]),
        },
        timeout=60,
    ).json()
    assert (made["completed_by"], made["lead_time"]) == (me, 4.25)
    assert (
        ann.get(f"{studio.url}/api/drafts/{drafted['id']}/", timeout=60).status_code == 404
    )  # it became the answer
    changed = [{**ANSWER[0], "value": {"choices": ["invalid"]}}]
    ann.patch(
        f"{studio.url}/api/annotations/{made['id']}/", json={"result": changed, "lead_time": 6}, timeout=60
    ).raise_for_status()
    seen = studio.service("ann").get(f"{studio.url}/api/annotations/{made['id']}/", timeout=60).json()
    assert (seen["result"][0]["value"]["choices"], seen["completed_by"]) == (["invalid"], me)
    assert ann.delete(f"{studio.url}/api/annotations/{made['id']}/", timeout=60).status_code == 403
    assert (
        ann.post(
            f"{studio.url}/api/annotations/{made['id']}/convert-to-draft", json={}, timeout=60
        ).status_code
        == 403
    )
    # A slip on Skip, which stands beside Update, must not take the answer back.
    skipped = {"result": [], "was_cancelled": True}
    assert (
        ann.patch(f"{studio.url}/api/annotations/{made['id']}/", json=skipped, timeout=60).status_code == 403
    )
    assert (
        ann.post(
            f"{studio.url}/api/tasks/{task}/annotations/?was_cancelled=1", json={"result": []}, timeout=60
        ).status_code
        == 403
    )
    seen = studio.service("ann").get(f"{studio.url}/api/annotations/{made['id']}/", timeout=60).json()
    assert not seen["was_cancelled"] and seen["result"][0]["value"]["choices"] == ["invalid"]


def test_they_land_on_their_queue(studio: Studio) -> None:
    answer = studio.login("ann").get(f"{studio.url}/", timeout=60, allow_redirects=False)
    assert answer.headers["Location"] == f"/projects/{studio.projects['ann']}/data?labeling=1"


STRANGE = [
    "/data/local-files/?d=tiny/source/images/n100001.jpg",
    "/api/projects/",
    "/api/tasks/1/",
    "/api/users/",
    "/api/version/",
    "/user/signup/",
    "/admin/",
    "/docs/api/schema/json/",
    "/trigger500/",
    "/metrics/",
    "/feature-flags/",
    "/data/upload/1/x",
]


def test_a_stranger_sees_the_login_and_cannot_sign_up(studio: Studio, inside: Callable[[str], Any]) -> None:
    def status(address: str) -> int:
        return requests.get(studio.url + address, timeout=60, allow_redirects=False).status_code

    assert {address: status(address) for address in STRANGE} == dict.fromkeys(STRANGE, 401)
    assert status("/user/login/") == 200 and status("/") == 302
    link = inside(
        "from organizations.models import Organization\nanswer = Organization.objects.first().token"
    )
    stranger = requests.Session()
    token = (
        stranger.get(f"{studio.url}/user/login/", timeout=60)
        .text.split('name="csrfmiddlewaretoken" value="')[1]
        .split('"')[0]
    )
    form = {"email": "stranger@example.org", "password": "long enough 12", "csrfmiddlewaretoken": token}
    answer = stranger.post(
        f"{studio.url}/user/signup/?token={link}", data=form, timeout=60, allow_redirects=False
    )
    assert answer.status_code == 401
    assert (
        inside(
            "from users.models import User\nanswer = User.objects.filter(email='stranger@example.org').count()"
        )
        == 0
    )


def test_service_accounts_are_kept_to_their_organisation(studio: Studio) -> None:
    service = studio.service("ann")
    for address in (
        f"/api/tasks/?project={studio.projects['ben']}",
        f"/api/projects/{studio.projects['ben']}/next/",
    ):
        assert service.get(studio.url + address, timeout=60).status_code in {403, 404}
