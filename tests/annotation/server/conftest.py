"""A Label Studio of its own for the tests marked `server`: a folder, a free port, a data set `tiny` whose tasks are pushed, and
the annotators ann, ben and cyd."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
import requests

from annotation.client.consent import save_terms
from annotation.client.credentials import read_secrets
from annotation.client.push import push_tasks
from annotation.server import accounts, environment, process
from annotation.study.roster import read_roster
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Task
from tests.annotation.conftest import made_task, write_batch

ROOT = Path(__file__).parents[3]
PEOPLE = ("ann", "ben", "cyd", "dan", "eve", "fay", "gus", "hal", "ivy", "joe", "kim", "lea", "amy", "bob")
# Every task gets two votes.
PARAMS = {
    "max_votes": 2,
    "wave_size": 10,
    "overlap_rate": 1.0,
    "seed": 1,
    "training_tasks": 0,
    "qualification_tasks": 0,
}


class Studio(NamedTuple):
    """`python` is Label Studio's; `folder` the project's; the working directory of the tests that use it."""

    python: Path
    folder: Path

    @property
    def url(self) -> str:
        return read_secrets().url

    @property
    def queue(self) -> Path:
        return self.folder / "data/tiny/study/queue.json"

    def admin(self) -> requests.Session:
        return self.bearer(read_secrets().token)

    def bearer(self, token: str) -> requests.Session:
        session = requests.Session()
        answer = session.post(f"{self.url}/api/token/refresh/", json={"refresh": token}, timeout=60)
        answer.raise_for_status()
        session.headers["Authorization"] = f"Bearer {answer.json()['access']}"
        return session

    def login(self, name: str) -> requests.Session:
        """A session as an annotator, logged in through the page's form, with a password that somebody gave them."""
        self.open_page(name)  # the account is made when the link is opened first
        session, email = requests.Session(), f"{name}@rgqa.local"
        lines = f"from users.models import User\nuser = User.objects.get(email={email!r})\n"
        run_inside(self, f"{lines}user.set_password('long enough 12')\nuser.save()\nanswer = 1")
        page = session.get(f"{self.url}/user/login/", timeout=60)
        form = {"email": email, "password": "long enough 12", "csrfmiddlewaretoken": form_token(page.text)}
        session.post(f"{self.url}/user/login/", data=form, timeout=60, allow_redirects=False)
        return session

    def open_page(self, name: str) -> PageClient:
        """Somebody's page, come to by their link, consent given."""
        client = PageClient(self.url, self.link(name))
        client.agree()
        return client

    def link(self, name: str) -> str:
        """The path of somebody's link."""
        (person,) = (person for person in read_roster(DatasetFolders()) if person.name == name)
        return accounts.make_link(person).removeprefix(self.url)

    def restart(self) -> None:
        """Start the server again if it was killed."""
        if process.find_running_server() is None:
            process.start_server(self.python, int(self.url.rsplit(":", 1)[1]))


class PageClient:
    """Does what annotation_page.js does: the page, its CSRF token, and one step after the other."""

    def __init__(
        self, url: str, address: str = "/annotate/", session: requests.Session | None = None
    ) -> None:
        self.url, self.session = url, session or requests.Session()
        page = self.session.get(url + address, timeout=60)
        self.csrf = page.text.partition('data-csrf="')[2].partition('"')[0]

    def post(self, body: Any, **more: Any) -> requests.Response:
        headers = {"X-CSRFToken": self.csrf}
        return self.session.post(f"{self.url}/annotate/step", json=body, headers=headers, timeout=60, **more)

    def step_once(self, body: Any) -> dict[str, Any]:
        answer = self.post(body)
        assert answer.status_code == 200, (answer.status_code, answer.text[:300])
        return answer.json()

    def step(self, body: Any) -> dict[str, Any]:
        """One step. If the next screen announces a part of the work, the part is started."""
        shown = self.step_once(body)
        while shown["screen"] == "announcement":
            texts = {name: shown[name] for name in ("guidelines", "contact") if name in shown}
            shown = texts | self.step_once({"start": shown["part"]})
        return shown

    def agree(self) -> dict[str, Any]:
        shown = self.step({})
        return self.step({"consent": shown["hash"]}) if shown["screen"] == "consent" else shown

    def answer(
        self, shown: dict[str, Any], first: str = "valid", second: str = "", **more: Any
    ) -> dict[str, Any]:
        """Without another word the second question, a gold question of `made_task`, is answered as it should be."""
        second = second or as_known(shown)
        said = {"assignment": shown["assignment"], "first": first, "second": second, "seconds": 2.5}
        return self.step({"answer": said | more})


def as_known(shown: dict[str, Any]) -> str:
    """The known verdict of the second question: "Is there a dog 7?" is invalid, as 7 is odd."""
    number = shown["second"].removesuffix("?").split()[-1]
    return "invalid" if number.isdigit() and int(number) % 2 else "valid"


def form_token(page: str) -> str:
    return page.split('name="csrfmiddlewaretoken" value="')[1].split('"')[0]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the tests that share one server: `test_views` needs fresh annotators, and `test_task_queue` uses up all tasks."""
    ranks = {"test_views.py": 0, "test_task_queue.py": 2}
    databases = {"sqlite": 1, "postgresql": 2}

    def sort_key(item: pytest.Item) -> tuple[int, int]:
        callspec = getattr(item, "callspec", None)
        database = callspec.params.get("studio") if callspec else None
        return databases.get(database, 0), ranks.get(item.path.name, 1)

    slots = [index for index, item in enumerate(items) if Path(__file__).parent in item.path.parents]
    for index, item in zip(slots, sorted((items[slot] for slot in slots), key=sort_key), strict=True):
        items[index] = item


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def studio(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """Of 100 tasks, each with a gold question as second question; on SQLite, then on PostgreSQL."""
    folder, tasks = tmp_path_factory.mktemp(request.param), [made_task(number) for number in range(100)]
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        if request.param == "postgresql":
            patch.setenv("RGQA_ANNOTATE_DATABASE", stack.enter_context(postgresql()))
        yield stack.enter_context(served(folder, tasks))


@contextmanager
def postgresql() -> Iterator[str]:
    """The address of a database on a PostgreSQL of its own, which runs in a temporary folder and is stopped at the end."""
    found = [
        shutil.which("postgres"),
        *sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), reverse=True),
    ]
    homes = [Path(os.path.realpath(path)).parent for path in found if path]
    home = next((home for home in homes if (home / "initdb").exists()), None)
    if home is None:
        pytest.skip("no PostgreSQL is installed here")
    # It refuses to run as root; Debian's package makes the user postgres for it.
    alone = ["runuser", "-u", "postgres", "--"] if getpass.getuser() == "root" else []
    folder = Path(tempfile.mkdtemp(prefix="rgqa-postgresql-"))
    port = process.ensure_free_port(0)
    if alone:
        shutil.chown(folder, "postgres")
    run = {"check": True, "capture_output": True, "cwd": "/"}
    subprocess.run([*alone, home / "initdb", "-D", folder / "data", "-U", "rgqa", "-A", "trust"], **run)
    log = (folder / "log").open("wb")
    command = [
        *alone,
        home / "postgres",
        "-D",
        folder / "data",
        "-p",
        str(port),
        "-k",
        folder,
        "-h",
        "127.0.0.1",
    ]
    server = subprocess.Popen(command, stdout=log, stderr=log, cwd="/")
    try:
        ready = [home / "pg_isready", "-h", "127.0.0.1", "-p", str(port)]
        while subprocess.run(ready, capture_output=True).returncode:
            assert server.poll() is None, (folder / "log").read_text()
            time.sleep(0.2)
        subprocess.run([home / "createdb", "-h", "127.0.0.1", "-p", str(port), "-U", "rgqa", "rgqa"], **run)
        yield f"postgresql://rgqa:x@127.0.0.1:{port}/rgqa"
    finally:
        server.terminate()
        server.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def served(
    folder: Path, tasks: Sequence[Task], people: Sequence[str] = PEOPLE, **params: Any
) -> Iterator[Studio]:
    """A server that is stopped at the end, and as working directory the folder of its project."""
    before = Path.cwd()
    images = folder / "data/tiny/source/images"
    shutil.copytree(ROOT / "tests/tiny/source/images", images)
    for task in tasks:
        path = images / f"{task.image_id}.png"
        if not path.exists():
            shutil.copy(ROOT / "tests/annotation/server/dot.png", path)
    (folder / "data/tiny/truth").mkdir()
    shutil.copy(ROOT / "tests/annotation/server/dot.png", folder / "data/tiny/truth/hidden.png")
    (images.parent / "questions.json").write_text("{}")
    shutil.copy(ROOT / "tests/annotation/server/dot.png", images / "dot.pjpeg")  # a PNG by content
    (images / "script.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    content = {"dataset": "tiny", "tiny": {"annotate": PARAMS | params}}
    (folder / "params.yaml").write_bytes(msgspec.yaml.encode(content))
    os.chdir(folder)
    try:
        write_batch(list(tasks))
        save_terms(DatasetFolders(), contact="Lee, lee@example.org")
        accounts.add_members(DatasetFolders(), people)
        python = environment.ensure_environment(ROOT / ".venv-label-studio")
        port = process.ensure_free_port(0)
        accounts.ensure_database(python, port)
        process.start_server(python, port)
        push_tasks()
        yield Studio(python, folder)
    finally:
        process.stop_server()
        os.chdir(before)


@pytest.fixture
def inside(studio: Studio) -> Callable[[str], Any]:
    """Run a few lines of Python with Label Studio's Django set up; the last must assign `answer`."""
    return partial(run_inside, studio)


def run_inside(studio: Studio, lines: str) -> Any:
    code = "import json, os, sys\nout = os.dup(1); os.dup2(2, 1)\nfrom annotation.server.label_studio_app.label_studio_main import set_up_django\nset_up_django()\n"
    done = subprocess.run(
        [studio.python, "-c", f"{code}{lines}\nos.write(out, json.dumps(answer).encode())"],
        env=environment.build_environment_variables(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return msgspec.json.decode(done.stdout)


def annotations(studio: Studio, name: str) -> list[dict[str, Any]]:
    """Somebody's annotations as Label Studio keeps them."""
    lines = [
        "from tasks.models import Annotation",
        f"rows = Annotation.objects.filter(completed_by__email='{name}@rgqa.local').order_by('pk')",
        "said = lambda row: {one['from_name']: one['value']['choices'][0] for one in row.result}",
        "answer = [{'id': row.pk, 'key': row.task.data['task'], 'said': said(row), 'seconds': row.lead_time,",
        "           'skipped': row.was_cancelled} for row in rows]",
    ]
    return run_inside(studio, "\n".join(lines))


def report(studio: Studio) -> dict[str, Any]:
    return studio.admin().get(f"{studio.url}/annotate/report", timeout=60).json()["tiny"]


def token_of(studio: Studio, name: str) -> str:
    """A personal token that somebody made for an annotator."""
    email = f"{name}@rgqa.local"
    return run_inside(
        studio,
        "from jwt_auth.models import LSAPIToken\nfrom users.models import User\n"
        f"answer = LSAPIToken.for_user(User.objects.get(email={email!r})).get_full_jwt()",
    )


@pytest.fixture
def asked(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict]:
    """What Label Studio's Python is asked for; it answers with the administrator's token."""
    questions: list[dict] = []

    def call(command: list[str], failure_message: str, **options: Any) -> bytes:
        questions.append(msgspec.json.decode(options["input"]))
        return b"token of the administrator"

    monkeypatch.setattr(environment, "run_command", call)
    monkeypatch.setattr(environment, "ensure_environment", lambda: Path("python"))
    for name in ("LABEL_STUDIO_URL", "LABEL_STUDIO_TOKEN", "RGQA_ANNOTATE_DATABASE"):
        monkeypatch.delenv(name, raising=False)
    return questions


def with_known(content: dict[str, Any], training: int, test: int) -> dict[str, Any]:
    """The queue with tasks of known verdicts: the first question valid, the second not."""
    image = "/data/local-files/?d=tiny/source/images/n0.png"
    known = [
        {
            "key": f"k{number}",
            "image": image,
            "first": {"text": f"Is there a cat {number}?", "expected": "valid", "explanation": "a cat"},
            "second": {
                "text": f"What color is the dog {number}?",
                "expected": "invalid",
                "explanation": "no dog",
            },
        }
        for number in range(training + 2 * test)
    ]
    rules = content["rules"] | {
        "training_tasks": training,
        "qualification_tasks": test,
        "min_qualification_accuracy": 0.8,
    }
    return content | {"known_tasks": known, "rules": rules}
