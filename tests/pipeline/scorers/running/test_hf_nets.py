"""What the models of transformers share: names of answers, hashes, pictures."""

import hashlib
from types import SimpleNamespace

import pytest

from pipeline.scorers.validation import InputError

pytest.importorskip("torch")
pytest.importorskip("transformers")
from pipeline.scorers.running.hf_nets import (
    NetSettings,
    ShownQuestion,
    answers_of,
    file_hash,
    opened,
    weights_hash,
)
from tests.pipeline.scorers.running.tiny_models import picture


def test_answers_are_named_by_the_configuration_in_the_order_of_their_numbers():
    config = SimpleNamespace(id2label={1: "no", 0: "yes", 2: 3})
    assert answers_of(NetSettings(), config, 3) == ("yes", "no", "3")
    with pytest.raises(InputError, match="4 answers"):
        answers_of(NetSettings(), config, 4)


def test_a_folder_is_known_by_all_its_weights(tmp_path):
    assert weights_hash(tmp_path) == "" == weights_hash(tmp_path / "nosuch")
    (tmp_path / "b.safetensors").write_bytes(b"b")
    (tmp_path / "config.json").write_text("{}")
    one = hashlib.sha256(b"b").hexdigest()
    assert file_hash(tmp_path / "b.safetensors") == one
    assert weights_hash(tmp_path) == "sha256:" + hashlib.sha256(one.encode()).hexdigest()
    (tmp_path / "a.bin").write_bytes(b"a")
    both = hashlib.sha256(b"a").hexdigest() + one
    assert weights_hash(tmp_path) == "sha256:" + hashlib.sha256(both.encode()).hexdigest()


def test_pictures_are_opened_in_colour():
    image = opened(ShownQuestion("", picture(0, (8, 4))))
    assert (image.mode, image.size) == ("RGB", (8, 4))
