"""Weights come by name, and only those that fit. The hub is a server of this test on 127.0.0.1."""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import open_clip
import pytest

from pipeline.candidates.encoders import clip, weights
from pipeline.core.errors import UserError

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
    ((_, one),), ((_, other),) = (
        fetched.encode_texts(["Is it red?"], 1),
        local.encode_texts(["Is it red?"], 1),
    )
    np.testing.assert_array_equal(one, other)


def test_a_hub_model_without_weights_says_how_to_do_without_the_hub(hub: Path) -> None:
    (hub / "open_clip_model.safetensors").unlink()
    with pytest.raises(UserError, match="could not be downloaded") as caught:
        clip.Encoder("hf-hub:owner/name")
    message = "\n".join(caught.value.problems)
    assert "hf download owner/name open_clip_config.json open_clip_model.safetensors" in message
    # The working folder is the project's root, where the sample is in use.
    assert "embed.model: local-dir:data/sample/clip" in message and "ingest.subsets" in message


@pytest.mark.parametrize(
    "weights",
    [
        {"text_cfg": {"width": 32}},
        {"vision_cfg": {"layers": 2}},
        {"text_cfg": {"context_length": 24}},
        {"vision_cfg": {"image_size": 48}},
    ],
    ids=["width", "layers", "context", "image size"],
)
def test_weights_of_another_shape_are_refused(make_clip: Make, tmp_path: Path, weights: dict) -> None:
    make_clip(tmp_path, weights=weights)
    with pytest.raises(UserError, match="the weights do not fit the configuration"):
        clip.Encoder(f"local-dir:{tmp_path}")


def test_a_truncated_weights_file_is_refused(make_clip: Make, tmp_path: Path) -> None:
    weights = make_clip(tmp_path) / "open_clip_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100_000])
    with pytest.raises(UserError, match="do not fit"):
        clip.Encoder(f"local-dir:{tmp_path}")


def test_random_weights_are_never_used(make_clip: Make, tmp_path: Path) -> None:
    (make_clip(tmp_path) / "open_clip_model.safetensors").unlink()
    with pytest.raises(UserError, match="expected one weights file .* found none"):
        clip.Encoder(f"local-dir:{tmp_path}")
    with pytest.raises(UserError, match="'' is neither a pretrained tag"):
        clip.Encoder("ViT-B-32")


def test_names_that_open_clip_does_not_know_are_answered_with_near_ones() -> None:
    with pytest.raises(UserError, match="model: .*'ViT-B-23'.*ViT-B-32"):
        clip.Encoder("ViT-B-23", "openai")
    with pytest.raises(UserError, match="'laion' is neither a pretrained tag .*laion2b_s34b_b79k"):
        clip.Encoder("ViT-B-32", "laion")


def test_weights_trained_with_quick_gelu_are_refused_by_a_model_without() -> None:
    # OpenAI trained with QuickGELU; the plain configuration ViT-B-32 uses GELU. Refused before any download.
    with pytest.raises(UserError, match="'ViT-B-32-quickgelu'"):
        clip.Encoder("ViT-B-32", "openai")


@pytest.fixture
def named(tmp_path: Path, make_clip: Make, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The weights file of a model that open_clip knows by the name `tiny-named`, with the tags that a test gives it."""
    import open_clip
    from open_clip import factory

    folder = make_clip(tmp_path / "clip")
    config = json.loads((folder / "open_clip_config.json").read_text())["model_cfg"]
    (tmp_path / "tiny-named.json").write_text(json.dumps(config))
    monkeypatch.setattr(factory, "_MODEL_CONFIG_PATHS", [*factory._MODEL_CONFIG_PATHS])
    monkeypatch.setattr(factory, "_MODEL_CONFIGS", {**factory._MODEL_CONFIGS})
    open_clip.add_model_config(tmp_path / "tiny-named.json")
    return folder / "open_clip_model.safetensors"


SQUASHED = {"mean": (0, 0, 0), "std": (1, 1, 1), "interpolation": "bilinear", "resize_mode": "squash"}
CROPPED = {"mean": (0.5,) * 3, "std": (0.5,) * 3, "interpolation": "bicubic", "resize_mode": "shortest"}


def test_images_are_prepared_for_a_weights_file_as_for_the_models_tags(named: Path, monkeypatch) -> None:
    tags = {"one": SQUASHED | {"hf_hub": "a/b/"}, "two": SQUASHED | {"hf_hub": "a/c/"}}
    monkeypatch.setitem(open_clip.pretrained._PRETRAINED, "tiny-named", tags)
    preprocessing = json.loads(clip.Encoder("tiny-named", str(named)).record.preprocessing)
    assert {key: preprocessing[key] for key in SQUASHED} == {
        key: [*v] if isinstance(v, tuple) else v for key, v in SQUASHED.items()
    }
    assert preprocessing["size"] == [32, 32]


def test_the_tag_of_a_file_is_required_if_the_tags_differ(named: Path, monkeypatch) -> None:
    monkeypatch.setitem(open_clip.pretrained._PRETRAINED, "tiny-named", {"one": SQUASHED, "two": CROPPED})
    with pytest.raises(UserError, match="tiny-named: .*how images are prepared") as caught:
        clip.Encoder("tiny-named", str(named))
    assert [line.split(":")[0] for line in caught.value.problems[1:3]] == ["one", "two"]
    assert "TAG=FILE" in caught.value.problems[-1]
    preprocessing = json.loads(clip.Encoder("tiny-named", f"two={named}").record.preprocessing)
    assert (preprocessing["mean"], preprocessing["resize_mode"]) == ([0.5] * 3, "shortest")
    with pytest.raises(UserError, match=r"'three' is neither a pretrained tag .*\(one, two\)"):
        clip.Encoder("tiny-named", f"three={named}")
    with pytest.raises(UserError, match="nosuch' does not exist"):
        clip.Encoder("tiny-named", "two=nosuch")


def test_without_tags_a_file_is_prepared_as_open_clip_trains(named: Path) -> None:
    preprocessing = json.loads(clip.Encoder("tiny-named", str(named)).record.preprocessing)
    assert (
        tuple(preprocessing["mean"]) == open_clip.OPENAI_DATASET_MEAN
        and preprocessing["resize_mode"] == "shortest"
    )


# open_clip's own tables: SigLIP and MobileCLIP subtract other means than OpenAI's; two tags of DFN and LAION differ from the rest.
@pytest.mark.parametrize(
    ("model", "mean", "mode"),
    [
        ("ViT-B-16-SigLIP", (0.5, 0.5, 0.5), "squash"),
        ("MobileCLIP-S1", (0, 0, 0), "shortest"),
        ("ViT-B-32", open_clip.OPENAI_DATASET_MEAN, "shortest"),
        ("ViT-B/32", open_clip.OPENAI_DATASET_MEAN, "shortest"),
    ],
)
def test_known_models_are_prepared_as_they_were_trained(model, mean, mode) -> None:
    prepared = weights._get_preprocessing(model, "")
    assert prepared is not None
    assert (tuple(prepared["mean"]), prepared["resize_mode"]) == (mean, mode)


@pytest.mark.parametrize("model", ["ViT-L-14", "ViT-H-14", "ViT-H-14-quickgelu"])
def test_known_models_whose_tags_differ_are_asked_for(model) -> None:
    with pytest.raises(UserError, match="TAG=FILE"):
        weights._get_preprocessing(model, "")


def test_quick_gelu_is_checked_for_a_file_with_a_tag(tmp_path) -> None:
    (tmp_path / "w.pt").write_bytes(b"not read")
    with pytest.raises(UserError, match="'ViT-B-32-quickgelu'"):
        clip.Encoder("ViT-B-32", f"openai={tmp_path / 'w.pt'}")


def test_a_tokenizer_of_the_hub_says_what_to_fetch_and_where_it_belongs(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(UserError) as caught:
        weights.load_tokenizer("ViT-B-16-SigLIP")
    message = "\n".join(caught.value.problems)
    assert "hf download timm/ViT-B-16-SigLIP" in message and "models--timm--ViT-B-16-SigLIP" in message


def test_a_tokenizer_that_is_not_in_the_folder_says_what_to_put_there(
    make_clip: Make, tmp_path: Path
) -> None:
    make_clip(tmp_path, text_cfg={"hf_tokenizer_name": "timm/ViT-B-16-SigLIP"}, weights={})
    with pytest.raises(UserError) as caught:
        clip.Encoder(f"local-dir:{tmp_path}")
    assert f"--local-dir {tmp_path}" in caught.value.problems[-1]


def test_a_folder_that_does_not_say_how_images_are_prepared_is_refused(
    make_clip: Make, tmp_path: Path
) -> None:
    path = make_clip(tmp_path) / "open_clip_config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({"model_cfg": config["model_cfg"]}))
    with pytest.raises(UserError, match="`preprocess_cfg with mean and std` missing"):
        clip.Encoder(f"local-dir:{tmp_path}")


def test_a_hub_out_of_reach_says_what_to_fetch_elsewhere_and_where_it_belongs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    (tmp_path / "params.yaml").write_text("dataset: birds\nbirds: {embed: {}}\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as caught:
        clip.Encoder("ViT-B-32", "laion2b_s34b_b79k")
    message = "\n".join(caught.value.problems)
    assert "could not be downloaded" in caught.value.problems[0]
    # The repository is in open_clip's table of pretrained tags.
    assert "hf download laion/CLIP-ViT-B-32-laion2B-s34B-b79K open_clip_model.safetensors" in message
    assert "embed.pretrained: laion2b_s34b_b79k=data/birds/clip/open_clip_model.safetensors" in message
    assert "ingest.subsets: [pt-easy, pt-hard]" in message


def test_weights_with_an_address_are_fetched_from_there() -> None:
    command, file = weights._get_download_command({"url": "https://example.org/models/w.pt"})
    assert (command, file) == ("curl -L --create-dirs -o clip/w.pt https://example.org/models/w.pt", "w.pt")
