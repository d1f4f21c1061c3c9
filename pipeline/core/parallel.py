"""Work side by side, on this machine or on a cluster; results come in the order of the items, so that neither the engine nor
the number of processes changes a byte. The one door to both engines; docs/guides/cluster.md tells how they are used.

RGQA_ENGINE      "local", unless said: processes of this machine. "ray": actors of Ray (the extra `cluster`)
RAY_ADDRESS      the cluster's; without it a Ray of this machine's own is begun, which ends with the command
RGQA_GPU_FRACTION   what part of a GPU each copy of a network holds under Ray; 1 unless said
OMP_NUM_THREADS  how many processes this machine is worth; one for each core unless said
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from typing import Any, Literal, TypeVar

from pipeline.core.errors import UserError
from pipeline.core.process_pool import ProcessPool, WorkerPool

State = TypeVar("State")
Item = TypeVar("Item")
Result = TypeVar("Result")

PREFETCH_PER_WORKER = 2  # pieces given out ahead for each process: enough to keep it busy, few enough to hold
ENGINES = ("local", "ray")
BATCHES_PER_REPLICA = (
    8  # batches for which another copy of a network, which takes seconds to load, is worth it
)


def get_engine() -> Literal["local", "ray"]:
    """The engine that the environment asks for.

    Raises:
        UserError: there is none of that name.
    """
    name = os.environ.get("RGQA_ENGINE") or "local"
    if name not in ENGINES:
        raise UserError(f"RGQA_ENGINE: no engine {name!r}; choose from {', '.join(ENGINES)}")
    return name


def num_local_workers() -> int:
    """How much is worked on side by side on this machine: OMP_NUM_THREADS, else one for each core."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return int(asked) if asked.isdigit() and int(asked) else len(os.sched_getaffinity(0))


def choose_num_workers(num_items: int, items_per_worker: int = 1000) -> int:
    """How many processes so many items are worth: `each` to one, as it takes a second or more to set one up."""
    wanted, on_cluster = num_items // items_per_worker, get_engine() == "ray"
    most = _count_cluster_resource("CPU") if on_cluster and wanted > 1 else num_local_workers()
    return max(1, min(most, wanted))


def num_model_replicas(num_batches: int, *, use_gpu: bool = True) -> tuple[int, float]:
    """How many copies of a network so many batches are worth, and what share of a GPU each is to hold (none without `gpu`):
    the one that is here already, unless there is a cluster.

    Raises:
        UserError: RGQA_GPU_FRACTION is no share, or the cluster cannot be had.
    """
    if get_engine() == "local" or not num_batches:
        return 1, 0.0
    said = os.environ.get("RGQA_GPU_FRACTION") or "1"
    share = float(said) if re.fullmatch(r"1|0?\.\d{1,4}", said) else 0.0
    if not share:
        raise UserError(f"RGQA_GPU_FRACTION: expected a share of a GPU, above 0 and up to 1, got {said!r}")
    gpus = _count_cluster_resource("GPU") if use_gpu else 0
    return (
        (min(num_batches, gpus * int(1 / share)), share)
        if gpus
        else (choose_num_workers(num_batches, BATCHES_PER_REPLICA), 0.0)
    )


def _count_cluster_resource(name: str) -> int:
    """How many processors ("CPU") or GPUs the cluster has."""
    from pipeline.core.ray_pool import connect_ray

    return int(connect_ray(num_local_workers()).cluster_resources().get(name, 0))


def ordered_map(
    work: Callable[[State, Item], Result],
    items: Iterable[Item],
    make_state: Callable[[], State],
    num_workers: int,
    chunk_size: int = 64,
    *,
    gpus_per_worker: float = 0.0,
) -> Iterator[Result]:
    """Yield `work(what was set up, item)` for each item, in order, from processes that each set themselves up once.

    What a killed process was given is given to another one. At the end, also by an error or Ctrl-C, the processes end.
    They end, too, when this one is killed.

    Args:
        set_up: makes what a process needs to work (opens files, reads tables), once there is an item. This and
            `work` are functions of a module, or a `partial` of one.
        processes: how many; with one that needs no share of a GPU, all is done right here.
        piece: how many items a process is given at once. Of results not yet taken, no more than twice that for
            each process are held.
        gpus: what share of a GPU each process holds; see `networks`.

    Raises:
        UserError: processes were killed over a piece of work again and again, as by a lack of memory; there is no such
            engine, or no cluster; else what `work` raises.
    """
    if num_workers == 1 and not gpus_per_worker:
        state = cache(make_state)
        yield from (work(state(), item) for item in items)
        return
    left, waiting = iter(items), deque[Any]()
    crew = _make_worker_pool(work, make_state, num_workers, gpus_per_worker)
    try:
        while True:
            while len(waiting) < PREFETCH_PER_WORKER * crew.num_ready() and (
                some := list(islice(left, chunk_size))
            ):
                waiting.append(crew.submit(some))
            if not waiting:
                return
            yield from crew.get_result(waiting.popleft())
    finally:
        crew.shutdown()


def _make_worker_pool(
    work: Callable[..., Any], set_up: Callable[[], Any], processes: int, gpus: float
) -> WorkerPool:
    if get_engine() == "local":
        return ProcessPool(work, set_up, processes)
    from pipeline.core.ray_pool import RayPool, connect_ray

    return RayPool(connect_ray(num_local_workers()), work, set_up, processes, gpus)
