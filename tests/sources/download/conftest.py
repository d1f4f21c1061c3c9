"""A small GQA in the layout of the archives and of the Hub, and a local server that can simulate faults."""

from __future__ import annotations

import hashlib
import io
import json
import random
import re
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from email.utils import formatdate
from functools import cache, partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from pipeline.sources.download.fetch import FetchOptions, fetch
from pipeline.sources.download.http_client import RetryPolicy

TESTDEV = ["n1", "n2", "n3"]
IMAGES = [*TESTDEV, "2370001", "2370002", "2370003", "v9"]
PARAMS = """dataset: gqa
gqa:
  ingest:
    split: testdev
    question_splits: [testdev, train, val]
    graph_splits: [train, val]
"""


def question(image: str, number: int) -> dict:
    return {
        "semantic": [
            {"operation": "select", "dependencies": [], "argument": f"dog ({number})"},
            {"operation": "query", "dependencies": [0], "argument": "color"},
        ],
        "entailed": ["0200001", "0200002"],
        "equivalent": ["0200000"],
        "question": f"What color is the dog number {number}?",
        "imageId": image,
        "isBalanced": True,
        "groups": {"global": None, "local": "12q-dog"},
        "answer": "brown",
        "semanticStr": f"select: dog ({number})->query: color [0]",
        "annotations": {"answer": {}, "question": {"4": str(number)}, "fullAnswer": {"1": str(number)}},
        "types": {"detailed": "color", "semantic": "attr", "structural": "query"},
        "fullAnswer": "The dog is brown.",
    }


def questions(images: list[str], first: int) -> dict:
    """Return two questions per image, with leading zeros in ids."""
    return {
        f"0{first + 2 * at + k}": question(name, 500 + first + 2 * at + k)
        for at, name in enumerate(images)
        for k in (0, 1)
    }


def scene(width: int) -> dict:
    thing = {"name": "dog", "x": 1, "y": 2, "w": 3, "h": 4, "attributes": ["brown"], "relations": []}
    return {"width": width, "height": 20, "objects": {"7": thing}}


def jpeg(number: int) -> bytes:
    """Return a noisy image of 40 x 20 pixels and about 1,000 bytes."""
    noise = random.Random(number).randbytes(40 * 20 * 3)
    file = io.BytesIO()
    Image.frombytes("RGB", (40, 20), noise).save(file, "JPEG")
    return file.getvalue()


JSONS = {
    "testdev_balanced_questions.json": questions(TESTDEV, 100),
    "testdev_all_questions.json": questions(TESTDEV, 100) | questions(TESTDEV, 150),
    "val_balanced_questions.json": questions(["2370003"], 200),
    "train_balanced_questions.json": questions(["2370001", "2370002"], 300),
    "train_all_questions/train_all_questions_0.json": questions(["2370001"], 300),
    "train_all_questions/train_all_questions_1.json": questions(["2370002"], 400),
    "val_all_questions.json": questions(["2370003"], 200),
}
GRAPHS = {
    "train_sceneGraphs.json": {"2370001": scene(40), "2370002": scene(40)},
    "val_sceneGraphs.json": {"2370003": scene(40)},
}


def packed(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, (2019, 5, 10, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return file.getvalue()


@cache
def archives() -> dict[str, bytes]:
    text = {name: json.dumps(value).encode() for name, value in (JSONS | GRAPHS).items()}
    return {
        "questions1.2.zip": packed(
            {"readme.txt": b"GQA", "__MACOSX/._train_balanced_questions.json": b"x"}
            | {name: text[name] for name in JSONS}
        ),
        "sceneGraphs.zip": packed({name: text[name] for name in GRAPHS}),
        "images.zip": packed({f"images/{name}.jpg": jpeg(at) for at, name in enumerate(IMAGES)}),
        "eval.zip": packed({"eval.py": b"pass", "testdev_choices.json": b"{}", "val_choices.json": b"{}"}),
    }


def on_hub(row: dict, question_id: str) -> dict:
    """Return a question in the format of lmms-lab-encoder/GQA."""
    marks = {
        text: [{"objectId": key, "value": value} for key, value in row["annotations"][text].items()]
        for text in ("answer", "fullAnswer", "question")
    }
    texts = {name: str(row[name]) for name in ("entailed", "equivalent")}  # "['0200001', '0200002']"
    return {"id": question_id} | row | texts | {"annotations": marks}


def parquet(rows: list[dict]) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), file)
    return file.getvalue()


@cache
def hub_files() -> dict[str, bytes]:
    found = {}
    for split, drawn_images in (
        ("testdev", TESTDEV),
        ("val", ["2370003"]),
        ("train", ["2370001", "2370002"]),
    ):
        rows = [on_hub(row, name) for name, row in JSONS[f"{split}_balanced_questions.json"].items()]
        found[f"{split}_balanced_instructions/{split}-00000-of-00001.parquet"] = parquet(rows)
        images = [
            {"id": name, "image": {"bytes": jpeg(IMAGES.index(name)), "path": f"{name}.jpg"}}
            for name in drawn_images
        ]
        for at, some in enumerate((images[:1], images[1:])):
            if some:
                found[f"{split}_balanced_images/{split}-0000{at}-of-00002.parquet"] = parquet(some)
    return found


@cache
def marks(data: bytes) -> list[tuple[str, str]]:
    """Return the headers by which a server identifies a version of a file."""
    modified = formatdate(zlib.crc32(data), usegmt=True)
    return [("ETag", f'"{hashlib.sha256(data).hexdigest()}"'), ("Last-Modified", modified)]


class Server(ThreadingHTTPServer):
    """Serves `files` by path.

    Attributes:
        faults: Path -> what the next responses do: a status, (status, Retry-After), "cut" or "stall".
        garbled: (path, first byte) of responses with wrong content, once each.
        log: Path and Range of every request.
        tokens: Authorization -> paths of requests with it; "" for none.
        ranges: Whether byte ranges are supported.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.faults: dict[str, list] = {}
        self.garbled: set[tuple[str, int]] = set()
        self.log: list[tuple[str, str]] = []
        self.tokens: dict[str, list[str]] = {}
        self.ranges = True
        self.closing = threading.Event()

    def handle_error(self, *_) -> None: ...

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def asked(self, part: str) -> int:
        return sum(part in path for path, _ in self.log)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: Server

    def handle(self) -> None:
        try:
            super().handle()
        # The client has closed the connection.
        except OSError:
            self.close_connection = True

    def log_message(self, *_) -> None: ...

    def do_GET(self) -> None:
        server, wanted = self.server, self.headers.get("Range", "")
        # A proxy gets absolute URLs.
        self.path = re.sub(r"^http://[^/]+", "", self.path).split("?")[0]
        server.log.append((self.path, wanted))
        server.tokens.setdefault(self.headers.get("Authorization", ""), []).append(self.path)
        waiting = server.faults.get(self.path, [])
        fault = waiting.pop(0) if waiting else None
        data = server.files.get(self.path)
        if data is None and fault is None:
            fault = 404
        if isinstance(fault, int | tuple):
            status, after = fault if isinstance(fault, tuple) else (fault, None)
            self.send_response(status)
            if after is not None:
                self.send_header("Retry-After", after)
            if status == 404 and self.path.startswith("/api/"):
                # The Hub sends this header.
                self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        part, status = data, 200
        if wanted and server.ranges:
            first, last = wanted.removeprefix("bytes=").split("-")
            part, status = data[int(first) : int(last) + 1], 206
        self.send_response(status)
        if status == 206:
            self.send_header("Content-Range", f"bytes {first}-{int(first) + len(part) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(part)))
        for name, value in marks(data):
            self.send_header(name, value)
        self.end_headers()
        if status == 206 and (self.path, int(first)) in server.garbled:
            server.garbled.remove((self.path, int(first)))
            part = bytes(255 - byte for byte in part)
        if fault in ("cut", "stall"):
            self.wfile.write(part[: len(part) // 2])
            self.wfile.flush()
            if fault == "stall":
                server.closing.wait(5)
            self.close_connection = True
            return
        self.wfile.write(part)
        self.wfile.flush()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server with all archives at /, and the files and listings of the Hub."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with Server() as found:
        found.files = {f"/{name}": data for name, data in archives().items()}
        lists: dict[str, list] = {}
        for path, data in hub_files().items():
            found.files[f"/datasets/lmms-lab-encoder/GQA/resolve/main/{path}"] = data
            large = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 134}
            entry = {"type": "file", "oid": "0" * 40, "size": len(data), "path": path, "lfs": large}
            lists.setdefault(path.split("/")[0], []).append(entry)
        for folder, entries in lists.items():
            found.files[f"/api/datasets/lmms-lab-encoder/GQA/tree/main/{folder}"] = json.dumps(
                entries
            ).encode()
        thread = threading.Thread(target=partial(found.serve_forever, poll_interval=0.01))
        thread.start()
        yield found
        found.closing.set()
        found.shutdown()
        thread.join()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project for a data set `gqa`, which is the working directory."""
    (tmp_path / "params.yaml").write_text(PARAMS)
    (tmp_path / "data/gqa/source").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


class NoPauses:
    """Replaces the module `time` in the library of the Hub."""

    @staticmethod
    def sleep(_: float) -> None: ...


@pytest.fixture
def get(
    server: Server, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """A function that downloads from the server with short pauses, and returns stdout."""
    # Other processes read this variable when they import the library.
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", server.url)
    template = server.url + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr("huggingface_hub.utils._http.time", NoPauses)

    def run(
        patience=RetryPolicy(  # noqa: B008
            stall_seconds=20, max_attempts=6, initial_backoff_seconds=0.01, max_retry_after_seconds=3
        ),
        **options,
    ) -> str:
        given = {"origin": server.url, "jobs": 4} | options
        if given["origin"] == "hub":
            given.setdefault("archives_from", server.url)
        capsys.readouterr()
        fetch("gqa", FetchOptions(**given), patience)
        return capsys.readouterr().out.rstrip("\n")

    return run


class NoWaiting:
    """Replaces the stop event of an `HttpClient`, and records pauses instead of waiting."""

    def __init__(self):
        self.pauses = []

    def wait(self, seconds):
        self.pauses.append(seconds)
        return False

    def is_set(self):
        return False

    def set(self): ...


def wait_until(true: Callable[[], bool], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.005)


def listed(server, folder, data):
    """Replace the content of a folder on the Hub by one Parquet file."""
    path = f"{folder}/x.parquet"
    server.files[f"/datasets/lmms-lab-encoder/GQA/resolve/main/{path}"] = data
    entry = {
        "type": "file",
        "size": len(data),
        "path": path,
        "oid": "0" * 40,
        "lfs": {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 134},
    }
    server.files[f"/api/datasets/lmms-lab-encoder/GQA/tree/main/{folder}"] = json.dumps([entry]).encode()
    return f"/datasets/lmms-lab-encoder/GQA/resolve/main/{path}"
