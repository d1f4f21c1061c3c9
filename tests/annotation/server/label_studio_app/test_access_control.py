"""Test on a real server that annotators and strangers have access to the annotation page only, and test the links to it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
import requests

from annotation.client.erase import erase_annotator
from annotation.server.accounts import update_roster
from annotation.server.label_studio_app.access_links import (
    OPEN_LINK_PREFIX,
    derive_annotator_secret,
    derive_secret,
)
from tests.annotation.server.conftest import PageClient, Studio, form_token, run_inside, token_of

# Access control
# Test on a real server that annotators and strangers have access to the annotation page only, by session and by token.


KEPT_AWAY = {401, 403, 404, 405, 415}
ANSWER = [{"from_name": "first", "to_name": "image", "type": "choices", "value": {"choices": ["valid"]}}]

# method, address, JSON. {annotation}, {draft} and {other} are another annotator's, {mine} is the own annotation of {task}.
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
    ("GET", "/api/dm/columns/?project={project}&project={project}", None),
    ("GET", "/api/dm/actions/?project={project}", None),
    ("POST", "/api/dm/actions/?id=next_task&project={project}", {}),
    ("GET", "/api/dm/views/?project={project}", None),
    ("GET", "/api/dm/views/{view}/", None),
    ("POST", "/api/dm/views/", {"project": "{project}", "data": {}}),
    ("GET", "/api/tasks/?project={project}", None),
    ("GET", "/api/tasks?project={project}", None),
    ("GET", "/api/tasks/?view={view}&project={project}", None),
    ("GET", "/api/tasks/?view={view}", None),
    ("GET", "/api/tasks/{task}/", None),
    ("GET", "/api/tasks/{task}", None),
    ("GET", "/api/tasks/{task}/?project={project}", None),
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
    ("POST", "/api/tasks/{task}/annotations/", {"result": ANSWER, "completed_by": "{other}"}),
    ("POST", "/api/tasks/{task}/annotations/", {"result": ANSWER, "parent_annotation": "{annotation}"}),
    ("POST", "/api/tasks/{task}/annotations/", {"result": ANSWER, "task": "{task}"}),
]


OWN = [
    ("GET", "/projects/{project}/settings/", None),
    ("PATCH", "/api/projects/{project}/", {"title": "mine"}),
    ("DELETE", "/api/projects/{project}/", None),
    ("POST", "/api/projects/", {"title": "mine"}),
    ("POST", "/api/projects/{project}/import", [{"first": "x"}]),
    ("POST", "/api/projects/{project}/reimport", {}),
    ("DELETE", "/api/projects/{project}/tasks/", None),
    ("GET", "/api/projects/{project}/export?exportType=JSON", None),
    ("POST", "/api/projects/{project}/exports/", {}),
    ("DELETE", "/api/tasks/{task}/", None),
    ("PATCH", "/api/tasks/{task}/", {"data": {}}),
    ("POST", "/api/tasks/", {"project": "{project}", "data": {}}),
    (
        "POST",
        "/api/dm/actions/?id=delete_tasks&project={project}",
        {"selectedItems": {"all": True, "excluded": []}},
    ),
    (
        "POST",
        "/api/dm/actions/?id=delete_tasks_annotations&project={project}",
        {"selectedItems": {"all": True, "excluded": []}},
    ),
    (
        "POST",
        "/api/dm/actions/?id=next_task&id=delete_tasks&project={project}",
        {"selectedItems": {"all": True, "excluded": []}},
    ),
    ("DELETE", "/api/dm/views/reset/?project={project}", None),
    ("GET", "/api/invite", None),
    ("POST", "/api/invite/reset-token", {}),
    ("GET", "/api/organizations/", None),
    ("POST", "/api/organizations/", {"title": "mine"}),
    ("POST", "/api/users/", {"email": "x@y.zz", "username": "x"}),
    ("PATCH", "/api/users/{user}/", {"active_organization": "{org}"}),
    ("GET", "/api/current-user/token", None),
    ("POST", "/api/current-user/reset-token/", {}),
    ("GET", "/api/token/", None),
    ("POST", "/api/token/", {}),
    ("POST", "/api/jwt/settings", {"legacy_api_tokens_enabled": True}),
    ("PATCH", "/api/session-policy/", {"max_session_age": 1}),
    ("POST", "/api/webhooks/", {"url": "http://127.0.0.1:1/", "organization": 1}),
    ("POST", "/api/ml/", {"url": "http://127.0.0.1:1/", "project": "{project}"}),
    ("POST", "/api/storages/localfiles/", {"project": "{project}", "path": "/etc"}),
    (
        "POST",
        "/api/storages/s3/validate",
        {"project": "{project}", "bucket": "x", "s3_endpoint": "http://127.0.0.1:1/"},
    ),
    ("POST", "/api/storages/export/localfiles", {"project": "{project}", "path": "/srv"}),
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

# What is new with the client: its leader's half, the images and the places of others, and ways around the list of views.
AT_THE_DESK = [
    ("GET", "/annotate/report", None),
    ("POST", "/annotate/report", {}),
    ("GET", "/annotate/erase", None),
    ("POST", "/annotate/erase", {"email": "bob@rgqa.local"}),
    ("GET", "/annotate/erase/", None),
    ("PUT", "/annotate/step", {}),
    ("GET", "/annotate/step", None),
    ("DELETE", "/annotate/", None),
    ("POST", "/annotate/", {}),
    ("POST", "/annotate/image/1", {}),
    ("GET", "/annotate/image/900", None),
    ("GET", "/annotate/image/0", None),
    ("GET", "/annotate/image/-1", None),
    ("GET", "/annotate/image/99999999999999999999", None),
    ("GET", "/annotate/image/1/../../report", None),
    ("GET", "/annotate/static/client.html", None),
    ("GET", "/annotate/static/..%2Fgate.py", None),
    ("GET", "/annotate/static/..%2F..%2F..%2F..%2Fdata%2Flabel-studio%2Fsecrets.json", None),
    ("GET", "/annotate/open/", None),
    ("GET", "/annotate/open/x", None),
    ("GET", "/annotate/open/" + 64 * "0", None),
    ("GET", "/annotate/join/x", None),
    ("POST", "/annotate/join/-", {"name": "eve"}),
    ("GET", "/data/local-files/?d=tiny/source/images/n0.png", None),
    ("GET", "/data/local-files?d=tiny/source/images/n0.png", None),
    ("GET", "/data/local-files/?d=tiny/study/queue.json", None),
    ("GET", "/data/local-files/?d=tiny/truth/hidden.png", None),
    ("GET", "/data/local-files/?d=label-studio/secrets.json", None),
    ("GET", "/api/tasks?page_size=10000&fields=all", None),
    ("GET", "/api/tasks/?page_size=10000&project={project}", None),
    ("GET", "//api/tasks/", None),
    ("GET", "/api//tasks/", None),
    ("GET", "/API/tasks/", None),
    ("GET", "/api/tasks/%7Btask%7D/", None),
    ("GET", "/projects/{project}/data?labeling=1&task={task}", None),
    ("PATCH", "/api/dm/views/1/", {"data": {"ordering": ["tasks:data.second"]}}),
    ("POST", "/api/dm/views/order/", {"project": "{project}", "ids": [1]}),
    ("GET", "/api/projects/", None),
    ("GET", "/api/users/", None),
    ("GET", "/api/current-user/whoami", None),
    ("PATCH", "/api/current-user/hotkeys/", {"custom_hotkeys": {}}),
    ("GET", "/api/version/", None),
    ("GET", "/api/import/file-upload/1", None),
    ("GET", "/static/../../data/label-studio/secrets.json", None),
    ("GET", "/static/%2e%2e/%2e%2e/settings.py", None),
    ("OPTIONS", "/api/tasks/", None),
    ("HEAD", "/api/tasks/", None),
    ("TRACE", "/api/tasks/", None),
    ("POST", "/api/token/blacklist/", {"refresh": "x"}),
    ("POST", "/api/token/rotate/", {"refresh": "x"}),
    ("POST", "/user/login/?next=//evil.example", {"email": "x", "password": "x"}),
    ("PUT", "/logout", None),
]
ATTACKS = [*OTHERS, *OWN, *AT_THE_DESK]
WHO = ("annotator, by the page's form", "annotator, by a token", "annotator, by their link", "stranger")


@pytest.fixture(scope="module")
def numbers(studio: Studio) -> dict[str, int]:
    """What there is on the server: bob's answer, amy's, a draft and a view of the leader's."""
    for name in ("amy", "bob"):
        client = studio.open_page(name)
        client.answer(client.step({}))
    lines = [
        "from tasks.models import Annotation, AnnotationDraft, Task",
        "from users.models import User",
        "ann, ben = (User.objects.get(email=f'{name}@rgqa.local') for name in ('amy', 'bob'))",
        "his, hers = (Annotation.objects.filter(completed_by=user).first() for user in (ben, ann))",
        "draft = AnnotationDraft.objects.get_or_create(task=his.task, user=ben, defaults={'result': []})[0]",
        "from data_manager.models import View",
        "view = View.objects.get_or_create(project=his.project, defaults={'data': {}})[0]",
        "answer = {'project': his.project_id, 'task': his.task_id, 'annotation': his.pk, 'draft': draft.pk, 'view': view.pk,",
        "          'other': ben.pk, 'user': ann.pk, 'org': ann.active_organization_id}",
    ]
    return run_inside(studio, "\n".join(lines))


def filled(value: Any, numbers: dict[str, int]) -> Any:
    """The same with numbers in place of names in braces; a string that was nothing else becomes the number."""
    if isinstance(value, str):
        text = value.format(**numbers) if "{" in value else value
        return int(text) if value.startswith("{") and value.endswith("}") else text
    if isinstance(value, list):
        return [filled(one, numbers) for one in value]
    return {key: filled(one, numbers) for key, one in value.items()} if isinstance(value, dict) else value


def session_of(studio: Studio, who: str) -> requests.Session:
    if who == WHO[0]:
        return studio.login("amy")
    if who == WHO[1]:
        return studio.bearer(token_of(studio, "amy"))
    return studio.open_page("amy").session if who == WHO[2] else requests.Session()


def content(studio: Studio) -> Any:
    """All that could be changed: tasks, answers, drafts, views, people, projects, tokens."""
    lines = [
        "from django.apps import apps",
        "names = ['tasks.Task', 'tasks.Annotation', 'tasks.AnnotationDraft', 'data_manager.View', 'users.User', 'projects.Project',",
        "         'organizations.OrganizationMember', 'webhooks.Webhook', 'ml.MLBackend']",
        "skip = {'last_activity', 'activity_at', 'last_login', 'updated_at'}",
        "rows = lambda name: [{k: str(v) for k, v in row.items() if k not in skip} for row in apps.get_model(name).objects.order_by('pk').values()]",
        "answer = {name: rows(name) for name in names}",
    ]
    return run_inside(studio, "\n".join(lines))


@pytest.mark.server
def test_attacks_are_refused(
    studio: Studio, numbers: dict[str, int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    sessions = {who: session_of(studio, who) for who in WHO}  # first: one of them needs a password
    before, table, through = content(studio), [], []
    for who, session in sessions.items():
        csrf = PageClient(studio.url, session=session).csrf
        for method, address, body in ATTACKS:
            # The prepared address is kept as it is written: requests would take `..` out.
            wanted = requests.Request(
                method, studio.url + "/", json=filled(body, numbers), headers={"X-CSRFToken": csrf}
            )
            request = session.prepare_request(wanted)
            request.url = studio.url + filled(address, numbers)
            answer = session.send(request, timeout=60, allow_redirects=False)
            to = f" to {answer.headers['Location']}" if answer.is_redirect else ""
            table.append(f"{who}\t{method}\t{address}\t{answer.status_code}{to}\t{len(answer.content)} bytes")
            if not refused(answer, address):
                through.append(table[-1])
    home = (
        Path(os.environ.get("RGQA_ACCESS_TABLE", tmp_path_factory.mktemp("access")))
        / f"access-{'postgresql' if os.environ.get('RGQA_ANNOTATE_DATABASE') else 'sqlite'}.tsv"
    )
    home.write_text("\n".join(table) + "\n")
    assert len(ATTACKS) >= 80
    assert through == []
    assert content(studio) == before


def refused(answer: requests.Response, address: str) -> bool:
    """Whether nothing came of it: refused, or sent to the login or the own client, or the login page shown again."""
    if answer.is_redirect:
        return answer.headers["Location"] in ("/user/login/?next=/annotate/", "/annotate/", "/")
    if address.startswith("/static"):
        return answer.status_code in {400, 404}
    if address.startswith("/user/login"):
        return (
            answer.status_code in KEPT_AWAY
            or "errorlist" in answer.text
            or "csrfmiddlewaretoken" in answer.text
        )
    return answer.status_code in KEPT_AWAY


@pytest.mark.server
def test_same_urls_work_for_the_administrator(studio: Studio, numbers: dict[str, int]) -> None:
    # Otherwise the refusals above would prove nothing: the addresses might not exist.
    asked = [
        "/api/projects/{project}/",
        "/api/projects/{project}/next/",
        "/api/dm/project/?project={project}",
        "/api/dm/columns/?project={project}",
        "/api/tasks/?project={project}",
        "/api/tasks?page_size=10000&fields=all&project={project}",
        "/api/tasks/{task}/",
        "/api/tasks/{task}/annotations/",
        "/api/annotations/{annotation}/",
        "/api/dm/views/{view}/",
        "/api/users/",
        "/api/users/{other}/",
        "/api/current-user/whoami",
        "/data/local-files/?d=tiny/source/images/n0.png",
        "/annotate/report",
    ]
    admin = studio.admin()
    statuses = {
        address: admin.get(studio.url + filled(address, numbers), timeout=60).status_code for address in asked
    }
    assert statuses == dict.fromkeys(asked, 200)


@pytest.mark.server
@pytest.mark.parametrize("name", ["label-studio/secrets.json", "tiny/truth/hidden.png", "tiny/source/questions.json",
                                  "tiny/source/images/script.svg", "tiny/source/images/../../truth/hidden.png", "/etc/hostname"])  # fmt: skip
def test_only_images_are_served_even_to_the_administrator(studio: Studio, name: str) -> None:
    assert (
        studio.admin().get(f"{studio.url}/data/local-files/", params={"d": name}, timeout=60).status_code
        == 404
    )


@pytest.mark.server
def test_image_has_the_media_type_of_its_content(studio: Studio) -> None:
    address = f"{studio.url}/data/local-files/"
    answer = studio.admin().get(address, params={"d": "tiny/source/images/dot.pjpeg"}, timeout=60)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "image/png")


@pytest.mark.server
def test_annotators_are_redirected_to_the_annotation_page(studio: Studio) -> None:
    for path in ("/", "/projects/"):
        answer = studio.login("amy").get(studio.url + path, timeout=60, allow_redirects=False)
        assert answer.headers["Location"] == "/annotate/"
    for path in ("/", "/annotate/"):
        stranger = requests.get(studio.url + path, timeout=60, allow_redirects=False)
        assert stranger.status_code == 401 and "Open your personal link" in stranger.text


@pytest.mark.server
def test_legacy_token_is_refused_even_with_a_session(studio: Studio) -> None:
    session = studio.login("amy")
    for headers in ({"Authorization": "Token x"}, {"X-Api-Key": "x"}):
        assert session.get(f"{studio.url}/annotate/", headers=headers, timeout=60).status_code == 401


@pytest.mark.server
def test_step_without_csrf_token_is_refused(studio: Studio) -> None:
    session = studio.login("amy")
    assert session.post(f"{studio.url}/annotate/step", json={}, timeout=60).status_code == 403


@pytest.mark.server
def test_nobody_can_sign_up(studio: Studio) -> None:
    link = run_inside(
        studio, "from organizations.models import Organization\nanswer = Organization.objects.first().token"
    )
    stranger = requests.Session()
    token = form_token(stranger.get(f"{studio.url}/user/login/", timeout=60).text)
    form = {"email": "stranger@example.org", "password": "long enough 12", "csrfmiddlewaretoken": token}
    answer = stranger.post(
        f"{studio.url}/user/signup/?token={link}", data=form, timeout=60, allow_redirects=False
    )
    assert answer.status_code == 401


@pytest.mark.server
def test_links_are_never_logged_and_older_logs_are_cleaned(studio: Studio) -> None:
    update_roster(["leo"])
    link = studio.link("leo")
    secret = link.rpartition("/")[2]
    client = PageClient(studio.url, link)
    cookies = [cookie.value for cookie in client.session.cookies]
    update_roster(["leo"], remove=True)
    log = studio.folder / "data/label-studio/server.log"
    before = log.stat().st_size
    addresses = (link, f"{link}/x", f"/annotate/join/{secret}", f"{link}%00")
    for address in addresses:
        assert requests.get(studio.url + address, timeout=60).status_code in {400, 403, 404}
    client.session.get(f"{studio.url}/api/users/", timeout=60)
    requests.get(f"{studio.url}/api/users/", headers={"Authorization": f"Bearer {secret}"}, timeout=60)
    written = log.read_text()[before:]
    assert "/annotate/open/***" in written and "/annotate/join/***" in written
    assert not any(word in written for word in (secret, *cookies))
    with log.open("a") as file:
        file.write(f"Forbidden: {link}\n")  # as an earlier version logged it
    erase_annotator("leo")
    assert secret not in log.read_text()


# Access links


def test_secret_depends_on_key_and_person_and_is_url_safe():
    ann = derive_secret("key", "ann@rgqa.local")
    # openssl dgst -sha256 -hmac key -binary <<< "rgqa desk ann@rgqa.local" (without the line's end) | basenc --base64url
    assert ann == "kdFXa5WGDWBihiya4if6kDjgKlkMiXu9WH4dX6RL_p4"
    others = {
        derive_secret("key", "ben@rgqa.local"),
        derive_secret("kez", "ann@rgqa.local"),
        derive_secret("key", OPEN_LINK_PREFIX),
    }
    assert len(others | {ann}) == 4
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{43}", secret) for secret in others)


def test_link_depends_on_pseudonym_except_for_volunteers():
    first, second = (
        derive_annotator_secret("key", "ann@rgqa.local", f"annotator-0{number}") for number in (1, 2)
    )
    assert first != second  # the second ann is another, and the first one may be forgotten
    # A volunteer gets the link before a pseudonym, and keeps it afterwards.
    zoe = "zoe.1a2b3c4d@volunteer.rgqa.local"
    assert (
        derive_annotator_secret("key", zoe, "")
        == derive_annotator_secret("key", zoe, "annotator-03")
        == derive_secret("key", zoe)
    )
