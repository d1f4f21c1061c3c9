"""Actors of Ray, on this machine or on a cluster, that work for `engine.ordered_map`. The one door to Ray, loaded late.

Actors, not Ray Data: an actor sets itself up once, holds a share of a GPU, and is begun again with what it was given. What
Ray Data adds (Arrow blocks, shuffles, spilling) nothing here needs; to keep the order and to take items no further ahead than
needed it would have to be told, by settings that differ from release to release; and it wants all items beforehand.
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

OBJECT_STORE_BYTES = 512 << 20  # bytes of results that a Ray of this machine's own may hold in shared memory
CONNECT_TIMEOUT_SECONDS = 5  # seconds that a cluster has to answer; Ray itself would wait for two minutes
PREPARATION_KEYS = ("sys_path", "sys_argv", "dir", "init_main_from_name", "init_main_from_path")


class RayPool:
    """A `Crew` of Ray's actors, one processor each. Those that find no place, as others use the cluster, join when they do.

    Args:
        ray: as `cluster` returns it.
        gpus: what share of a GPU each holds.
    """

    def __init__(
        self,
        ray: Any,
        work: Callable[[Any, Any], Any],
        set_up: Callable[[], object],
        processes: int,
        gpus: float,
    ) -> None:
        self._ray = ray
        # As a process of a pool has it: the same folder and modules, and the main module, whose functions it may have to find.
        here = spawn.get_preparation_data("rgqa")
        like_here = {name: here[name] for name in PREPARATION_KEYS if name in here}
        # Kept by reference, in a list that Ray does not look into: an actor fetches it once, and again when it begins again.
        self._job = [ray.put(like_here), ray.put((work, set_up))]
        kind = ray.remote(_RayWorker).options(
            num_cpus=1, num_gpus=gpus, max_restarts=-1, max_task_retries=MAX_RETRIES
        )
        actors = [kind.remote() for _ in range(processes)]
        self._starting = {actor.join.remote(): actor for actor in actors}
        self._actors: list[Any] = []
        self._pending: dict[Any, Any] = {}  # what was given and not yet taken -> who works on it

    def num_ready(self) -> int:
        if not self._actors:
            self._ray.wait(list(self._starting))
        self._actors += [self._starting.pop(joined) for joined in self._completed(self._starting)]
        return len(self._actors)

    def submit(self, chunk: list[Any]) -> Any:
        done = set(self._completed(self._pending))
        busy = Counter(id(actor) for given, actor in self._pending.items() if given not in done)
        actor = min(self._actors, key=lambda actor: busy[id(actor)])
        given = actor.work_on.remote(self._job, chunk)
        self._pending[given] = actor
        return given

    def get_result(self, ticket: Any) -> list[Any]:
        try:
            results = self._ray.get(ticket)
        except self._ray.exceptions.RayTaskError as error:  # what the work raised, in Ray's words
            raise error.cause from None
        except self._ray.exceptions.RayError as error:  # an actor, its machine or a result is lost for good
            raise worker_killed_error(error) from error
        del self._pending[ticket]
        return results

    def shutdown(self) -> None:
        for actor in [*self._starting.values(), *self._actors]:
            self._ray.kill(actor)

    def _completed(self, promised: Iterable[Any]) -> list[Any]:
        """What is there by now."""
        every = list(promised)
        return self._ray.wait(every, num_returns=len(every), timeout=0)[0] if every else []


class _RayWorker:
    """What Ray begins in a process of its own, and again when that is killed."""

    def __init__(self) -> None:
        self._work: Callable[[Any, Any], Any] | None = None

    def wait_until_started(self) -> None:
        """Done once there is a place for it."""

    def run_chunk(self, job: list[Any], piece: list[Any]) -> list[Any]:
        if self._work is None:  # with the first piece, so that its errors reach the user like any other
            import ray
            from ray.exceptions import RaySystemError

            os.environ |= {"OMP_NUM_THREADS": "1", "RGQA_ENGINE": "local"}
            like_here, functions = job
            try:
                spawn.prepare(ray.get(like_here))
                self._work, set_up = ray.get(functions)  # only now can it find the modules that they are of
            except (FileNotFoundError, ImportError, RaySystemError) as error:
                raise UserError(
                    f"{socket.gethostname()}, a machine of the cluster: {error}; all of them must see the project's folder "
                    "and its environment under the same path (docs/guides/cluster.md)"
                ) from error
            init_worker(set_up)
        assert self._work is not None
        return run_chunk(self._work, piece)


@cache
def connect_ray(num_cpus: int) -> Any:
    """Ray, connected to the cluster of RAY_ADDRESS; without one, to a Ray of this machine's own for so many processors, which
    listens on the loopback address alone, lets nobody else in, writes into a temporary folder, and ends with this process.

    Raises:
        UserError: Ray is not installed, or no cluster answers.
    """
    address = os.environ.get("RAY_ADDRESS", "")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if not address:  # read when Ray is imported
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # bind to 127.0.0.1 alone, on Linux, too
        # Else its actors come after all else that this machine does.
        os.environ |= {"RAY_worker_niceness": "0"}
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    try:
        import ray
        import ray._private.worker as connection
        import ray.exceptions
    except ImportError as error:
        raise UserError(f"RGQA_ENGINE=ray needs Ray ({error}): pip install '.[cluster]'") from error
    connection._worker_logs_enabled = False  # else what Ray says of a killed actor stands in our output
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "FATAL"}
    try:
        if address:
            host, _, port = address.rpartition(":")
            if host:
                socket.create_connection((host, int(port)), CONNECT_TIMEOUT_SECONDS).close()
            ray.init(address, **quiet)
        else:
            _start_local_ray(ray, num_cpus, quiet)
    except (Exception, SystemExit) as error:  # of its own kinds Ray has none for this
        raise UserError(
            f"RAY_ADDRESS: no cluster of Ray that can be used answers at {address!r} ({error}); expected the host:port that "
            "`ray start --head` tells, seen from a machine of the cluster, and RAY_AUTH_MODE=token where it wants one"
            if address
            else f"Ray could not begin on this machine ({error}); Ray gives itself half a minute: run the same command again when "
            "the machine is less busy, or without RGQA_ENGINE=ray"
        ) from error
    return ray


def _start_local_ray(ray: Any, cpus: int, quiet: Mapping[str, Any]) -> None:
    # Not in TMPDIR: the names of its sockets have room for a hundred letters only.
    folder = mkdtemp(prefix=f"rgqa-ray-{os.getpid()}-", dir="/tmp")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(ray.shutdown)  # before that: the last one comes first
    own = {
        "num_cpus": cpus,
        "object_store_memory": OBJECT_STORE_BYTES,
        "include_dashboard": False,
        "_temp_dir": folder,
    }
    ray.init("local", **own, **quiet)
