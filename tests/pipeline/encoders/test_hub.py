"""A model of the Hugging Face hub is loaded by its name; the hub is a server of this test on 127.0.0.1."""

from __future__ import annotations

import hashlib
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.encoders import clip


class Hub(http.server.BaseHTTPRequestHandler):
    """`/OWNER/NAME/resolve/REVISION/FILE`, as huggingface_hub asks for it; `folder` holds the files of owner/name."""

    folder: Path

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        owner, name, _, _, file = self.path.split("?")[0].strip("/").split("/", 4)
        path = self.folder / file
        if (owner, name) != ("owner", "name") or not path.is_file():
            self.send_response(404)
            self.send_header("X-Error-Code", "EntryNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        data = path.read_bytes()
        self.send_response(200)
        self.send_header("ETag", f'"{hashlib.sha256(data).hexdigest()}"')
        self.send_header("X-Repo-Commit", "0" * 40)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub(tiny_clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    from huggingface_hub import constants

    Hub.folder = tmp_path / "hub"
    Hub.folder.mkdir()
    # the hub's name for the weights of an open_clip model
    (Hub.folder / "open_clip_model.safetensors").symlink_to(tiny_clip / "open_clip_model.safetensors")
    (Hub.folder / "open_clip_config.json").symlink_to(tiny_clip / "open_clip_config.json")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}"
    )
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    yield Hub.folder
    server.shutdown()


def test_a_model_is_loaded_by_its_hub_name(hub: Path, tiny_clip: Path) -> None:
    fetched, local = clip.load("hf-hub:owner/name"), clip.load(f"local-dir:{tiny_clip}")
    assert fetched.record.weights_sha256 == local.record.weights_sha256
    assert fetched.record.fingerprint == local.record.fingerprint
    ((_, one),), ((_, other),) = fetched.texts(["Is it red?"], 1), local.texts(["Is it red?"], 1)
    np.testing.assert_array_equal(one, other)


def test_a_hub_model_without_weights_says_how_to_do_without_the_hub(hub: Path) -> None:
    (hub / "open_clip_model.safetensors").unlink()
    with pytest.raises(UserError, match="could not be fetched") as caught:
        clip.load("hf-hub:owner/name")
    assert "model: local-dir:FOLDER" in caught.value.problems[-1]
