"""Sets and releases by their names on the Hugging Face Hub, from a hub on 127.0.0.1."""

import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from pipeline.benchmark.release.check_release import write_checksums
from pipeline.cli import run
from pipeline.cli.hub_arguments import resolve_hub_arguments
from pipeline.core.errors import UserError
from pipeline.public_sets.hub_sets import fetch_if_on_hub
from tests.http_server import QuietServer, serving
from tests.inference.small_server import make_release, small_server
from tests.public_sets import made_public_sets as made

pytest.importorskip("inspect_ai")
COMMIT = "0123456789abcdef0123456789abcdef01234567"


class HubHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self.answer()

    def do_GET(self):
        self.answer()

    def answer(self):
        path, files = unquote(urlsplit(self.path).path), self.server.files
        self.server.log.append((self.command, path))
        start = f"/datasets/me/set/resolve/{COMMIT}/"
        if path in ("/api/datasets/me/set/revision/v1", f"/api/datasets/me/set/revision/{COMMIT}"):
            listed = {"id": "me/set", "sha": COMMIT, "siblings": [{"rfilename": name} for name in files]}
            self.send(200, json.dumps(listed).encode())
        elif path.startswith("/api/datasets/me/set/revision/"):
            self.send(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
        elif path.startswith("/api/datasets/me/set/tree/"):
            self.send(
                200,
                json.dumps(
                    [
                        {"type": "file", "path": name, "size": len(data), "oid": "0"}
                        for name, data in files.items()
                    ]
                ).encode(),
            )
        elif path.startswith("/api/datasets/"):
            self.send(404, b"{}", {"X-Error-Code": "RepoNotFound"})
        elif path.startswith(start) and (data := files.get(path.removeprefix(start))) is not None:
            self.send(200, data, {"ETag": f'"{hash(data):x}"', "X-Repo-Commit": COMMIT})
        else:
            self.send(404 if path != "/" else 200, b"{}")

    def send(self, status, data, headers=None):
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A hub with a data set me/set at revision v1, whose files a test adds."""
    server = QuietServer(HubHandler)
    server.files, server.log = {}, []
    url = server.url.removesuffix("/v1")
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", url)
    template = url + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.chdir(tmp_path)
    with serving(server):
        yield server


def publish(hub, folder):
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            hub.files[path.relative_to(folder).as_posix()] = path.read_bytes()


def test_a_set_is_fetched_once_and_asked(hub, tmp_path):
    publish(hub, made.make_pope_hub(tmp_path / "set").parent.parent)
    with small_server() as server:
        run.main(
            resolve_hub_arguments(["hub:me/set@v1", "--server", server.url, "--model", "net", "--out", "run"])
        )
        fetched = sum(command == "GET" and "/resolve/" in path for command, path in hub.log)
        run.main(
            resolve_hub_arguments(["hub:me/set@v1", "--server", server.url, "--model", "net", "--out", "run"])
        )
    assert len(Path("run/predictions.jsonl").read_text().splitlines()) == 16
    assert fetched == sum(command == "GET" and "/resolve/" in path for command, path in hub.log) == 1


def test_one_file_of_a_data_set_is_fetched_alone(hub, tmp_path):
    folder = made.make_pope(tmp_path / "set")
    publish(hub, folder)
    path = fetch_if_on_hub("hub:me/set@v1:coco_pope_random.json")
    assert path.read_bytes() == (folder / "coco_pope_random.json").read_bytes()
    assert [*path.parent.iterdir()] == [path]


def test_a_release_of_the_hub_is_asked_and_checked(hub, tmp_path):
    release = make_release(tmp_path / "made", 3)
    write_checksums(release)
    publish(hub, release)
    line = ["hub:me/set@v1", "--model", "net", "--no-image", "--out", "run"]
    with small_server() as server:
        run.main(resolve_hub_arguments([*line, "--server", server.url]))
    assert len(Path("run/predictions.jsonl").read_text().splitlines()) == 6
    kept = fetch_if_on_hub("hub:me/set@v1") / "rgqa/pt-hard.json"
    target = kept.resolve()
    target.write_bytes(target.read_bytes().replace(b"red", b"tan"))
    with (
        small_server() as server,
        pytest.raises(UserError, match="its content has changed"),
    ):
        run.main(resolve_hub_arguments([*line, "--server", server.url]))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hub:me", "wanted hub:OWNER/NAME"),
        ("hub:me/set@v2", "me/set has no revision v2"),
        ("hub:me/nosuch@v1", "no such data set, or one that needs access"),
        ("hub:me/set@v1:nosuch", "the data set has no nosuch at this revision"),
    ],
)
def test_names_that_do_not_exist_are_refused(hub, name, message):
    hub.files["README.md"] = b"x"
    with pytest.raises(UserError, match=message):
        fetch_if_on_hub(name)


def test_an_unreachable_hub_is_reported_and_the_cache_is_used(hub, tmp_path, monkeypatch, capsys):
    publish(hub, made.make_pope_hub(tmp_path / "set").parent.parent)
    kept = fetch_if_on_hub("hub:me/set@v1")
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    assert fetch_if_on_hub("hub:me/set@v1") == kept
    with pytest.raises(UserError, match="the Hub is unreachable, and the data set is not in the local cache"):
        fetch_if_on_hub("hub:me/other@v1")


def test_a_text_that_begins_like_a_name_is_no_name():
    words = ["errata", "add", "1", "hub: the label is wrong"]
    assert resolve_hub_arguments(words) == words


def test_a_name_may_follow_an_option(hub):
    hub.files["README.md"] = b"x"
    plain, resolved, text = resolve_hub_arguments(
        ["hub:me/set@v1", "--release=hub:me/set@v1", "hub: is wrong"]
    )
    assert (resolved, text) == (f"--release={plain}", "hub: is wrong")
