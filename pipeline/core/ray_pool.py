"""Ray actors for `parallel.ordered_map`, on this machine or on a cluster.

This is the only module that imports Ray.

Actors are used instead of Ray Data, because an actor makes its state once, holds a fraction of a GPU, and is
restarted with the chunk that it was working on. Ray Data needs all items beforehand, and its settings for
order and prefetching differ between releases. The Arrow blocks, shuffles and spilling of Ray Data are not
needed here.
"""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import socket
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from multiprocessing import spawn
from tempfile import mkdtemp
from typing import Any

from pipeline.core.errors import UserError
from pipeline.core.process_pool import MAX_RETRIES, init_worker, run_chunk, worker_killed_error

# Size of the shared memory for results, if Ray is started on this machine.
OBJECT_STORE_BYTES = 512 << 20
# Time to wait for a connection to the cluster. Ray itself would wait two minutes.
CONNECT_TIMEOUT_SECONDS = 5
# Keys of the preparation data with which a worker takes over the folder, the paths and the main module of
# this process.
PREPARATION_KEYS = ("sys_path", "sys_argv", "dir", "init_main_from_name", "init_main_from_path")


class RayPool:
    """A `WorkerPool` of Ray actors with one processor each.

    If the cluster has no capacity for all actors at first, the other actors join the pool later.

    Args:
        ray: The module `ray`, as returned by `connect_ray`.
        work: Called with the state and an item.
        make_state: Makes the state of an actor.
        num_workers: Number of actors.
        gpus_per_worker: Fraction of a GPU that each actor holds, in [0, 1].
    """

    def __init__(
        self,
        ray: Any,
        work: Callable[[Any, Any], Any],
        make_state: Callable[[], object],
        num_workers: int,
        gpus_per_worker: float,
    ) -> None:
        self._ray = ray
        # Actors get the same folder, modules and main module as the processes of a ProcessPool.
        here = spawn.get_preparation_data("rgqa")
        preparation = {name: here[name] for name in PREPARATION_KEYS if name in here}
        # Ray does not resolve references inside a list. So an actor itself fetches these objects, once after
        # each start.
        self._job = [ray.put(preparation), ray.put((work, make_state))]
        actor_class = ray.remote(_RayWorker).options(
            num_cpus=1, num_gpus=gpus_per_worker, max_restarts=-1, max_task_retries=MAX_RETRIES
        )
        actors = [actor_class.remote() for _ in range(num_workers)]
        self._starting = {actor.wait_until_started.remote(): actor for actor in actors}
        self._actors: list[Any] = []
        # Ticket -> actor that works on the chunk, for chunks whose results were not fetched yet.
        self._pending: dict[Any, Any] = {}

    def num_ready(self) -> int:
        if not self._actors:
            self._ray.wait(list(self._starting))
        self._actors += [self._starting.pop(started) for started in self._completed(self._starting)]
        return len(self._actors)

    def submit(self, chunk: list[Any]) -> Any:
        done = set(self._completed(self._pending))
        busy = Counter(id(actor) for ticket, actor in self._pending.items() if ticket not in done)
        actor = min(self._actors, key=lambda actor: busy[id(actor)])
        ticket = actor.run_chunk.remote(self._job, chunk)
        self._pending[ticket] = actor
        return ticket

    def get_result(self, ticket: Any) -> list[Any]:
        try:
            results = self._ray.get(ticket)
        # Ray wraps the error of the work.
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        # An actor, its machine or a result is lost.
        except self._ray.exceptions.RayError as error:
            raise worker_killed_error(error) from error
        del self._pending[ticket]
        return results

    def shutdown(self) -> None:
        for actor in [*self._starting.values(), *self._actors]:
            self._ray.kill(actor)

    def _completed(self, tickets: Iterable[Any]) -> list[Any]:
        everything = list(tickets)
        return self._ray.wait(everything, num_returns=len(everything), timeout=0)[0] if everything else []


class _RayWorker:
    """An actor.

    Ray runs each actor in a process of its own, and restarts the actor if its process is killed.
    """

    def __init__(self) -> None:
        self._work: Callable[[Any, Any], Any] | None = None

    def wait_until_started(self) -> None:
        """Return as soon as the cluster has capacity for the actor."""

    def run_chunk(self, job: list[Any], chunk: list[Any]) -> list[Any]:
        """Return the results of a chunk.

        The first chunk prepares the process, so that errors of the preparation reach the user like other
        errors.

        Args:
            job: References to the preparation data and to the pair (work, make_state).
            chunk: The items.
        """
        if self._work is None:
            import ray
            from ray.exceptions import RaySystemError

            os.environ |= {"OMP_NUM_THREADS": "1", "RGQA_ENGINE": "local"}
            preparation, functions = job
            try:
                spawn.prepare(ray.get(preparation))
                # The modules of these functions can be imported only now.
                self._work, make_state = ray.get(functions)
            except (FileNotFoundError, ImportError, RaySystemError) as error:
                raise UserError(
                    f"{socket.gethostname()}, a machine of the cluster: {error}. All machines need the project's folder and its "
                    "environment under the same path (docs/guides/cluster.md)"
                ) from error
            init_worker(make_state)
        assert self._work is not None
        return run_chunk(self._work, chunk)


@cache
def connect_ray(num_cpus: int) -> Any:
    """Return the module `ray`, connected to the cluster of RAY_ADDRESS.

    Without RAY_ADDRESS, Ray is started on this machine. Then Ray listens only on the loopback address, needs
    a random token, writes into a temporary folder, and ends with this process.

    Args:
        num_cpus: Number of processors that Ray may use on this machine. Not used with RAY_ADDRESS.

    Raises:
        UserError: Ray is not installed, or the cluster does not answer.
    """
    address = os.environ.get("RAY_ADDRESS", "")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Ray reads these variables when it is imported.
    if not address:
        # With this setting, Ray binds to 127.0.0.1 only, also on Linux.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
        # By default, actors have a low priority.
        os.environ |= {"RAY_worker_niceness": "0"}
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    try:
        import ray
        import ray._private.worker as connection
        import ray.exceptions
    except ImportError as error:
        raise UserError(f"RGQA_ENGINE=ray needs Ray ({error}): pip install '.[cluster]'") from error
    # Without this setting, Ray would print its own messages about killed actors.
    connection._worker_logs_enabled = False
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "FATAL"}
    try:
        if address:
            host, _, port = address.rpartition(":")
            if host:
                socket.create_connection((host, int(port)), CONNECT_TIMEOUT_SECONDS).close()
            ray.init(address, **quiet)
        else:
            _start_local_ray(ray, num_cpus, quiet)
    # Ray raises many kinds of errors here.
    except (Exception, SystemExit) as error:
        raise UserError(
            f"RAY_ADDRESS: no usable Ray cluster answers at {address!r} ({error}). Set it to the host:port that "
            "`ray start --head` prints, run the command on a machine of the cluster, and set RAY_AUTH_MODE=token if the cluster "
            "needs a token"
            if address
            else f"Ray could not start on this machine within half a minute ({error}). Run the same command again when the "
            "machine is less busy, or without RGQA_ENGINE=ray"
        ) from error
    return ray


def _start_local_ray(ray: Any, num_cpus: int, quiet: Mapping[str, Any]) -> None:
    # The path in TMPDIR may be too long, because paths of sockets have at most about 100 characters.
    folder = mkdtemp(prefix=f"rgqa-ray-{os.getpid()}-", dir="/tmp")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    # Functions registered with atexit run in reverse order, so Ray ends before its folder is deleted.
    atexit.register(ray.shutdown)
    settings = {
        "num_cpus": num_cpus,
        "object_store_memory": OBJECT_STORE_BYTES,
        "include_dashboard": False,
        "_temp_dir": folder,
    }
    ray.init("local", **settings, **quiet)
