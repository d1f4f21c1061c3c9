"""Releases are published to a small server that implements the protocol of the hub.

The command runs in a process of its own, because the library of the hub reads the address when it is imported.
"""

import base64
import hashlib
import json
import os
import secrets
import shutil
import subprocess
import sys
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import pytest
from msgspec.structs import replace

from pipeline.benchmark.release.provenance import Provenance
from pipeline.benchmark.release.publish_hub import publish_to_hub
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json, read_jsonl, write_json, write_jsonl
from tests.closure import ROOT

NAME, TOKEN = "us/tiny", "hf_test"


class Hub(ThreadingHTTPServer):
    """A server that implements the protocol of the hub.

    Attributes:
        repos: Name -> path -> bytes.
        tags: Tags by name.
        uploaded: Large files by SHA-256.
        requests: Method and path of every request.
        commit: The latest commit.
        refuse: A part of the paths that are answered with status 403.
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.repos, self.tags, self.uploaded, self.requests, self.refuse = {}, {}, {}, [], "nothing"
        # What was downloaded of a commit is not downloaded again.
        self.commit = secrets.token_hex(20)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Hub

    def log_message(self, *_): ...

    def reply(self, value, status=200, headers=()):
        data = json.dumps(value).encode()
        self.send_response(status)
        for name, text in dict(headers).items():
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(data)

    def begin(self, method):
        hub, path = self.server, self.path.split("?")[0]
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        hub.requests.append((method, path))
        if not path.startswith("/lfs/") and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self.reply({"error": "Invalid credentials in Authorization header"}, 401)
        elif hub.refuse in path:
            self.reply({"error": "no right to write"}, 403)
        else:
            getattr(self, method)(hub, path, data)

    do_GET, do_HEAD, do_POST, do_PUT = (
        lambda self, m=m: self.begin(m) for m in ("get", "head", "post", "put")
    )

    def get(self, hub, path, _):
        if path == f"/api/datasets/{NAME}/refs":
            tags = [
                {"name": tag, "ref": f"refs/tags/{tag}", "targetCommit": "0" * 40} for tag in hub.tags[NAME]
            ]
            self.reply({"branches": [], "converts": [], "tags": tags})
        elif path.startswith(f"/api/datasets/{NAME}/tree/"):
            rows = [
                {"type": "file", "path": p, "size": len(d), "oid": "0" * 40}
                for p, d in hub.repos[NAME].items()
            ]
            self.reply(rows)
        elif path.startswith(f"/api/datasets/{NAME}/revision/"):
            revision = path.rpartition("/")[2]
            if revision not in {"main", *hub.tags.get(NAME, ())}:
                self.reply({"error": "Invalid rev id"}, 404, {"X-Error-Code": "RevisionNotFound"})
            else:
                rows = [{"rfilename": name} for name in hub.repos[NAME]]
                self.reply(
                    {
                        "id": NAME,
                        "sha": hub.commit,
                        "siblings": rows,
                        "tags": [],
                        "private": False,
                        "downloads": 0,
                        "likes": 0,
                        "disabled": False,
                        "gated": False,
                    }
                )
        elif path.startswith(f"/datasets/{NAME}/resolve/"):
            self.send_content(hub.repos[NAME][unquote(path.split("/", 6)[6])])
        else:
            self.reply({"error": "Entry not found"}, 404, {"X-Error-Code": "RepoNotFound"})

    def send_content(self, data):
        """Send a file, or only its headers."""
        self.send_response(200)
        for name, value in (
            ("Content-Length", len(data)),
            ("ETag", f'"{hashlib.sha256(data).hexdigest()}"'),
            ("X-Repo-Commit", self.server.commit),
        ):
            self.send_header(name, str(value))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    head = get

    def put(self, hub, path, data):
        hub.uploaded[path.removeprefix("/lfs/")] = data
        self.reply({})

    def post(self, hub, path, data):
        if path == "/api/repos/create":
            row = json.loads(data)
            assert row["type"] == "dataset"
            name = f"{row['organization']}/{row['name']}"
            there = name in hub.repos
            hub.repos.setdefault(name, {})
            hub.tags.setdefault(name, [])
            self.reply({"url": f"{hub.url}/datasets/{name}"}, 409 if there else 200)
        elif path == "/api/validate-yaml":
            self.reply({"errors": [], "warnings": []})
        elif path == f"/api/datasets/{NAME}/preupload/main":
            files = [row["path"] for row in json.loads(data)["files"]]
            large = (".parquet", ".png", ".whl", ".jsonl")
            modes = [{"path": p, "uploadMode": "lfs" if p.endswith(large) else "regular"} for p in files]
            self.reply({"files": [mode | {"shouldIgnore": False} for mode in modes]})
        elif path == f"/datasets/{NAME}.git/info/lfs/objects/batch":
            rows = json.loads(data)["objects"]
            links = [{"upload": {"href": f"{hub.url}/lfs/{row['oid']}", "header": {}}} for row in rows]
            self.reply({"objects": [row | {"actions": link} for row, link in zip(rows, links, strict=True)]})
        elif path == f"/api/datasets/{NAME}/commit/main":
            for line in map(json.loads, data.splitlines()):
                self.apply(hub, line["key"], line["value"])
            self.reply({"success": True, "commitUrl": f"{hub.url}/{NAME}/commit/0", "commitOid": "0" * 40})
        elif path == f"/api/datasets/{NAME}/tag/main":
            hub.tags[NAME].append(json.loads(data)["tag"])
            self.reply({})
        else:
            self.reply({"error": "unknown"}, 404)

    def apply(self, hub, key, value):
        files = hub.repos[NAME]
        if key == "file":
            files[value["path"]] = base64.b64decode(value["content"])
        elif key == "lfsFile":
            assert len(hub.uploaded[value["oid"]]) == value["size"]
            files[value["path"]] = hub.uploaded[value["oid"]]
        elif key == "deletedFile":
            del files[value["path"]]


@pytest.fixture
def hub():
    with Hub() as found:
        thread = threading.Thread(target=partial(found.serve_forever, poll_interval=0.01))
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def publish(release, hub, *words, token=TOKEN):
    """Publish the release, and return the exit code and the output of the command."""
    return call(release, hub, "publish", str(release), "--hub", NAME, *words, token=token)


def call(release, hub, *words, token=TOKEN):
    """Run a command in a process of its own, and return its exit code and output."""
    environment = os.environ | {
        "HF_ENDPOINT": hub.url,
        "HF_TOKEN": token,
        "HF_HUB_DISABLE_XET": "1",
        "HF_HOME": str(release.parent / "hf"),
        "NO_PROXY": "127.0.0.1",
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-m", "pipeline.cli", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return done.returncode, done.stdout + done.stderr


def test_the_release_is_uploaded_unchanged_and_the_version_is_a_tag(release, hub):
    (release / ".private").write_text("left beside it")
    hub.repos[NAME], hub.tags[NAME] = {"old.txt": b"of another version", ".gitattributes": b"*.x"}, ["v0.0.1"]
    code, output = publish(release, hub, "--allow-simulated")
    (release / ".private").unlink()
    assert code == 0 and TOKEN not in output, output
    assert "simulated, as a demo: " in output and f"as v0.1.0 -> {hub.url}/datasets/{NAME}" in output
    files = {p.relative_to(release).as_posix(): p.read_bytes() for p in release.rglob("*") if p.is_file()}
    assert {path: data for path, data in hub.repos[NAME].items() if path != ".gitattributes"} == files
    assert hub.tags[NAME] == ["v0.0.1", "v0.1.0"]
    parquet = [data for path, data in files.items() if path.endswith(".parquet")]
    assert parquet and {hashlib.sha256(data).hexdigest() for data in parquet} <= hub.uploaded.keys()
    before = len(hub.requests)
    code, output = publish(release, hub, "--allow-simulated")
    assert code == 1 and "v0.1.0 is already published, and a published version never changes" in output
    assert not any("commit" in path or "lfs" in path for _, path in hub.requests[before:])


def test_a_refused_upload_is_reported_and_not_tagged(release, hub):
    hub.refuse = "/preupload/"
    code, output = publish(release, hub, "--allow-simulated")
    assert (
        code == 1
        and "the hub refused the upload or cannot be reached" in output
        and "Traceback" not in output
    )
    assert hub.tags[NAME] == [] and hub.repos[NAME] == {}
    code, output = publish(release, hub, "--allow-simulated", token="hf_wrong")
    assert code == 1 and "check that the token has write access" in output and "hf_wrong" not in output


def test_an_interrupted_upload_continues(release, hub):
    hub.refuse = "/tag/"
    code, output = publish(release, hub, "--allow-simulated")
    assert code == 1 and "the same command continues" in output and hub.tags[NAME] == []
    hub.refuse = "nothing"
    assert publish(release, hub, "--allow-simulated")[0] == 0
    assert hub.tags[NAME] == ["v0.1.0"] and "README.md" in hub.repos[NAME]


@pytest.mark.parametrize("kind", ["simulated", "rehearsal", "those of models"])
def test_simulated_releases_are_published_as_demos_only(release, tmp_path, kind, monkeypatch):
    home = shutil.copytree(release, tmp_path / "copy")
    rows = [
        replace(
            row, item=replace(row.item, rehearsal=kind == "rehearsal", simulated=kind != "those of models")
        )
        for row in read_jsonl(home / "provenance.jsonl", Provenance)
    ]
    write_jsonl(home / "provenance.jsonl", rows)
    given = read_json(home / "params.json")
    given["release"]["annotated_by"] = "machine-generated" if kind == "those of models" else ""
    write_json(home / "params.json", given)
    monkeypatch.setattr("pipeline.benchmark.release.publish_hub.check_release", lambda folder: "")
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)  # Nothing can be uploaded.
    with pytest.raises(UserError, match=f"verdicts are (a )?{kind}.*--allow-simulated"):
        publish_to_hub(home, NAME)


def test_without_a_token_or_a_complete_release_nothing_is_uploaded(release, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    with pytest.raises(UserError, match="set HF_TOKEN"):
        publish_to_hub(release, NAME, is_demo=True)
    with pytest.raises(UserError, match="expected OWNER/NAME"):
        publish_to_hub(release, "tiny", is_demo=True)
    home = shutil.copytree(release, tmp_path / "copy")
    (home / "LICENSE").unlink()
    with pytest.raises(UserError, match="LICENSE: missing"):
        publish_to_hub(home, NAME, is_demo=True)


def test_a_published_release_is_downloaded_once_and_checked(release, hub):
    code, output = publish(release, hub, "--allow-simulated")
    assert code == 0, output
    source = f"hub:{NAME}@v0.1.0"
    code, output = call(release, hub, "check", source)
    assert code == 0 and "identical in all files" in output, output
    before = len(hub.requests)
    predictions = release / "reference_predictions/pt-hard/constant.json"
    words = ("score", source, str(predictions), "--subset", "pt-hard", "--split", "all")
    code, output = call(release, hub, *words)
    assert code == 0 and "AUAF" in output, output
    assert not [path for method, path in hub.requests[before:] if method == "GET" and "/resolve/" in path]
    # Without the hub, what was downloaded is used.
    hub.refuse = "/"
    hub.shutdown()
    hub.server_close()
    assert call(release, hub, *words)[0] == 0


def test_a_missing_or_changed_release_on_the_hub_is_reported(release, hub):
    assert publish(release, hub, "--allow-simulated")[0] == 0
    for source, message in (
        (f"hub:{NAME}@v9", "has no revision v9"),
        ("hub:us/other", "no such data set"),
        ("hub:tiny", "wanted hub:OWNER/NAME"),
    ):
        code, output = call(release, hub, "check", source)
        assert code == 1 and message in output and "Traceback" not in output, output
    name = "rgqa/pt-hard.json"
    hub.repos[NAME][name] = hub.repos[NAME][name].replace(b"AQ", b"BQ") + b" "
    code, output = call(release, hub, "check", f"hub:{NAME}")
    assert code == 1 and f"{name}: its content has changed" in output, output
