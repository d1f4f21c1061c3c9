"""A local Ray with four processors gives the same results as this process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from pipeline.candidates.encoders import clip
from pipeline.candidates.encoders.embedding_cache import CACHE_PATH
from pipeline.candidates.ranking import topk
from pipeline.candidates.ranking.topk import top_and_bottom_k
from pipeline.core import ray_pool
from pipeline.core.errors import UserError
from pipeline.core.parallel import PREFETCH_PER_WORKER, choose_num_workers, ordered_map
from pipeline.core.ray_pool import connect_ray
from pipeline.stages import embed, perturb, rank, screen, tag, vocabulary
from tests.candidates.ranking.random_worlds import near_ties, table_of
from tests.core.parallel_work import ENDLESS, ROOT, added, always_killed, broken, killed_once, refused, tables
from tests.stages.small_projects import (
    in_processes,
    ingest_copies,
    lay_out_rank_project,
    lay_out_world,
    written,
)

# All tests share one local Ray.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def own_ray():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RAY_ADDRESS", raising=False)
        ray = connect_ray(4)
        yield ray
        ray.shutdown()
        connect_ray.cache_clear()


@pytest.fixture
def by_ray(own_ray, monkeypatch):
    monkeypatch.setenv("RGQA_ENGINE", "ray")
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    return own_ray


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_clip: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    lay_out_world(tiny_clip)
    return tmp_path


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project folder in which rank can run."""
    monkeypatch.chdir(tmp_path)
    return lay_out_rank_project(tmp_path)


@pytest.fixture
def ingested(tiny, set_params):
    return ingest_copies(tiny, set_params)


@pytest.mark.parametrize("number", [2, 4])
def test_results_have_the_order_of_the_items_for_any_number_of_actors(by_ray, number):
    assert choose_num_workers(9000) == 4
    taken = []
    results = ordered_map(added, (taken.append(i) or i for i in range(400)), partial(tables, 100), number, 5)
    first = [next(results) for _ in range(10)]
    # Items are read ahead only for the chunks that may wait.
    assert len(taken) <= 10 + 5 * PREFETCH_PER_WORKER * number
    every = first + list(results)
    assert [value for value, _ in every] == [100 + item for item in range(400)]
    used = {process for _, process in every}
    # On a busy machine, one actor may have done everything before the others have started.
    assert os.getpid() not in used and 1 <= len(used) <= number


def test_all_lines_of_a_user_error_reach_the_user(by_ray):
    for set_up, lines in (
        (broken, ["2 problems", "one", "another"]),
        (partial(tables, 0), ["item 7: no good"]),
    ):
        with pytest.raises(UserError) as caught:
            list(ordered_map(refused, range(20), set_up, 2, chunk_size=2))
        assert type(caught.value) is UserError and caught.value.problems == lines


def test_chunks_of_a_killed_actor_are_repeated(by_ray, tmp_path):
    results = ordered_map(killed_once, range(20), partial(Path, tmp_path), 2, chunk_size=2)
    assert list(results) == [item * item for item in range(20)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["10", "17", "3"]


def test_work_that_kills_every_actor_is_reported_with_what_to_do(by_ray, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(ray_pool, "MAX_RETRIES", 1)
    with pytest.raises(UserError, match="was killed.*OMP_NUM_THREADS=1"):
        list(ordered_map(always_killed, range(20), partial(Path, tmp_path), 2, chunk_size=1))
    assert (tmp_path / "tries").read_text() == ".."
    # Ray prints nothing on stdout.
    assert capfd.readouterr().out == ""


def test_tag_perturb_and_screen_write_the_same_bytes(ingested, own_ray, monkeypatch):
    vocabulary.main()
    found = []
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    for engine, numbers in (("local", (1, 1, 1)), ("ray", (2, 4, 2))):
        monkeypatch.setenv("RGQA_ENGINE", engine)
        for stage, number in zip((tag, perturb, screen), numbers, strict=True):
            in_processes(number, monkeypatch)
            stage.main()
        found.append({path.name: path.read_bytes() for path in ingested.rglob("*.json*")})
    assert found[0] == found[1]
    assert {"tags.jsonl", "candidates.jsonl", "screened.jsonl", "dropped.jsonl"} <= found[0].keys()


def test_rank_writes_the_same_bytes_and_its_actors_map_the_vectors(project, own_ray, monkeypatch):
    found, given = [], []
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    monkeypatch.setattr(topk, "ordered_map", lambda *a: given.append(a[2].args[0][:2]) or ordered_map(*a))
    for engine, number in (("local", 1), ("ray", 2), ("ray", 4)):
        monkeypatch.setenv("RGQA_ENGINE", engine)
        monkeypatch.setattr(topk, "choose_num_workers", lambda *_, number=number: number)
        rank.main()
        found.append({path.name: path.read_bytes() for path in (project / "rank").iterdir()})
    assert found[0] == found[1] == found[2] and "candidates.jsonl" in found[0]
    assert given == [(project / "embed/images.npy", project / "embed/texts.npy")] * 2


def test_near_ties_are_ranked_the_same_when_embeddings_are_sent(by_ray, monkeypatch):
    images, texts, owners, texts_of = near_ties()
    table = table_of(owners, texts_of, len(images), len(texts))
    found = []
    for number in (1, 3):
        monkeypatch.setattr(topk, "choose_num_workers", lambda *_, number=number: number)
        found.append(top_and_bottom_k(images, texts, table, 200, 50))
    here, there = ([array.tobytes() for end in one[:2] for array in end] for one in found)
    assert here == there and found[0].num_recomputed == found[1].num_recomputed


def test_embed_reports_the_same_problems_and_writes_the_same_bytes(world, own_ray, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    embed.main()
    alone = written()
    CACHE_PATH.unlink()
    broken, kept = Path("data/world/source/images/b.png"), Path("data/world/source/images/b.png").read_bytes()
    broken.write_bytes(b"")
    # Numbers of replicas for texts and for images.
    copies = iter((2, 4))
    with monkeypatch.context() as patch, pytest.raises(UserError) as caught:
        patch.setenv("RGQA_ENGINE", "ray")
        patch.setattr(clip, "num_model_replicas", lambda *_, **__: (next(copies), 0.0))
        embed.main()
    (_, line) = caught.value.problems
    assert line.startswith(f"{broken}: ") and "the file is empty" in line
    broken.write_bytes(kept)
    encoded = []
    inner = clip.Encoder._encode_image_batch
    monkeypatch.setattr(clip.Encoder, "_encode_image_batch", lambda *a: encoded.append(a[1]) or inner(*a))
    # This process encodes the remaining image.
    embed.main()
    assert encoded == [[str(broken)]] and written() == alone


def test_a_local_ray_listens_only_on_the_loopback_address(by_ray):
    ours = {process.pid for process in psutil.Process().children(recursive=True)}
    # Connections of the whole machine, because processes may end meanwhile.
    every = psutil.net_connections("inet")
    listening = {each.laddr.ip for each in every if each.pid in ours and each.status == psutil.CONN_LISTEN}
    assert listening and listening <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


def test_the_folder_of_ray_has_a_short_path(tmp_path, monkeypatch):
    # Paths of sockets have at most 107 bytes (unix(7)), of which Ray needs about 70 below its folder.
    begun: dict[str, Any] = {}
    ray = SimpleNamespace(init=lambda *_, **options: begun.update(options), shutdown=lambda: None)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ray_pool._start_local_ray(ray, 2, {})
    assert Path(begun["_temp_dir"]).is_dir() and len(begun["_temp_dir"]) < 37
    Path(begun["_temp_dir"]).rmdir()


def test_a_cluster_that_does_not_answer_is_reported_at_once(monkeypatch):
    for address in ("127.0.0.1:9", "nonsense", "127.0.0.1:ray"):
        monkeypatch.setenv("RAY_ADDRESS", address)
        with pytest.raises(UserError, match=f"RAY_ADDRESS: no usable Ray cluster answers at '{address}'"):
            connect_ray.__wrapped__(2)


def test_without_ray_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"RGQA_ENGINE=ray needs Ray .*: pip install '\.\[cluster\]'"):
        connect_ray.__wrapped__(2)


def test_ctrl_c_ends_ray_and_all_its_processes_with_one_message(tmp_path):
    script = tmp_path / "endless.py"
    script.write_text(ENDLESS)
    main = subprocess.Popen(
        [sys.executable, script],
        env=os.environ | {"PYTHONPATH": str(ROOT), "RGQA_ENGINE": "ray"},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    main.stdout.readline()
    running = psutil.Process(main.pid).children(recursive=True)
    assert {"raylet", "gcs_server"} <= {process.name() for process in running}
    os.killpg(main.pid, signal.SIGINT)
    _, errors = main.communicate(timeout=60)
    _, alive = psutil.wait_procs(running, timeout=30)
    assert (alive, main.returncode) == ([], 1)
    assert errors == "error: stopped by Ctrl-C; finished work is kept, so run the same command to resume\n"
    assert not list(Path("/tmp").glob(f"rgqa-ray-{main.pid}-*"))
