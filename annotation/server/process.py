"""The server's process: started in a session of its own, found again by its pid file, stopped by its process id."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

import httpx
import psutil

from annotation.client.credentials import HOME
from pipeline.core.errors import UserError
from pipeline.core.files import read_json, write_json, write_text
from pipeline.core.paths import DATA
from pipeline.core.records import Record

INSIDE = "annotation.server.studio.inside"
SERVER, LOG = HOME / "server.json", HOME / "server.log"
KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ")  # of the environment
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


def running() -> Server | None:
    """The server that runs, or None: a pid file that a killed one left behind counts for nothing."""
    if not SERVER.exists():
        return None
    server = read_json(SERVER, Server)
    try:
        process = psutil.Process(server.pid)
        ours = process.status() != psutil.STATUS_ZOMBIE and abs(process.create_time() - server.created) < 1
    except psutil.NoSuchProcess:
        return None
    return server if ours else None


def start(python: Path, port: int) -> Server:
    """Start the server and wait until it answers.

    Raises:
        UserError: the port is taken, or the server ended or did not answer in time (the end of its log is shown).
    """
    ensure_free(port)
    with LOG.open("ab") as output:
        child = subprocess.Popen(
            [python.absolute(), "-m", INSIDE, "serve", str(port)],
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            umask=0o077,
        )
    server = Server(pid=child.pid, created=psutil.Process(child.pid).create_time(), port=port)
    write_json(SERVER, server)
    print(f"serve: starting Label Studio on {server.url}", end="", flush=True)
    begun = time.monotonic()
    while (ended := child.poll() is not None) or not healthy(server.url):
        seconds = time.monotonic() - begun
        if ended or seconds > START_SECONDS:
            print(flush=True)
            stop()
            what = "ended while it started" if ended else f"did not answer in {START_SECONDS} seconds"
            lines = LOG.read_text(errors="replace").splitlines()[-15:]
            raise UserError([f"Label Studio {what}; the end of its log:", *lines])
        print(".", end="", flush=True)
        time.sleep(1)
    print(f" {time.monotonic() - begun:.0f} s", flush=True)
    return server


def stop() -> bool:
    """Stop the server; answers that came in are finished first. False if none runs."""
    server = running()
    if server is not None:
        process = psutil.Process(server.pid)
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except psutil.TimeoutExpired:
            process.kill()
            process.wait(STOP_SECONDS)
    SERVER.unlink(missing_ok=True)
    return server is not None


def healthy(url: str) -> bool:
    """Whether a server answers there that it is well."""
    try:
        return httpx.get(f"{url}/health", timeout=5, trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False


def ensure_free(port: int) -> None:
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


def ask(python: Path, command: str, question: bytes) -> bytes:
    """Run a command in Label Studio's Python and return its answer.

    Raises:
        UserError: it failed; the end of what it said is shown.
    """
    done = subprocess.run(
        [python.absolute(), "-m", INSIDE, command],
        env=environment(),
        input=question,
        capture_output=True,
        umask=0o077,
        check=False,
    )
    if done.returncode != 0:
        lines = reason(done.stderr.decode(errors="replace"))
        raise UserError([f"Label Studio could not do it ({command}):", *lines])
    return done.stdout


def reason(said: str) -> list[str]:
    """The end of what a program said; of a Python traceback its message alone."""
    _, traceback, after = said.strip().rpartition("Traceback (most recent call last):")
    lines = [line for line in after.splitlines() if line and not (traceback and line.startswith(" "))]
    return lines[-10:]


def environment() -> dict[str, str]:
    """What Label Studio's Python sees: little, as it reads names like HOST and DEBUG for its own."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    home = str(HOME.absolute())
    ours = {
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "PYTHONUNBUFFERED": "1",
        "DJANGO_SETTINGS_MODULE": "annotation.server.studio.settings",
        "LABEL_STUDIO_BASE_DATA_DIR": home,
        "XDG_CONFIG_HOME": home,
        "XDG_DATA_HOME": home,
        "RGQA_DATA": str(DATA.absolute()),
    }
    return kept | ours | database()


def database() -> dict[str, str]:
    """The database as Label Studio's settings want it; SQLite in its folder unless RGQA_ANNOTATE_DATABASE names another.

    Raises:
        UserError: the name is not `postgresql://user:password@host:port/name`.
    """
    address = os.environ.get("RGQA_ANNOTATE_DATABASE")
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


def keep_database() -> None:
    """Note on first use which database the study lies in.

    Raises:
        UserError: it lies in another than the one that is named now; an empty one would be taken for the study's.
    """
    named, note = database(), HOME / "database.txt"
    name = "sqlite"
    if named["DJANGO_DB"] != "sqlite":
        name = "postgresql://{POSTGRE_HOST}:{POSTGRE_PORT}/{POSTGRE_NAME}".format_map(named)
    if not note.exists():
        write_text(note, name)
    elif note.read_text() != name:
        raise UserError(
            f"the accounts and verdicts of {HOME} lie in {note.read_text()}, but RGQA_ANNOTATE_DATABASE names {name}; "
            f"set it as it was, or move {HOME} away to begin anew"
        )


@contextmanager
def alone() -> Iterator[None]:
    """Let only one command at a time change accounts or start the server; others wait."""
    HOME.mkdir(parents=True, exist_ok=True)
    HOME.chmod(0o700)
    with (HOME / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("waiting for another rgqa annotate to end", file=sys.stderr, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
