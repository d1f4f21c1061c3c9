"""Weights come by name, and only those that fit. The hub is a server of this test on 127.0.0.1."""

from __future__ import annotations

import hashlib
import http.server
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.encoders import clip

Make = Callable[..., Path]


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
    fetched, local = clip.Encoder("hf-hub:owner/name"), clip.Encoder(f"local-dir:{tiny_clip}")
    assert fetched.record.weights_sha256 == local.record.weights_sha256
    assert fetched.record.fingerprint == local.record.fingerprint
    ((_, one),), ((_, other),) = fetched.texts(["Is it red?"], 1), local.texts(["Is it red?"], 1)
    np.testing.assert_array_equal(one, other)


def test_a_hub_model_without_weights_says_how_to_do_without_the_hub(hub: Path) -> None:
    (hub / "open_clip_model.safetensors").unlink()
    with pytest.raises(UserError, match="could not be fetched") as caught:
        clip.Encoder("hf-hub:owner/name")
    assert "model: local-dir:FOLDER" in caught.value.problems[-1]


@pytest.mark.parametrize(
    "weights",
    [
        {"text_cfg": {"width": 32}},
        {"vision_cfg": {"layers": 2}},
        {"text_cfg": {"context_length": 24}},
        {"vision_cfg": {"image_size": 48}},
    ],
    ids=["width", "layers", "context", "picture size"],
)
def test_weights_of_another_shape_are_refused(make_clip: Make, tmp_path: Path, weights: dict) -> None:
    make_clip(tmp_path, weights=weights)
    with pytest.raises(UserError, match="the weights do not fit the configuration"):
        clip.Encoder(f"local-dir:{tmp_path}")


def test_a_cut_off_weights_file_is_refused(make_clip: Make, tmp_path: Path) -> None:
    weights = make_clip(tmp_path) / "open_clip_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100_000])
    with pytest.raises(UserError, match="do not fit"):
        clip.Encoder(f"local-dir:{tmp_path}")


def test_random_weights_are_never_used(make_clip: Make, tmp_path: Path) -> None:
    (make_clip(tmp_path) / "open_clip_model.safetensors").unlink()
    with pytest.raises(UserError, match="expected one weights file .* found none"):
        clip.Encoder(f"local-dir:{tmp_path}")
    with pytest.raises(UserError, match="'' is neither one of its pretrained tags"):
        clip.Encoder("ViT-B-32")


def test_names_that_open_clip_does_not_know_are_answered_with_near_ones() -> None:
    with pytest.raises(UserError, match="knows no model 'ViT-B-23'; near it: .*ViT-B-32"):
        clip.Encoder("ViT-B-23", "openai")
    with pytest.raises(UserError, match="'laion' is neither one of its pretrained tags .*laion2b_s34b_b79k"):
        clip.Encoder("ViT-B-32", "laion")


def test_weights_trained_with_quick_gelu_are_refused_by_a_model_without() -> None:
    # OpenAI trained with QuickGELU; the plain configuration ViT-B-32 uses GELU. Refused before any download.
    with pytest.raises(UserError, match="ask for model 'ViT-B-32-quickgelu'"):
        clip.Encoder("ViT-B-32", "openai")


def test_a_hub_out_of_reach_says_how_to_do_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(UserError) as caught:
        clip.Encoder("ViT-B-32", "laion2b_s34b_b79k")
    assert "could not be fetched" in caught.value.problems[0]
    assert "model: local-dir:FOLDER" in caught.value.problems[-1]
