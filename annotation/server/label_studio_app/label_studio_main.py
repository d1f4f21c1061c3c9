"""Run commands in Label Studio's Python environment: `python -m
annotation.server.label_studio_app.label_studio_main database|serve`.

database   Read {"email", "password", "token"} of the administrator from standard input, migrate the database, and write a valid token
           to standard output.
serve N    Wait for a line on standard input, then serve on port N of 127.0.0.1 until a signal ends the process. Without the line, the
           starting process was killed before it stored the process id, so the command ends.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

NUM_THREADS = 8


def set_up_django() -> None:
    """Set up Django with our settings. Label Studio's modules expect its folder on the import path."""
    import label_studio

    sys.path.insert(0, str(Path(label_studio.__file__).parent))
    import django

    django.setup()


def serve_forever(port: int) -> None:
    import waitress
    from django.core.wsgi import get_wsgi_application

    # SystemExit makes waitress finish the running requests before it stops.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    waitress.serve(
        get_wsgi_application(),
        host="127.0.0.1",
        port=port,
        threads=NUM_THREADS,
        ident=None,
        max_request_body_size=1 << 28,
        clear_untrusted_proxy_headers=True,
    )


def main(command: str, port: str = "") -> None:
    if command == "serve" and not sys.stdin.readline():
        return
    # Label Studio prints to standard output while it starts. This output is redirected to the log, so that
    # standard output contains only the token.
    answer = os.dup(1)
    os.dup2(2, 1)
    set_up_django()
    if command == "serve":
        serve_forever(int(port))
        return
    from annotation.server.label_studio_app.user_accounts import ensure_administrator

    with os.fdopen(answer, "w") as file:
        file.write(ensure_administrator(json.load(sys.stdin)))


if __name__ == "__main__":
    main(*sys.argv[1:])
