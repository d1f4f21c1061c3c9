"""The door into Label Studio's own Python: `python -m annotation.server.studio.inside accounts|serve`.

accounts   reads {"admin": {...}, "annotators": {...}} of logins from standard input, brings the database up to date,
           makes what is missing, and writes the same with tokens to standard output
serve N    serves on port N of 127.0.0.1 until it is told to end
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

THREADS = 8


def set_up() -> None:
    """Set Django up with our settings. Label Studio's modules import each other as if its folder were on the path."""
    import label_studio

    sys.path.insert(0, str(Path(label_studio.__file__).parent))
    import django

    django.setup()


def accounts(wanted: dict[str, Any]) -> dict[str, Any]:
    """Make what is missing of the administrator and the annotators; the same twice changes nothing."""
    from django.core.management import call_command
    from django.db import connection, transaction

    from annotation.server.studio.members import administrator, annotator

    if connection.vendor == "sqlite":
        # Some hundred migrations, each written through to the disk, take minutes; all of them can be made again.
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA synchronous=NORMAL")
    call_command("migrate", interactive=False, verbosity=0)
    call_command("clearsessions")
    with transaction.atomic():
        return {
            "admin": administrator(wanted["admin"]),
            "annotators": {name: annotator(name, login) for name, login in wanted["annotators"].items()},
        }


def serve(port: int) -> None:
    import waitress
    from django.core.wsgi import get_wsgi_application

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # waitress ends what it has begun to answer
    waitress.serve(
        get_wsgi_application(),
        host="127.0.0.1",
        port=port,
        threads=THREADS,
        ident=None,
        max_request_body_size=1 << 28,
        clear_untrusted_proxy_headers=True,
    )


def main(command: str, *rest: str) -> None:
    # Label Studio prints to standard output while it starts: that goes to the log, the answer alone goes out.
    answer = os.dup(1)
    os.dup2(2, 1)
    if command == "accounts":
        wanted = json.load(sys.stdin)
        set_up()
        with os.fdopen(answer, "w") as file:
            json.dump(accounts(wanted), file)
    else:
        set_up()
        serve(int(rest[0]))


if __name__ == "__main__":
    main(*sys.argv[1:])
