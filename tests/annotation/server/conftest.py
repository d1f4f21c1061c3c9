"""A Label Studio of its own for the tests marked `server`: a folder, a free port, two annotators with a project each."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
import requests

from annotation.client.credentials import Secrets
from annotation.server import accounts, environment, process
from annotation.server.accounts import join
from annotation.study.roster import read_roster
from pipeline.core.paths import Folders

ROOT = Path(__file__).parents[3]
SCREEN = """<View><Image name="image" value="$image"/><Text name="first_text" value="$first"/>
<Choices name="first" toName="image"><Choice value="valid"/><Choice value="invalid"/></Choices></View>"""
ANSWER = [{"from_name": "first", "to_name": "image", "type": "choices", "value": {"choices": ["valid"]}}]


class Studio(NamedTuple):
    """`python` is Label Studio's; `home` its folder; `projects` and `tasks` by the annotator's name."""

    python: Path
    home: Path
    secrets: Secrets
    projects: dict[str, int]
    tasks: dict[str, list[int]]

    @property
    def url(self) -> str:
        return self.secrets.url

    def service(self, name: str) -> requests.Session:
        """A session as the service account of an annotator's organisation."""
        return self.bearer(self.secrets.annotators[name].token)

    def bearer(self, token: str) -> requests.Session:
        session = requests.Session()
        answer = session.post(f"{self.url}/api/token/refresh/", json={"refresh": token}, timeout=60)
        answer.raise_for_status()
        session.headers["Authorization"] = f"Bearer {answer.json()['access']}"
        return session

    def login(self, name: str) -> requests.Session:
        """A session as an annotator, logged in through the page's form."""
        session = requests.Session()
        login = self.secrets.annotators[name]
        page = session.get(f"{self.url}/user/login/", timeout=60)
        token = page.text.split('name="csrfmiddlewaretoken" value="')[1].split('"')[0]
        form = {"email": login.email, "password": login.password, "csrfmiddlewaretoken": token}
        session.post(f"{self.url}/user/login/", data=form, timeout=60, allow_redirects=False)
        return session


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """The annotators ann and ben, five tasks each, on a server that is stopped at the end."""
    folder = tmp_path_factory.mktemp("studio")
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield from made(folder)
    finally:
        process.stop()
        os.chdir(before)


def made(folder: Path) -> Iterator[Studio]:
    pictures = folder / "data/tiny/source/images"
    shutil.copytree(ROOT / "tests/tiny/source/images", pictures)
    (folder / "data/tiny/truth").mkdir()
    shutil.copy(next(pictures.iterdir()), folder / "data/tiny/truth/hidden.png")
    (pictures.parent / "questions.json").write_text("{}")
    (pictures / "script.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    join(Folders("tiny"), ["ann", "ben"])
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    python = environment.ensure(ROOT / ".venv-label-studio")
    secrets = accounts.ensure(python, read_roster(Folders("tiny")), port)
    process.start(python, port)
    studio = Studio(python, folder / "data/label-studio", secrets, {}, {})
    shown = sorted(path.name for path in pictures.iterdir() if path.suffix != ".svg")[:5]
    for name in ("ann", "ben"):
        service = studio.service(name)
        project = service.post(
            f"{studio.url}/api/projects/", json={"title": "RGQA tiny", "label_config": SCREEN}, timeout=60
        ).json()["id"]
        rows = [
            {"data": {"image": f"/data/local-files/?d=tiny/source/images/{file}", "first": "Is it?"}}
            for file in shown
        ]
        service.post(f"{studio.url}/api/projects/{project}/import", json=rows, timeout=60).raise_for_status()
        tasks = service.get(f"{studio.url}/api/tasks", params={"project": project}, timeout=60).json()[
            "tasks"
        ]
        studio.projects[name] = project
        studio.tasks[name] = sorted(task["id"] for task in tasks)
    yield studio


@pytest.fixture
def inside(studio: Studio) -> Callable[[str], Any]:
    """Run a few lines of Python with Label Studio's Django set up; the last must assign `answer`."""
    return partial(run_inside, studio)


def run_inside(studio: Studio, lines: str) -> Any:
    code = "import json, os, sys\nout = os.dup(1); os.dup2(2, 1)\nfrom annotation.server.studio.inside import set_up\nset_up()\n"
    done = subprocess.run(
        [studio.python, "-c", f"{code}{lines}\nos.write(out, json.dumps(answer).encode())"],
        env=environment.variables(),
        capture_output=True,
        check=True,
    )
    return msgspec.json.decode(done.stdout)


@pytest.fixture(scope="module", params=["the page's form", "a token"])
def ann(request: pytest.FixtureRequest, studio: Studio) -> requests.Session:
    """Ann, logged in through the page or with a personal token that somebody made for her."""
    if request.param == "the page's form":
        return studio.login("ann")
    return studio.bearer(token_of(studio, "ann"))


def token_of(studio: Studio, name: str) -> str:
    email = studio.secrets.annotators[name].email
    return run_inside(
        studio,
        "from jwt_auth.models import LSAPIToken\nfrom users.models import User\n"
        f"answer = LSAPIToken.for_user(User.objects.get(email={email!r})).get_full_jwt()",
    )


@pytest.fixture
def asked(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict]:
    """What Label Studio's Python is asked for; it gives `token of <e-mail>` to whoever has none."""
    questions: list[dict] = []

    def call(command: list[str], failed: str, **options: Any) -> bytes:
        wanted = msgspec.json.decode(options["input"])
        questions.append(msgspec.json.decode(options["input"]))
        for login in [wanted["admin"], *wanted["annotators"].values()]:
            login["token"] = login["token"] or f"token of {login['email']}"
            login.pop("active", None)
            login.pop("hotkeys", None)
        return msgspec.json.encode(wanted)

    monkeypatch.setattr(environment, "call", call)
    monkeypatch.setattr(environment, "ensure", lambda: Path("python"))
    for name in ("LABEL_STUDIO_URL", "LABEL_STUDIO_TOKEN", "RGQA_ANNOTATE_DATABASE"):
        monkeypatch.delenv(name, raising=False)
    return questions
