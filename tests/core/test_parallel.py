"""Work in several processes, with both engines, and per image."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import psutil
import pytest

from pipeline.core import parallel, per_image
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_jsonl, write_jsonl
from pipeline.core.parallel import (
    PREFETCH_PER_WORKER,
    choose_num_workers,
    num_local_workers,
    num_model_replicas,
    ordered_map,
)
from pipeline.core.paths import DatasetFolders
from pipeline.core.per_image import list_image_ids, select_counts, write_per_image
from pipeline.core.process_pool import MAX_RETRIES, ProcessPool, worker_killed_error
from pipeline.core.records import DroppedCandidate, ImageRecord, SourceQuestionScore
from tests.core.parallel_work import ENDLESS, ROOT, added, always_killed, broken, killed_once, refused, tables

# Parallel
# Work in several processes, with both engines. The work functions are in `parallel_work`.


@pytest.mark.parametrize("number", [1, 2, 3])
def test_results_have_the_order_of_the_items_for_any_number_of_processes(number):
    results = list(ordered_map(added, iter(range(50)), partial(tables, 100), number, chunk_size=4))
    assert [value for value, _ in results] == [100 + item for item in range(50)]
    used = {process for _, process in results}
    assert used == {os.getpid()} if number == 1 else os.getpid() not in used and 1 <= len(used) <= number


@pytest.mark.parametrize("number", [1, 2])
def test_the_state_is_made_once_per_process_and_only_if_there_are_items(number):
    assert list(ordered_map(refused, [], broken, number)) == []


@pytest.mark.parametrize("number", [1, 2])
def test_items_are_not_read_further_ahead_than_needed(number):
    taken = []

    def items():
        for item in range(1000):
            taken.append(item)
            yield item

    results = ordered_map(added, items(), partial(tables, 0), number, chunk_size=5)
    for _ in range(10):
        next(results)
    results.close()
    # Ten results were taken, and two chunks of 5 per process may wait.
    assert len(taken) == 10 if number == 1 else len(taken) <= 10 + 5 * PREFETCH_PER_WORKER * number


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize(
    "set_up, work, lines",
    [(broken, refused, ["2 problems", "one", "another"]), (partial(tables, 0), refused, ["item 7: no good"])],
)
def test_all_lines_of_a_user_error_reach_the_user(number, set_up, work, lines):
    with pytest.raises(UserError) as caught:
        list(ordered_map(work, range(20), set_up, number, chunk_size=2))
    assert caught.value.problems == lines


def test_the_number_of_workers_depends_on_items_and_environment(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert [choose_num_workers(items, items_per_worker=100) for items in (0, 99, 199, 200, 300, 9000)] == [
        1,
        1,
        1,
        2,
        3,
        3,
    ]
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert choose_num_workers(9000, items_per_worker=100) == 1
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert num_local_workers() == len(os.sched_getaffinity(0))


def test_an_unknown_engine_is_reported_with_the_known_ones(monkeypatch):
    monkeypatch.setenv("RGQA_ENGINE", "rya")
    for ask in (
        lambda: choose_num_workers(1),
        lambda: num_model_replicas(1),
        lambda: list(ordered_map(added, [1], broken, 2)),
    ):
        with pytest.raises(UserError, match="no engine 'rya'; choose from local, ray"):
            ask()


def test_a_cluster_gets_one_worker_per_processor(monkeypatch):
    monkeypatch.setenv("RGQA_ENGINE", "ray")
    monkeypatch.setattr(parallel, "_count_cluster_resource", {"CPU": 96, "GPU": 8}.__getitem__)
    assert [choose_num_workers(items, items_per_worker=100) for items in (0, 199, 300, 90_000)] == [
        1,
        1,
        3,
        96,
    ]


@pytest.mark.parametrize(
    "share, batches, gpu, copies",
    [
        ("", 1000, True, (8, 1.0)),
        ("0.25", 1000, True, (32, 0.25)),
        # 1.0 is a whole GPU for each replica.
        ("1.0", 1000, True, (8, 1.0)),
        # Three replicas fit on a GPU, because none is divided between two.
        (".3", 1000, True, (24, 0.3)),
        # There is at most one replica per batch.
        ("0.25", 5, True, (5, 0.25)),
        # Without GPUs there is one replica per 8 batches, and at most one per processor.
        ("", 80, False, (10, 0.0)),
        ("", 8000, False, (96, 0.0)),
        ("", 0, True, (1, 0.0)),
    ],
)
def test_model_replicas_share_the_gpus_of_a_cluster(share, batches, gpu, copies, monkeypatch):
    monkeypatch.setenv("RGQA_ENGINE", "ray")
    monkeypatch.setenv("RGQA_GPU_FRACTION", share)
    monkeypatch.setattr(parallel, "_count_cluster_resource", {"CPU": 96, "GPU": 8}.__getitem__)
    assert num_model_replicas(batches, use_gpu=gpu) == copies


def test_this_machine_has_one_model_replica(monkeypatch):
    monkeypatch.delenv("RGQA_ENGINE", raising=False)
    assert num_model_replicas(1000) == (1, 0.0)


@pytest.mark.parametrize("share", ["0", "2", "1.5", "1.0001", "half", "-0.5", ".0", "0.0"])
def test_a_gpu_fraction_is_above_0_and_at_most_1(share, monkeypatch):
    monkeypatch.setenv("RGQA_ENGINE", "ray")
    monkeypatch.setenv("RGQA_GPU_FRACTION", share)
    monkeypatch.setattr(parallel, "_count_cluster_resource", {"CPU": 96, "GPU": 8}.__getitem__)
    with pytest.raises(UserError, match="RGQA_GPU_FRACTION: expected 1, or a fraction of a GPU such as 0.25"):
        num_model_replicas(100)


def started(script: Path, text: str) -> subprocess.Popen[str]:
    """Start a program in its own process group, like a terminal."""
    script.write_text(text)
    return subprocess.Popen(
        [sys.executable, script],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def ended(main: subprocess.Popen[str], workers: list[psutil.Process]) -> tuple[int, str]:
    """Wait for a program and its workers. Return its exit code and its stderr."""
    _, errors = main.communicate(timeout=60)
    _, alive = psutil.wait_procs(workers, timeout=30)
    assert not alive
    return main.returncode, errors


@pytest.mark.parametrize(
    "how, code, told",
    [
        (signal.SIGINT, 1, "error: stopped by Ctrl-C; finished work is kept"),
        (signal.SIGKILL, -signal.SIGKILL, ""),
    ],
)
def test_ctrl_c_and_a_kill_end_all_processes_without_a_traceback(tmp_path, how, code, told):
    main = started(tmp_path / "endless.py", ENDLESS)
    workers = set()
    while len(workers) < 2:
        workers.add(int(main.stdout.readline()))
    running = [psutil.Process(process) for process in workers]
    # Ctrl-C is sent to all processes of a terminal, and a kill to one.
    (os.killpg if how == signal.SIGINT else os.kill)(main.pid, how)
    returned, errors = ended(main, running)
    assert returned == code
    assert errors.startswith(told) and "Traceback" not in errors


# Each item takes ten minutes. A process prints when it starts (imports this script) and when it begins to work.
LONG = """
import os, sys, time
from functools import partial
from pipeline.core.errors import run_command
from pipeline.core.parallel import ordered_map

def say(what):
    os.write(1, f"{what} {os.getpid()}\\n".encode())

if __name__ != "__main__":
    say("starts")
    time.sleep(1)

def work(state, item):
    say("works")
    time.sleep(600)

def main():
    results = ordered_map(work, range(100), partial(bytes, 10**7), 2, chunk_size=1)
    # The traceback keeps the iterator alive.
    for _ in iter(lambda: next(results), None):
        pass

if __name__ == "__main__":
    run_command(main)
"""


@pytest.mark.parametrize("moment", ["starts", "works"])
@pytest.mark.parametrize(
    "how, code",
    [(signal.SIGINT, 1), (signal.SIGHUP, 128 + signal.SIGHUP), (signal.SIGTERM, 128 + signal.SIGTERM)],
)
def test_a_stopped_command_ends_at_once_with_all_its_processes(tmp_path, moment, how, code):
    main = started(tmp_path / "long.py", LONG)
    while not main.stdout.readline().startswith(moment):
        pass
    children = psutil.Process(main.pid).children(recursive=True)
    os.killpg(main.pid, how)
    returned, errors = ended(main, children)
    assert returned == code and "Traceback" not in errors


def test_signal_handlers_are_restored():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    list(ordered_map(added, range(4), partial(tables, 0), 2, chunk_size=1))
    results = ordered_map(added, range(4), partial(tables, 0), 2, chunk_size=1)
    next(results)
    assert signal.getsignal(signal.SIGTERM) != before[1]
    results.close()
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


# Process pool
# Worker processes that are killed.


def test_chunks_of_a_killed_process_are_repeated(tmp_path):
    results = ordered_map(killed_once, range(20), partial(Path, tmp_path), 2, chunk_size=2)
    assert list(results) == [item * item for item in range(20)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["10", "17", "3"]


def test_work_that_kills_every_process_is_reported_with_what_to_do(tmp_path):
    with pytest.raises(UserError, match="was killed.*3 times.*OMP_NUM_THREADS=1"):
        list(ordered_map(always_killed, range(20), partial(Path, tmp_path), 2, chunk_size=1))
    assert (tmp_path / "tries").read_text() == "." * (1 + MAX_RETRIES)


def test_a_chunk_submitted_to_a_broken_pool_is_processed(tmp_path):
    pool = ProcessPool(killed_once, partial(Path, tmp_path), 1)
    first = pool.submit([3])
    with pytest.raises(Exception, match="terminated abruptly"):
        pool._pending[first][1].result()
    then = pool.submit([4])
    assert (pool.get_result(then), pool.get_result(first)) == ([16], [9])
    pool.shutdown()


def test_the_reason_has_one_line():
    assert (
        worker_killed_error("one\ntwo").problems[0].count("(one)") == 1
        and "two" not in worker_killed_error("one\ntwo").problems[0]
    )
    assert "(KeyError)" in worker_killed_error(KeyError()).problems[0]


# Per image


def dropped(image_id, subset):
    return DroppedCandidate(
        candidate_id=f"{subset}_{image_id}",
        subset=subset,
        image_id=image_id,
        question_id="q",
        text="?",
        stage="test",
        reason=f"of {image_id}",
    )


def rows_of(score, image_id):
    """Yield for each image a row of the last subset, a score, and a row of the first subset."""
    scored = SourceQuestionScore(question_id=image_id, score=score)
    return [dropped(image_id, "pt-hard"), scored, dropped(image_id, "clip-easy")]


def keys(row):
    if isinstance(row, SourceQuestionScore):
        return [("pt-easy", "scores", ""), ("pt-hard", "scores", "")]
    return [(row.subset, "dropped", row.reason)]


def test_rows_are_written_by_type_then_subset_then_image_and_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(per_image, "choose_num_workers", lambda *_: 2)
    files = {"dropped.jsonl": DroppedCandidate, "scores.jsonl": SourceQuestionScore}
    counts = write_per_image(tmp_path, ["a", "b", "c"], files, partial(float, 0.5), rows_of, keys)
    rows = [(row.subset, row.image_id) for row in read_jsonl(tmp_path / "dropped.jsonl", DroppedCandidate)]
    assert rows == [(subset, image) for subset in ("clip-easy", "pt-hard") for image in "abc"]
    scores = list(read_jsonl(tmp_path / "scores.jsonl", SourceQuestionScore))
    assert [(row.question_id, row.score) for row in scores] == [("a", 0.5), ("b", 0.5), ("c", 0.5)]
    assert counts["pt-hard", "scores", ""] == 3 and counts.total() == 3 * 4


def test_counts_of_a_subset_are_selected_by_quantity():
    counts = Counter({("pt-easy", "edits", "object"): 2, ("pt-hard", "edits", "object"): 5})
    assert select_counts(counts, "pt-easy", "edits", "none") == {"edits": {"object": 2}, "none": {}}


def test_images_have_the_order_of_candidate_ids(tmp_path, monkeypatch):
    # "+" sorts before digits and letters: "n1+..." < "n10+..." < "n1a+...".
    monkeypatch.chdir(tmp_path)
    images = [
        ImageRecord(image_id=i, split="testdev", path="", width=1, height=1, sha256="")
        for i in ("n1a", "n10", "n1")
    ]
    folders = DatasetFolders("d")
    write_jsonl(folders.stage_dir("ingest") / "images.jsonl", images)
    assert list_image_ids(folders) == ["n1", "n10", "n1a"]
