import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rich.filesize import decimal as spoken

from pipeline.core.errors import UserError
from pipeline.core.json_files import read_jsonl
from pipeline.core.records import ImageRecord, Question, SceneGraph
from pipeline.sources.download.http_client import RetryPolicy
from pipeline.stages import ingest
from tests.sources.download.conftest import (
    GRAPHS,
    IMAGES,
    JSONS,
    archives,
    hub_files,
    jpeg,
    packed,
    wait_until,
)

ROOT = Path(__file__).parents[3]
TEXTS = [
    "questions1.2/testdev_balanced_questions.json",
    "questions1.2/train_balanced_questions.json",
    "questions1.2/val_balanced_questions.json",
    "sceneGraphs/train_sceneGraphs.json",
    "sceneGraphs/val_sceneGraphs.json",
]
TESTDEV = ["images/n1.jpg", "images/n2.jpg", "images/n3.jpg"]
SOURCE = Path("data/gqa/source")


def made():
    """Return the files in the source folder."""
    return sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*") if path.is_file())


def wrong(get, **options):
    with pytest.raises(UserError) as caught:
        get(**options)
    return caught.value.problems


def set_params(text):
    Path("params.yaml").write_text(Path("params.yaml").read_text().replace(*text))


@pytest.mark.parametrize("origin", ["official", "hub"])
def test_exactly_the_files_that_ingest_reads_are_downloaded(get, server, origin):
    get(**({"origin": "hub"} if origin == "hub" else {}))
    assert made() == ["fetched.json", *TESTDEV, *TEXTS]
    for name in TEXTS:
        base = Path(name).name
        assert json.loads((SOURCE / name).read_text()) == (JSONS | GRAPHS)[base]
    for name in TESTDEV:
        assert (SOURCE / name).read_bytes() == jpeg(IMAGES.index(Path(name).stem))
    assert not Path("data/gqa/fetching").exists()
    ingest.main()
    out = Path("data/gqa/interim/ingest")
    assert [row.image_id for row in read_jsonl(out / "images.jsonl", ImageRecord)] == ["n1", "n2", "n3"]
    # There are two questions for each of 3 + 2 + 1 images.
    assert len(list(read_jsonl(out / "questions.jsonl", Question))) == 2 * 6
    assert len(list(read_jsonl(out / "scenes.jsonl", SceneGraph))) == 3


def test_only_the_directory_and_the_wanted_images_are_downloaded(get, server):
    get()
    images = server.files["/images.zip"]
    ranges = [wanted.removeprefix("bytes=") for path, wanted in server.log if path == "/images.zip"]
    received = sum(int(last) + 1 - int(first) for first, last in (found.split("-") for found in ranges))
    directory = images[images.index(b"PK\x01\x02") :]
    drawn_images = images.index(b"images/2370001.jpg") - 30
    # The end of the directory (22 bytes) is read to find the directory, and 1 byte to get the size.
    assert received <= drawn_images + len(directory) + 2 * 22 + 1 + 20
    assert received < len(images) * 0.75


def test_a_second_run_downloads_no_content_again(get, server):
    get()
    before, stamp = made(), (SOURCE / "fetched.json").read_bytes()
    count = len(server.log)
    get()
    starts = {path: data.index(b"PK\x01\x02") for path, data in server.files.items() if path.endswith(".zip")}
    # Only directories and the first byte are requested.
    for path, wanted in server.log[count:]:
        first = int(wanted.removeprefix("bytes=").split("-")[0])
        assert first >= starts[path] or wanted == "bytes=0-0"
    assert (made(), (SOURCE / "fetched.json").read_bytes()) == (before, stamp)


def test_another_split_brings_its_images_and_graphs(get):
    said = get(split="val")
    assert [name for name in made() if "images" in name] == ["images/2370003.jpg"]
    assert "and `split: val` in its section `ingest`" in said


def test_files_that_the_parameters_do_not_need_are_not_downloaded(get):
    set_params(("[testdev, train, val]", "[testdev]"))
    set_params(("[train, val]", "[]"))
    get()
    assert made() == ["fetched.json", *TESTDEV, TEXTS[0]]
    # The files of train are downloaded, too.
    get(split="train")
    assert set(made()) - {"fetched.json", *TESTDEV, TEXTS[0]} == {
        "images/2370001.jpg",
        "images/2370002.jpg",
        TEXTS[1],
        "sceneGraphs/train_sceneGraphs.json",
    }


def test_all_questions_of_train_stay_a_folder(get):
    set_params(("split: testdev\n", "split: testdev\n    question_set: all\n"))
    get()
    assert [name for name in made() if "questions1.2" in name] == [
        "questions1.2/testdev_all_questions.json",
        "questions1.2/train_all_questions/train_all_questions_0.json",
        "questions1.2/train_all_questions/train_all_questions_1.json",
        "questions1.2/val_all_questions.json",
    ]


def test_answer_choices_are_optional(get):
    get(answer_choices=True)
    assert "eval/testdev_choices.json" in made()
    assert (
        wrong(get, answer_choices=True, split="train")[1]
        == "eval.zip: no answer choices of train; leave out --answer-choices"
    )


def test_a_dry_run_prints_files_and_sizes_and_writes_nothing(get, server):
    said = get(dry_run=True)
    assert made() == [] and not Path("data/gqa/fetching").exists()
    for name in TEXTS:
        size = len(json.dumps((JSONS | GRAPHS)[Path(name).name]))
        assert re.search(rf"{re.escape(name)}: [\d.]+ \w+ from \w+.*, {spoken(size)} on disk", said)
    mean = sum(len(jpeg(at)) for at in range(len(IMAGES))) // len(IMAGES)
    assert f"398 images, about {spoken(398 * mean)} from images.zip" in said
    get()
    for name in TESTDEV[:2]:
        (SOURCE / name).unlink()
    said = get(dry_run=True)
    assert "images/: 2 of 3 images, " in said
    assert "nothing is missing" not in said
    get()
    assert "nothing is missing" in get(dry_run=True)


def test_the_total_of_a_dry_run_includes_all_files(get, server):
    get()
    for name in (TEXTS[1], TESTDEV[1]):
        (SOURCE / name).unlink()
    *_, told = get(dry_run=True).splitlines()
    size = len(json.dumps(JSONS[Path(TEXTS[1]).name])) + len(jpeg(1))
    assert re.fullmatch(
        rf"fetch: dry run, nothing downloaded; download: [\d.]+ \w+; on disk: {spoken(size)}", told
    )


def test_a_dry_run_estimates_converted_files_and_unknown_images(get, server):
    said = get(origin="hub", dry_run=True).splitlines()
    assert re.search(r": [\d.]+ kB from testdev_balanced_instructions, about [\d.]+ kB on disk", said[1])
    assert "  images/: images of testdev, " in said[-2]
    # The number of images of val is not known before.
    said = get(split="val", dry_run=True).splitlines()
    assert said[-2].startswith("  images/: images from images.zip (")
    assert said[-2].endswith(" each on average); their number is known when the questions are downloaded")
    assert said[-1].count("and the images") == 2


def test_a_dry_run_of_full_archives_prints_their_stated_sizes(get, server):
    assert get(dry_run=True, full_archives=True, answer_choices=True).splitlines()[1:] == [
        "  questions1.2.zip: complete archive, 1.4 GB according to its authors",
        "  sceneGraphs.zip: complete archive, 42.7 MB according to its authors",
        "  images.zip: complete archive, 20.3 GB according to its authors",
        "  eval.zip: complete archive, 784 MB according to its authors",
    ]
    said = get(dry_run=True, full_archives=True, origin="hub")
    assert "sceneGraphs.zip" in said and "images.zip" not in said
    assert server.log == []


@pytest.mark.parametrize("origin", ["official", "hub"])
def test_stalled_truncated_and_busy_responses_are_retried(get, server, origin):
    names = [path for path in server.files if path.endswith((".zip", ".parquet")) or "/tree/" in path]
    for at, path in enumerate(names):
        server.faults[path] = [500, "cut", (429, "0"), "stall" if at == 0 else "cut", 503]
    impatient = RetryPolicy(
        stall_seconds=0.5, max_attempts=20, initial_backoff_seconds=0.01, max_retry_after_seconds=3
    )
    get(patience=impatient, **({"origin": "hub"} if origin == "hub" else {}))
    assert made() == ["fetched.json", *TESTDEV, *TEXTS]
    assert json.loads((SOURCE / TEXTS[0]).read_text()) == JSONS["testdev_balanced_questions.json"]


@pytest.mark.parametrize("place", [b"images/n2.jpg", b"PK\x01\x02"], ids=["an image", "the directory"])
def test_corrupt_content_is_detected_and_downloaded_again(get, server, place):
    first = server.files["/images.zip"].index(place) - (30 if place.startswith(b"images") else 0)
    server.garbled = {("/images.zip", first)}
    get()
    assert not server.garbled
    assert made() == ["fetched.json", *TESTDEV, *TEXTS]


def covered(ranges):
    """Return the positions of all requested bytes."""
    return {
        at
        for first, last in (found.removeprefix("bytes=").split("-") for found in ranges)
        for at in range(int(first), int(last) + 1)
    }


@pytest.mark.parametrize("origin", ["official", "hub"])
def test_a_killed_download_resumes(get, server, project, origin):
    last = (
        "/images.zip"
        if origin == "official"
        else max(path for path in server.files if "testdev_balanced_images" in path and "resolve" in path)
    )
    # The size, three reads of the directory and the first image of the archive succeed. Of the second image, and of the file of the
    # Hub after its size, only half arrives.
    server.faults[last] = [None] * (5 if origin == "official" else 1) + ["stall"] * 50
    command = [sys.executable, "-m", "pipeline.cli", "fetch", "gqa", "--jobs", "1", "--from"]
    command += [server.url] if origin == "official" else ["hub", "--archives-from", server.url]
    running = subprocess.Popen(
        command, cwd=project, env=os.environ | {"PYTHONPATH": str(ROOT)}, stderr=subprocess.DEVNULL
    )
    wait_until(lambda: len(server.faults[last]) < 50, 60)
    wait_until(lambda: any(path.stat().st_size for path in Path("data/gqa/fetching").rglob("*.part")))
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    server.faults.clear()
    assert made()[-len(TEXTS) :] == TEXTS
    assert [name for name in made() if "images" in name] == TESTDEV[:1]
    before = [wanted for path, wanted in server.log if path == last and wanted != "bytes=0-0"]
    count = len(server.log)
    get(**({"origin": "hub"} if origin == "hub" else {}))
    assert made() == ["fetched.json", *TESTDEV, *TEXTS]
    again = [wanted for path, wanted in server.log[count:] if path == last and wanted != "bytes=0-0"]
    half = covered(before[-1:])
    assert len(covered(before[:-1]) & covered(again)) == 0
    assert len(half & covered(again)) <= len(half) // 2 + 1


def test_a_changed_archive_is_reported_and_not_used(get, server):
    get()
    kept = (SOURCE / TEXTS[4]).read_bytes()
    other = {name: json.dumps(value).encode() for name, value in GRAPHS.items()}
    other["val_sceneGraphs.json"] = other["val_sceneGraphs.json"].replace(b"brown", b"white")
    server.files["/sceneGraphs.zip"] = packed(other)
    first, told = wrong(get)
    assert first.endswith("1 problem")
    assert re.match(
        r"sceneGraphs.zip: changed since the first download from http.*; checksum \w{12} before, \w{12} now.*--accept-changes",
        told,
    )
    assert (SOURCE / TEXTS[4]).read_bytes() == kept
    get(accept_changes=True)
    assert (SOURCE / TEXTS[4]).read_bytes() == other["val_sceneGraphs.json"]
    get()


def test_a_change_is_accepted_only_when_everything_is_downloaded(get, server):
    get()
    other = {name: json.dumps(value).replace("brown", "white").encode() for name, value in GRAPHS.items()}
    data = bytearray(packed(other))
    server.files["/sceneGraphs.zip"] = bytes(data)
    # A local header has 30 bytes.
    second = data.index(b"val_sceneGraphs.json") - 30
    server.files["/sceneGraphs.zip"] = bytes(data[: second + 60]) + b"x" * 20 + bytes(data[second + 80 :])
    assert "val_sceneGraphs.json: damaged" in wrong(get, accept_changes=True)[1]
    assert "white" in (SOURCE / TEXTS[3]).read_text() and "white" not in (SOURCE / TEXTS[4]).read_text()
    server.files["/sceneGraphs.zip"] = bytes(data)
    assert "changed since the first download" in wrong(get)[1]
    get(accept_changes=True)
    assert "white" in (SOURCE / TEXTS[4]).read_text()
    get()


def test_a_changed_file_of_the_hub_is_reported_and_can_be_accepted(get, server):
    get(origin="hub")
    assert "nothing is missing" in get(origin="hub", dry_run=True)
    from tests.sources.download.conftest import listed, on_hub, parquet

    rows = [
        on_hub(row | {"answer": "white"}, name)
        for name, row in JSONS["testdev_balanced_questions.json"].items()
    ]
    path = "testdev_balanced_instructions"
    listed(server, path, parquet(rows))
    # A file with another suffix is another file and stays.
    get(origin="hub")
    assert "white" not in (SOURCE / TEXTS[0]).read_text()
    rows = [row | {"fullAnswer": "It is white."} for row in rows]
    listed(server, path, parquet(rows))
    assert "x.parquet: changed since the first download" in wrong(get, origin="hub")[1]
    get(origin="hub", accept_changes=True)
    assert "It is white." in (SOURCE / TEXTS[0]).read_text()
    get(origin="hub")


def test_a_damaged_download_is_repeated(get):
    get()
    for name in (TEXTS[0], TESTDEV[1]):
        (SOURCE / name).write_bytes(b"damaged")
    said = get()
    assert said.count("changed since its download; downloading it again") == 2
    assert (SOURCE / TESTDEV[1]).read_bytes() == jpeg(1)


def test_a_damaged_image_from_the_hub_is_downloaded_again(get):
    get(origin="hub")
    (SOURCE / TESTDEV[1]).write_bytes(b"damaged")
    get(origin="hub")
    assert (SOURCE / TESTDEV[1]).read_bytes() == jpeg(1)


@pytest.mark.parametrize("origin", ["official", "hub"])
def test_files_of_the_user_are_never_replaced(get, origin):
    options = {"origin": "hub"} if origin == "hub" else {}
    (SOURCE / "images").mkdir()
    (SOURCE / "questions1.2").mkdir()
    (SOURCE / TEXTS[0]).write_text("{}")
    assert f"{TEXTS[0]}: already exists and differs from" in wrong(get, **options)[1]
    assert (SOURCE / TEXTS[0]).read_text() == "{}"
    (SOURCE / TEXTS[0]).unlink()
    (SOURCE / TESTDEV[0]).write_bytes(b"mine")
    assert f"{TESTDEV[0]}: already exists and differs" in wrong(get, **options)[1]
    assert (SOURCE / TESTDEV[0]).read_bytes() == b"mine"


def test_files_that_the_user_unpacked_before_are_used(get, server):
    for name in [*TEXTS[:2], TESTDEV[0]]:
        (SOURCE / name).parent.mkdir(exist_ok=True)
        base = Path(name).name
        (SOURCE / name).write_bytes(jpeg(0) if base.endswith("jpg") else json.dumps(JSONS[base]).encode())
    said = get(dry_run=True)
    assert TEXTS[0] not in said and TEXTS[2] in said and "2 of 3 images" in said
    get()
    assert set(json.loads((SOURCE / "fetched.json").read_text())["files"]) == {*TEXTS, *TESTDEV}


def test_all_problems_are_reported_together(get, server):
    members = {name: b"{}" for name in JSONS if "train_balanced" not in name}
    server.files["/questions1.2.zip"] = packed(members)
    del server.files["/sceneGraphs.zip"]
    first, *rest = wrong(get)
    assert first == f"{SOURCE}: 2 problems"
    assert (
        rest[0]
        == "questions1.2.zip, train_balanced_questions.json: expected one member with this name, found 0"
    )
    assert rest[1] == f"{server.url}/sceneGraphs.zip: no such file (the server answers 404)"


def test_all_missing_images_are_reported(get, server):
    server.files["/images.zip"] = packed({"images/n2.jpg": jpeg(1)})
    assert wrong(get)[1:] == [
        f"images.zip, {name}.jpg: expected one member with this name, found 0" for name in ("n1", "n3")
    ]


def test_an_image_damaged_on_the_server_does_not_prevent_the_others(get, server):
    data = bytearray(server.files["/images.zip"])
    data[data.index(b"images/n2.jpg") + 100] ^= 1
    server.files["/images.zip"] = bytes(data)
    (told,) = wrong(get)[1:]
    assert "images/n2.jpg: damaged" in told
    assert [name for name in made() if "images" in name] == [TESTDEV[0], TESTDEV[2]]


def test_a_server_that_is_down_is_reported_with_what_to_do(get, server):
    server.faults["/questions1.2.zip"] = [500] * 9
    told = wrong(get)
    assert "questions1.2.zip: the server answers 500; tried 6 times" in told[0]
    assert told[1] == "finished downloads are kept; run the same command again to resume"


def test_without_ranges_the_full_archive_is_downloaded_on_request(get, server):
    server.ranges = False
    size = spoken(len(server.files["/questions1.2.zip"]))
    told = wrong(get)
    assert told[0] == f"{SOURCE}: 2 problems"
    assert (
        f"questions1.2.zip: the server ignores byte ranges, so single members cannot be read; download the whole archive ({size})"
        in told[1]
    )
    assert "--full-archives" in told[1]
    server.faults["/images.zip"] = [None, "cut"]
    get(full_archives=True)
    assert made() == ["fetched.json", *TESTDEV, *TEXTS]
    assert not Path("data/gqa/fetching").exists()


def test_a_truncated_full_archive_is_resumed_if_the_server_has_ranges(get, server):
    server.faults["/images.zip"] = [None, "cut"]
    get(full_archives=True)
    assert made() == ["fetched.json", *TESTDEV, *TEXTS]
    size = len(server.files["/images.zip"])
    asked = [wanted for path, wanted in server.log if path == "/images.zip"]
    assert asked == ["bytes=0-0", f"bytes=0-{size - 1}", f"bytes={size // 2}-{size - 1}"]


@pytest.mark.parametrize("origin", ["official", "hub", "whole"])
def test_a_cache_works_without_network(get, server, project, monkeypatch, origin):
    options = {"cache_dir": project / "cache"} | ({"origin": "hub"} if origin == "hub" else {})
    get(**options, full_archives=origin == "whole")
    before = {name: (SOURCE / name).read_bytes() for name in made() if name != "fetched.json"}
    shutil.rmtree(SOURCE)
    count = len(server.log)
    get(**options, offline=True)
    assert {name: (SOURCE / name).read_bytes() for name in made() if name != "fetched.json"} == before
    assert len(server.log) == count


def test_files_missing_in_the_cache_are_reported(get, project):
    told = wrong(get, cache_dir=project / "cache", offline=True)
    assert (
        told[1]
        == f"questions1.2.zip: not in the cache {project / 'cache'}; leave out --offline to download it"
    )
    assert wrong(get, offline=True) == ["--offline needs a cache; give its folder with --cache-dir"]


def test_archives_may_be_in_a_local_folder(get, server, tmp_path):
    folder = tmp_path / "archives"
    folder.mkdir()
    for name, data in archives().items():
        (folder / name).write_bytes(data)
    get(origin=str(folder))
    assert made() == ["fetched.json", *TESTDEV, *TEXTS]
    assert server.log == []
    first = (SOURCE / "fetched.json").read_bytes()
    # The same archives at another address keep their first fingerprint.
    get()
    assert (SOURCE / "fetched.json").read_bytes() == first
    (folder / "sceneGraphs.zip").unlink()
    shutil.rmtree(SOURCE)
    assert wrong(get, origin=str(folder))[1] == (
        f"{folder}/sceneGraphs.zip: no such file; put it there, or give the place of the archives with --archives-from"
    )


def test_a_local_folder_may_have_the_parquet_files_of_the_hub(get, server, tmp_path):
    for name, data in hub_files().items():
        path = tmp_path / "hub" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    get(origin=str(tmp_path / "hub"), archives_from=server.url)
    assert made() == ["fetched.json", *TESTDEV, *TEXTS]
    assert {path for path, _ in server.log} == {"/sceneGraphs.zip"}
    assert (tmp_path / "hub/testdev_balanced_images/testdev-00000-of-00002.parquet").exists()


def test_a_proxy_of_the_environment_is_used(get, server, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", server.url)
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("no_proxy", "")
    get(origin="http://gqa.invalid")
    assert made() == ["fetched.json", *TESTDEV, *TEXTS]


def test_missing_disk_space_is_reported_before_the_download(get, monkeypatch):
    class Usage:
        free = 5000

    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage)
    told = wrong(get)
    needed = sum(len(json.dumps((JSONS | GRAPHS)[Path(name).name])) for name in TEXTS)
    assert told[0] == "not enough disk space; nothing was downloaded"
    asked, missing = re.search(r"([\d.]+) kB needed, 5.0 kB free; free ([\d.]+) kB more", told[1]).groups()
    # The files and the downloads that wait to be unpacked, at most the two archives.
    packed_size = len(archives()["questions1.2.zip"]) + len(archives()["sceneGraphs.zip"])
    assert needed < 1000 * float(asked) < needed + packed_size
    assert float(missing) == pytest.approx(float(asked) - 5, abs=0.11)
    assert made() == []


def test_an_image_id_that_is_a_path_is_refused(get, server):
    bad = {"1": JSONS["testdev_balanced_questions.json"]["0100"] | {"imageId": "../n1"}}
    members = {name: json.dumps(value).encode() for name, value in JSONS.items()}
    server.files["/questions1.2.zip"] = packed(
        members | {"testdev_balanced_questions.json": json.dumps(bad).encode()}
    )
    assert wrong(get)[1] == f"{TEXTS[0]}, question 1: invalid image id '../n1'"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"origin": "nowhere"}, "'nowhere': use `official`, `hub`, a URL"),
        ({"origin": "ftp://x"}, "'ftp://x': use"),
        ({"split": "test"}, "--split test: expected one of testdev, val, train"),
        (
            {"dataset": "birds"},
            "params.yaml: no section `birds` with `ingest`; run: rgqa init birds",
        ),
    ],
)
def test_mistakes_in_the_command_are_reported(get, options, message):
    assert wrong(get, **options)[0].startswith(message)
