"""Start, find and stop the server process. The process runs in its own session.

It is found by its pid file.
"""

from __future__ import annotations

import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import httpx
import psutil

from annotation.client.credentials import LABEL_STUDIO_DIR
from annotation.server.environment import MAIN_MODULE, build_environment_variables
from annotation.study.log_redaction import redact_file
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json, write_json
from pipeline.core.records import Record

PID_FILE, LOG_FILE = LABEL_STUDIO_DIR / "server.json", LABEL_STUDIO_DIR / "server.log"
START_TIMEOUT_SECONDS = 180
STOP_TIMEOUT_SECONDS = 20


class ServerProcess(Record):
    """A started process.

    It is identified by process id and start time, because the system reuses process ids.
    """

    pid: int
    start_time: float
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def find_running_server() -> ServerProcess | None:
    """Return the running server; None if no server is running. The pid file of a killed server is ignored."""
    if not PID_FILE.exists():
        return None
    server = read_json(PID_FILE, ServerProcess)
    try:
        process = psutil.Process(server.pid)
        ours = process.status() != psutil.STATUS_ZOMBIE and abs(process.create_time() - server.start_time) < 1
    except psutil.NoSuchProcess:
        return None
    return server if ours else None


def start_server(python: Path, port: int) -> ServerProcess:
    """Start the server and wait until it answers.

    Raises:
        UserError: The port is in use, the server ended, or it did not answer in time. The message contains
            the end of its log.
    """
    ensure_free_port(port)
    LOG_FILE.touch(mode=0o600)
    # Earlier versions logged links.
    redact_file(LOG_FILE)
    with LOG_FILE.open("ab") as output:
        child = subprocess.Popen(
            [python.absolute(), "-m", MAIN_MODULE, "serve", str(port)],
            env=build_environment_variables(),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            start_new_session=True,
            umask=0o077,
        )
    server = ServerProcess(pid=child.pid, start_time=psutil.Process(child.pid).create_time(), port=port)
    write_json(PID_FILE, server)
    assert child.stdin is not None
    # The process may have ended already.
    with suppress(BrokenPipeError), child.stdin:
        # The process waits for this line, and ends without it. So it never runs without a pid file.
        child.stdin.write(b"known\n")
    print(f"serve: starting Label Studio on {server.url}", end="", flush=True)
    started, seconds = time.monotonic(), 0.0
    while child.poll() is None and seconds <= START_TIMEOUT_SECONDS:
        if is_healthy(server.url):
            print(f" {seconds:.0f} s", flush=True)
            return server
        print(".", end="", flush=True)
        time.sleep(1)
        seconds = time.monotonic() - started
    problem = (
        f"did not answer within {START_TIMEOUT_SECONDS} seconds"
        if child.poll() is None
        else "ended during its start"
    )
    print(flush=True)
    stop_server()
    lines = LOG_FILE.read_text(errors="replace").splitlines()[-15:]
    raise UserError([f"Label Studio {problem}. The end of its log:", *lines])


def stop_server() -> bool:
    """Stop the server after it has finished the running requests. Return False if no server is running."""
    server = find_running_server()
    if server is not None:
        process = psutil.Process(server.pid)
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT_SECONDS)
        except psutil.TimeoutExpired:
            process.kill()
            process.wait(STOP_TIMEOUT_SECONDS)
    PID_FILE.unlink(missing_ok=True)
    return server is not None


def is_healthy(url: str) -> bool:
    """Return whether a healthy server answers at a URL."""
    try:
        return httpx.get(f"{url}/health", timeout=5, trust_env=False).is_success
    except httpx.HTTPError:
        return False


def ensure_free_port(port: int) -> int:
    """Return the port if it is free. If the port is 0, return any free port.

    Raises:
        UserError: The port is in use.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
            return probe.getsockname()[1]
        except (OSError, OverflowError) as error:
            raise UserError(
                f"cannot use port {port} of 127.0.0.1 ({error}). Stop the program that uses it, or choose another port: "
                "rgqa annotate serve --port 8081"
            ) from error
