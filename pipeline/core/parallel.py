"""Process items in parallel, on this machine or on a Ray cluster (docs/guides/cluster.md).

Results come in the order of the items, so neither the engine nor the number of processes changes the output.

Environment variables:
    RGQA_ENGINE: "local" (default) for processes of this machine, or "ray" for Ray actors (extra `cluster`).
    RAY_ADDRESS: Address of the Ray cluster. If unset, Ray is started on this machine and ends with the
    command. RGQA_GPU_FRACTION: Fraction of a GPU that each model replica holds under Ray: "1" (default), or a
    decimal
        fraction below 1 with at most four decimal places, such as "0.25".
    OMP_NUM_THREADS: Also used as the number of worker processes on this machine; by default one per core that
        this process may use.
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

# Number of chunks submitted ahead per worker. Two chunks keep a worker busy and need little memory.
PREFETCH_PER_WORKER = 2
ENGINES = ("local", "ray")
# Number of batches that justify another model replica, which takes seconds to load.
BATCHES_PER_REPLICA = 8


def get_engine() -> Literal["local", "ray"]:
    """Return the engine that RGQA_ENGINE names.

    Raises:
        UserError: No engine has this name.
    """
    name = os.environ.get("RGQA_ENGINE") or "local"
    if name not in ENGINES:
        raise UserError(f"RGQA_ENGINE: no engine {name!r}; choose from {', '.join(ENGINES)}")
    return name


def num_local_workers() -> int:
    """Return the number of processes for this machine: OMP_NUM_THREADS, or one per core."""
    requested = os.environ.get("OMP_NUM_THREADS", "")
    return int(requested) if requested.isdigit() and int(requested) else len(os.sched_getaffinity(0))


def choose_num_workers(num_items: int, items_per_worker: int = 1000) -> int:
    """Return the number of workers for a number of items, at least 1.

    Args:
        num_items: Number of items.
        items_per_worker: Minimum number of items per worker, because starting a worker takes a second or
            more.
    """
    requested, on_cluster = num_items // items_per_worker, get_engine() == "ray"
    max_workers = _count_cluster_resource("CPU") if on_cluster and requested > 1 else num_local_workers()
    return max(1, min(max_workers, requested))


def num_model_replicas(num_batches: int, *, use_gpu: bool = True) -> tuple[int, float]:
    """Return the number of model replicas for a number of batches, and the fraction of a GPU that each
    replica holds.

    With the engine "local", or without batches, there is one replica, and the fraction is 0.

    Args:
        num_batches: Number of batches.
        use_gpu: Whether replicas may use GPUs.

    Raises:
        UserError: RGQA_GPU_FRACTION is invalid, or the cluster does not answer.
    """
    if get_engine() == "local" or not num_batches:
        return 1, 0.0
    text = os.environ.get("RGQA_GPU_FRACTION") or "1"
    fraction = float(text) if re.fullmatch(r"1(\.0{1,4})?|0?\.\d{1,4}", text) else 0.0
    if not fraction:
        raise UserError(
            f"RGQA_GPU_FRACTION: expected 1, or a fraction of a GPU such as 0.25 (at most four decimal places), got {text!r}"
        )
    gpus = _count_cluster_resource("GPU") if use_gpu else 0
    return (
        (min(num_batches, gpus * int(1 / fraction)), fraction)
        if gpus
        else (choose_num_workers(num_batches, BATCHES_PER_REPLICA), 0.0)
    )


def _count_cluster_resource(name: str) -> int:
    """Return the number of processors ("CPU") or GPUs ("GPU") of the cluster."""
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
    """Yield `work(state, item)` for each item, in order, computed by worker processes.

    If a worker is killed, its items go to another worker. The workers end when the iteration ends, after an
    error or Ctrl-C, and when this process is killed.

    Args:
        work: Computes the result of an item. The callable must be a function defined in a module, or a
            `partial` of such a function, so that it can be sent to another process.
        items: The items. They are read only a little ahead of the results.
        make_state: Makes what a worker needs (opens files, reads tables), once per worker and only if there
            is an item. The same condition holds for this callable as for `work`.
        num_workers: Number of workers. With one worker and no GPU, everything runs in this process.
        chunk_size: Number of items that a worker gets at once. At most `PREFETCH_PER_WORKER` chunks per
            worker are in memory.
        gpus_per_worker: Fraction of a GPU that each worker holds, in [0, 1] (`num_model_replicas`).

    Raises:
        UserError: Workers were killed repeatedly while they processed the same items, for example for lack of
            memory. Or the engine is unknown, or the cluster does not answer. Errors of `work` and
            `make_state` are raised as they are.

    Example:
        >>> list(ordered_map(pow, [1, 2], make_state=lambda: 10, num_workers=1))
        [10, 100]
    """
    if num_workers == 1 and not gpus_per_worker:
        state = cache(make_state)
        yield from (work(state(), item) for item in items)
        return
    remaining, tickets = iter(items), deque[Any]()
    pool = _make_worker_pool(work, make_state, num_workers, gpus_per_worker)
    try:
        while True:
            while len(tickets) < PREFETCH_PER_WORKER * pool.num_ready() and (
                chunk := list(islice(remaining, chunk_size))
            ):
                tickets.append(pool.submit(chunk))
            if not tickets:
                return
            yield from pool.get_result(tickets.popleft())
    finally:
        pool.shutdown()


def _make_worker_pool(
    work: Callable[..., Any], make_state: Callable[[], Any], num_workers: int, gpus_per_worker: float
) -> WorkerPool:
    if get_engine() == "local":
        return ProcessPool(work, make_state, num_workers)
    from pipeline.core.ray_pool import RayPool, connect_ray

    return RayPool(connect_ray(num_local_workers()), work, make_state, num_workers, gpus_per_worker)
