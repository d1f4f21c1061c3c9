import hashlib

import pytest
from PIL import Image

from pipeline.core.errors import Problems
from pipeline.sources.image_files import inspect_image, is_valid_id, list_images


def test_an_intact_image_has_a_size_and_a_digest(tmp_path):
    path = tmp_path / "a.png"
    Image.new("RGB", (20, 10)).save(path)
    assert inspect_image(path) == (20, 10, hashlib.sha256(path.read_bytes()).hexdigest())


def damaged(kind: str, path):
    Image.effect_noise((200, 200), 50).convert("RGB").save(path)
    data = path.read_bytes()
    path.write_bytes(
        {
            "empty": b"",
            "text": b"<html>404</html>",
            "cut": data[: len(data) // 2],
            "garbled": data[: len(data) // 2] + bytes(300) + data[len(data) // 2 + 300 :],
        }[kind]
    )


@pytest.mark.parametrize(
    ("kind", "ending", "message"),
    [
        ("empty", "jpg", "the file is empty"),
        ("text", "jpg", "not a JPEG, PNG, WebP, GIF, BMP or AVIF image, but a web page"),
        ("cut", "jpg", "damaged: image file is truncated"),
        ("cut", "png", "damaged: image file is truncated"),
        ("garbled", "png", "damaged: "),
    ],
)
def test_damage_after_an_intact_header_is_found(tmp_path, kind, ending, message):
    path = tmp_path / f"a.{ending}"
    damaged(kind, path)
    with pytest.raises(ValueError) as caught:
        inspect_image(path)
    assert str(caught.value).startswith(message)


def test_an_image_is_listed_under_its_name_without_suffix(tmp_path):
    for name in ("n1.jpg", "v1.2.PNG", "notes.txt", "x.gif", "x.jpg"):
        (tmp_path / name).touch()
    problems = Problems("x")
    assert sorted(list_images(tmp_path, problems)) == ["n1", "v1.2", "x"]
    assert problems.lines == [f"{tmp_path.name}/x.jpg: x.gif has the same id; keep one of them"]


@pytest.mark.parametrize(
    ("text", "sound"),
    [
        ("n460556", True),
        ("COCO_val-2014.7", True),
        ("../n1", False),
        ("a/b", False),
        ("a b", False),
        ("", False),
        ("..", False),
        ("a+b", False),
        ("n1\n", False),
    ],
)
def test_ids_can_be_part_of_file_names(text, sound):
    assert is_valid_id(text) is sound
