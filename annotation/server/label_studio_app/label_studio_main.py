"""Run commands in Label Studio's Python environment: `python -m
annotation.server.label_studio_app.label_studio_main database|serve`.

database   Read {"email", "password", "token"} of the administrator from standard input, migrate the database, and write a valid token
           to standard output.
serve N    Wait for a line on standard input, then serve on port N of 127.0.0.1 until a signal ends the process. Without the line, the
           starting process was killed before it stored the process id, so the command ends.
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import signal
import sys
from pathlib import Path

from annotation.server.label_studio_app.request_limits import MAX_LEADER_BODY_BYTES, limit_bodies
from annotation.study.log_redaction import RedactedStream

NUM_THREADS = 8
# Maximum number of connections, most of which are idle: browsers keep theirs. Further ones wait.
MAX_CONNECTIONS = 2000
# Seconds after which an idle connection is closed, and seconds between two looks for idle connections.
IDLE_SECONDS, CLEANUP_SECONDS = 30, 5
# Files that the process has open beside its connections.
NUM_OTHER_FILES = 200


def set_up_django() -> None:
    """Set up Django with our settings. Label Studio's modules expect its folder on the import path."""
    import label_studio

    sys.path.insert(0, str(Path(label_studio.__file__).parent))
    import django

    django.setup()


def serve_forever(port: int) -> None:
    import waitress
    from django.core.wsgi import get_wsgi_application

    num_files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_CONNECTIONS + NUM_OTHER_FILES
    if num_files != resource.RLIM_INFINITY and num_files < wanted:
        num_files = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (num_files, most))
    # SystemExit makes waitress finish the running requests before it stops.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    waitress.serve(
        limit_bodies(get_wsgi_application()),
        host="127.0.0.1",
        port=port,
        threads=NUM_THREADS,
        ident=None,
        max_request_body_size=MAX_LEADER_BODY_BYTES,
        connection_limit=min(MAX_CONNECTIONS, num_files - NUM_OTHER_FILES),
        channel_timeout=IDLE_SECONDS,
        cleanup_interval=CLEANUP_SECONDS,
        # The other way to wait, `select`, knows at most 1,024 files.
        asyncore_use_poll=True,
        clear_untrusted_proxy_headers=True,
    )


def main(command: str, port: str = "") -> None:
    if command == "serve" and not sys.stdin.readline():
        return
    # Label Studio prints to standard output while it starts. This output is redirected to the log, so that
    # standard output contains only the token.
    answer = os.dup(1)
    os.dup2(2, 1)
    if command == "database":
        # If the command that started this process was killed, the process goes on. The next one waits for it.
        lock = (Path(os.environ["LABEL_STUDIO_BASE_DATA_DIR"]) / ".database.lock").open("w")
        fcntl.flock(lock, fcntl.LOCK_EX)
    sys.stdout, sys.stderr = RedactedStream(sys.stdout), RedactedStream(sys.stderr)
    set_up_django()
    if command == "serve":
        serve_forever(int(port))
        return
    from annotation.server.label_studio_app.user_accounts import ensure_administrator

    with os.fdopen(answer, "w") as file:
        file.write(ensure_administrator(json.load(sys.stdin)))


if __name__ == "__main__":
    main(*sys.argv[1:])
