"""The server's process: started in a session of its own, found again by its pid file, stopped by its process id."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

import psutil

from annotation.client.secrets import HOME
from pipeline.core.errors import UserError
from pipeline.core.files import read_json, replacing, write_json
from pipeline.core.paths import DATA
from pipeline.core.records import Record

INSIDE = "annotation.server.studio.inside"
START_SECONDS = 180
STOP_SECONDS = 20


class Server(Record):
    """A process that was started. `created` is the system's start time of it: a pid alone may be used again."""

    pid: int
    created: float
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def running(home: Path = HOME) -> Server | None:
    """The server that runs, or None: a pid file that a killed one left behind counts for nothing."""
    path = home / "server.json"
    if not path.exists():
        return None
    server = read_json(path, Server)
    return server if alive(server) else None


def alive(server: Server) -> bool:
    try:
        process = psutil.Process(server.pid)
        return process.status() != psutil.STATUS_ZOMBIE and abs(process.create_time() - server.created) < 1
    except psutil.NoSuchProcess:
        return False


def start(python: Path, port: int, home: Path = HOME) -> Server:
    """Start the server and wait until it answers.

    Raises:
        UserError: the port is taken, or the server ended or did not answer in time (the end of its log is shown).
    """
    free(port)
    log = home / "server.log"
    with log.open("ab") as output:
        child = subprocess.Popen(
            [python.absolute(), "-m", INSIDE, "serve", str(port)],
            env=environment(home=home),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            umask=0o077,
        )
    server = Server(pid=child.pid, created=psutil.Process(child.pid).create_time(), port=port)
    write_json(home / "server.json", server)
    print(f"serve: starting Label Studio on {server.url}", end="", flush=True)
    begun = time.monotonic()
    while child.poll() is not None or not healthy(server.url):
        if child.poll() is not None:
            print(flush=True)
            raise UserError(["Label Studio ended while it started; the end of its log:", *tail(log)])
        if time.monotonic() - begun > START_SECONDS:
            stop(home)
            raise UserError(
                [f"Label Studio did not answer in {START_SECONDS} seconds; the end of its log:", *tail(log)]
            )
        print(".", end="", flush=True)
        time.sleep(1)
    print(f" {time.monotonic() - begun:.0f} s", flush=True)
    return server


def stop(home: Path = HOME) -> bool:
    """Stop the server; answers that came in are finished first. False if none runs."""
    server = running(home)
    if server is not None:
        process = psutil.Process(server.pid)
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except psutil.TimeoutExpired:
            process.kill()
            process.wait(STOP_SECONDS)
    (home / "server.json").unlink(missing_ok=True)
    return server is not None


def healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=5) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


def free(port: int) -> None:
    """Raises UserError if something listens on the port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except (OSError, OverflowError) as error:
            raise UserError(
                f"port {port} of 127.0.0.1 cannot be had ({error}); stop what uses it, or choose another: "
                "rgqa annotate serve --port 8081"
            ) from error


def ask(python: Path, command: str, question: bytes, home: Path = HOME) -> bytes:
    """Run a command in Label Studio's Python and return its answer.

    Raises:
        UserError: it failed; the end of what it said is shown.
    """
    done = subprocess.run(
        [python.absolute(), "-m", INSIDE, command],
        env=environment(home=home),
        input=question,
        capture_output=True,
        umask=0o077,
        check=False,
    )
    if done.returncode != 0:
        raise UserError(
            [f"Label Studio could not do it ({command}):", *reason(done.stderr.decode(errors="replace"))]
        )
    return done.stdout


def reason(said: str) -> list[str]:
    """The end of what a program said; of a Python traceback its message alone."""
    _, traceback, after = said.strip().rpartition("Traceback (most recent call last):")
    lines = [line for line in after.splitlines() if line and not (traceback and line.startswith(" "))]
    return lines[-10:]


def environment(
    outside: Mapping[str, str] = os.environ, home: Path = HOME, data: Path = DATA
) -> dict[str, str]:
    """What Label Studio's Python sees: little, as it reads names like HOST and DEBUG for its own."""
    kept = {
        name: outside[name] for name in ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ") if name in outside
    }
    folder = str(home.absolute())
    return {
        **kept,
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "PYTHONUNBUFFERED": "1",
        "DJANGO_SETTINGS_MODULE": "annotation.server.studio.settings",
        "LABEL_STUDIO_BASE_DATA_DIR": folder,
        "XDG_CONFIG_HOME": folder,
        "XDG_DATA_HOME": folder,
        "RGQA_DATA": str(data.absolute()),
        **database(outside),
    }


def database(outside: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The database as Label Studio's settings want it; SQLite in its folder unless RGQA_ANNOTATE_DATABASE names another.

    Raises:
        UserError: the name is not `postgresql://user:password@host:port/name`.
    """
    address = outside.get("RGQA_ANNOTATE_DATABASE", "")
    if not address:
        return {"DJANGO_DB": "sqlite"}
    try:
        parts = urlsplit(address)
        port = parts.port or 5432
    except ValueError:
        parts, port = urlsplit(""), 0
    name = parts.path.removeprefix("/")
    if parts.scheme != "postgresql" or not (parts.hostname and parts.username and name):
        raise UserError("RGQA_ANNOTATE_DATABASE: expected postgresql://user:password@host:port/name")
    return {
        "DJANGO_DB": "default",
        "POSTGRE_HOST": parts.hostname,
        "POSTGRE_PORT": str(port),
        "POSTGRE_USER": unquote(parts.username),
        "POSTGRE_PASSWORD": unquote(parts.password or ""),
        "POSTGRE_NAME": unquote(name),
    }


def keep_database(outside: Mapping[str, str] = os.environ, home: Path = HOME) -> None:
    """Note on first use which database the study lies in.

    Raises:
        UserError: it lies in another than the one that is named now; an empty one would be taken for the study's.
    """
    found = database(outside)
    name = "sqlite"
    if found["DJANGO_DB"] != "sqlite":
        name = f"postgresql://{found['POSTGRE_HOST']}:{found['POSTGRE_PORT']}/{found['POSTGRE_NAME']}"
    note = home / "database.txt"
    if not note.exists():
        with replacing(note) as file:
            file.write(name.encode())
    elif note.read_text() != name:
        raise UserError(
            f"the accounts and verdicts of {home} lie in {note.read_text()}, but RGQA_ANNOTATE_DATABASE names {name}; "
            f"set it as it was, or move {home} away to begin anew"
        )


@contextmanager
def alone(home: Path = HOME) -> Iterator[None]:
    """Let only one command at a time change accounts or start the server; others wait."""
    home.mkdir(parents=True, exist_ok=True)
    home.chmod(0o700)
    with (home / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("waiting for another rgqa annotate to end", file=sys.stderr, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def tail(log: Path, lines: int = 15) -> list[str]:
    return log.read_text(errors="replace").splitlines()[-lines:]
