"""The release goes to a small server that speaks the hub's protocol, from a process of its own, as its address is read when the
hub's library is imported."""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from msgspec.structs import replace

from pipeline.benchmark.release.check_release import write_checksums
from pipeline.benchmark.release.provenance import Provenance
from pipeline.benchmark.release.publish_hub import publish_to_hub
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_jsonl, write_jsonl
from tests.closure import ROOT

NAME, TOKEN = "us/tiny", "hf_test"


class Hub(ThreadingHTTPServer):
    """`repos`: name -> path -> bytes; `tags`: of each. `uploaded`: what came as large files, by SHA-256. `asked`: method and path
    of every request. `refuse`: a path that gets 403."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.repos, self.tags, self.uploaded, self.asked, self.refuse = {}, {}, {}, [], "nothing"

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Hub

    def log_message(self, *_): ...

    def reply(self, value, status=200):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(data)

    def begin(self, method):
        hub, path = self.server, self.path.split("?")[0]
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        hub.asked.append((method, path))
        if not path.startswith("/lfs/") and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self.reply({"error": "Invalid credentials in Authorization header"}, 401)
        elif hub.refuse in path:
            self.reply({"error": "no right to write"}, 403)
        else:
            getattr(self, method)(hub, path, data)

    do_GET, do_POST, do_PUT = (lambda self, m=m: self.begin(m) for m in ("get", "post", "put"))

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
        else:
            self.reply({"error": "Entry not found"}, 404)

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


def published(release, hub, *words, token=TOKEN):
    """What the command says, in a process of its own."""
    environment = os.environ | {
        "HF_ENDPOINT": hub.url,
        "HF_TOKEN": token,
        "HF_HUB_DISABLE_XET": "1",
        "HF_HOME": str(release.parent / "hf"),
        "NO_PROXY": "127.0.0.1",
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-m", "pipeline.cli", "publish", str(release), "--hub", NAME, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return done.returncode, done.stdout + done.stderr


def test_the_hub_gets_the_release_byte_for_byte_and_the_version_as_a_tag(release, hub):
    (release / ".private").write_text("left beside it")
    hub.repos[NAME], hub.tags[NAME] = {"old.txt": b"of another version", ".gitattributes": b"*.x"}, ["v0.0.1"]
    code, said = published(release, hub, "--allow-simulated")
    (release / ".private").unlink()
    assert code == 0 and TOKEN not in said, said
    assert "simulated, as a demo: " in said and f"as v0.1.0 -> {hub.url}/datasets/{NAME}" in said
    files = {p.relative_to(release).as_posix(): p.read_bytes() for p in release.rglob("*") if p.is_file()}
    assert {path: data for path, data in hub.repos[NAME].items() if path != ".gitattributes"} == files
    assert hub.tags[NAME] == ["v0.0.1", "v0.1.0"]
    parquet = [data for path, data in files.items() if path.endswith(".parquet")]
    assert parquet and {hashlib.sha256(data).hexdigest() for data in parquet} <= hub.uploaded.keys()
    before = len(hub.asked)
    code, said = published(release, hub, "--allow-simulated")
    assert code == 1 and "has v0.1.0 already, and a published version never changes" in said
    assert not any("commit" in path or "lfs" in path for _, path in hub.asked[before:])


def test_a_hub_that_refuses_is_told_without_traceback_and_nothing_is_tagged(release, hub):
    hub.refuse = "/preupload/"
    code, said = published(release, hub, "--allow-simulated")
    assert code == 1 and "the hub refuses, or is out of reach" in said and "Traceback" not in said
    assert hub.tags[NAME] == [] and hub.repos[NAME] == {}
    code, said = published(release, hub, "--allow-simulated", token="hf_wrong")
    assert code == 1 and "may the token write there" in said and "hf_wrong" not in said


def test_a_version_that_was_left_untagged_is_gone_on_with(release, hub):
    hub.refuse = "/tag/"
    code, said = published(release, hub, "--allow-simulated")
    assert code == 1 and "the same command goes on" in said and hub.tags[NAME] == []
    hub.refuse = "nothing"
    assert published(release, hub, "--allow-simulated")[0] == 0
    assert hub.tags[NAME] == ["v0.1.0"] and "README.md" in hub.repos[NAME]


@pytest.mark.parametrize("kind", ["simulated", "rehearsal"])
def test_what_nobody_judged_goes_there_as_a_demo_alone(release, tmp_path, kind, monkeypatch):
    home = shutil.copytree(release, tmp_path / "copy")
    rows = [
        replace(row, item=replace(row.item, rehearsal=kind == "rehearsal"))
        for row in read_jsonl(home / "provenance.jsonl", Provenance)
    ]
    write_jsonl(home / "provenance.jsonl", rows)
    write_checksums(home)
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)  # so that nothing could go out
    with pytest.raises(UserError, match=f"verdicts are (a )?{kind}.*--allow-simulated"):
        publish_to_hub(home, NAME)


def test_without_a_token_or_a_whole_release_nothing_is_asked(release, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    with pytest.raises(UserError, match="set HF_TOKEN"):
        publish_to_hub(release, NAME, is_demo=True)
    with pytest.raises(UserError, match="wanted OWNER/NAME"):
        publish_to_hub(release, "tiny", is_demo=True)
    home = shutil.copytree(release, tmp_path / "copy")
    (home / "LICENSE").unlink()
    with pytest.raises(UserError, match="LICENSE: missing"):
        publish_to_hub(home, NAME, is_demo=True)
