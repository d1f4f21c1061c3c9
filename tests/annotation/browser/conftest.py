"""Provide a plain Label Studio and a headless Chromium for tests of the screens (pytest -m server).

Label Studio is the one of `.venv-label-studio/`; RGQA_LABEL_STUDIO names another environment's folder. Chromium is Debian's;
RGQA_CHROMIUM names another.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from annotation.client.consent import save_terms
from annotation.client.labeling_config import build_instructions, build_labeling_config
from annotation.server.environment import ensure_environment
from pipeline.core.paths import DatasetFolders

ROOT = Path(__file__).parents[3]
START_SECONDS = 600
EMAIL, PASSWORD, TOKEN = (
    "lead@example.org",
    "a password for tests",
    "0123456789abcdef0123456789abcdef01234567",
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # pages wait for hosts that do not answer
]


def read_first() -> str:
    """The instructions of a data set whose study leader gave a contact."""
    with tempfile.TemporaryDirectory() as home, contextlib.chdir(home):
        save_terms(DatasetFolders("birds"), "Lee, lee@example.org")
        return build_instructions(DatasetFolders("birds"))


class Studio(NamedTuple):
    url: str

    def call(self, method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=120) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def project(self, title: str, questions: list[tuple[str, str]]) -> int:
        """A project with our screen and instructions, and one task for each pair of questions."""
        made = {
            "title": title,
            "label_config": build_labeling_config(),
            "expert_instruction": read_first(),
            "show_instruction": True,
            "enable_empty_annotation": False,
        }
        number = self.call("POST", "/api/projects/", made)["id"]
        images = sorted((ROOT / "data/sample/source/images").glob("*.jpg"))
        storage = {"project": number, "path": str(images[0].parent), "use_blob_urls": False}
        self.call("POST", "/api/storages/localfiles", storage)
        rows = [
            {
                "data": {
                    "task": f"task{place}",
                    "image": f"/data/local-files/?d=sample/source/images/{images[place].name}",
                    "first": first,
                    "second": second,
                }
            }
            for place, (first, second) in enumerate(questions)
        ]
        self.call("POST", f"/api/projects/{number}/import", rows)
        return number

    def stored(self, project: int) -> dict[str, dict[str, str]]:
        """Task key -> what was chosen where, from the project's export."""
        found = {}
        for task in self.call("GET", f"/api/projects/{project}/export?exportType=JSON"):
            assert len(task["annotations"]) == 1, task
            results = task["annotations"][0]["result"]
            found[task["data"]["task"]] = {row["from_name"]: row["value"]["choices"][0] for row in results}
            assert len(found[task["data"]["task"]]) == len(results)
        return found


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A server with one account; stopped at the end."""
    home = tmp_path_factory.mktemp("label-studio")
    given = os.environ.get("RGQA_LABEL_STUDIO")
    program = Path(given) / "bin" / "python" if given else ensure_environment(ROOT / ".venv-label-studio")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {
        "LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED": "true",
        "LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT": str(ROOT / "data"),
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "COLLECT_ANALYTICS": "false",
        "LATEST_VERSION_CHECK": "false",
        "SENTRY_DSN": "",
        "FRONTEND_SENTRY_DSN": "",
    }
    command = [
        str(program.absolute()),
        "-m",
        "label_studio.server",
        "start",
        "--no-browser",
        "--internal-host",
        "127.0.0.1",
        "--port",
        str(port),
        "--data-dir",
        str(home),
        "--username",
        EMAIL,
        "--password",
        PASSWORD,
        "--user-token",
        TOKEN,
    ]
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(command, env=os.environ | settings, stdout=log, stderr=log, cwd=home)
    made = Studio(f"http://127.0.0.1:{port}")
    try:
        begun = time.monotonic()
        while not _answers(made.url):
            assert process.poll() is None, (home / "log").read_text()[-3000:]
            assert time.monotonic() - begun < START_SECONDS, "Label Studio does not answer"
            time.sleep(0.5)
        yield made
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=5) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        program = os.environ.get("RGQA_CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS, timeout=180_000)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def session(chromium: Any, studio: Studio) -> Any:
    """The cookies of someone who logged in through the page."""
    context = chromium.new_context()
    context.set_default_timeout(180_000)
    page = context.new_page()
    page.goto(f"{studio.url}/user/login/", wait_until="domcontentloaded")
    page.fill("input[name=email]", EMAIL)
    page.fill("input[name=password]", PASSWORD)
    page.click("button[type=submit]", no_wait_after=True)
    page.wait_for_url(lambda url: "login" not in url, wait_until="commit")
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture
def page(chromium: Any, session: Any) -> Iterator[Any]:
    """A page of 1366 x 768, a small laptop's, logged in."""
    context = chromium.new_context(storage_state=session, viewport={"width": 1366, "height": 768})
    context.set_default_timeout(120_000)
    yield context.new_page()
    context.close()
