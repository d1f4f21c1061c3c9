"""Keep secrets out of log files: links, tokens and cookies.

The module uses only the standard library, because it also runs in Label Studio's Python environment.
"""

from __future__ import annotations

import re
from mmap import mmap
from pathlib import Path
from typing import TextIO

# The secret part of links (also percent-encoded or cut off in part), personal tokens, values of cookies, and every word with
# the length of a link's secret.
_SECRETS = (
    rb"(?<=/annotate/open/)[^\s/?#\"'<>]+",
    rb"(?<=/annotate/join/)[^\s/?#\"'<>]+",
    rb"eyJ[\w-]{5,}(?:\.[\w-]+)+",
    rb"(?i:(?<=bearer )|(?<=token ))[\w.~+/=-]{16,}",
    rb"(?<=csrftoken=)[^\s;,\"']+",
    rb"(?<=rgqa-[0-9a-f]{12}=)[^\s;,\"']+",
    rb"(?<![\w-])(?=[\w-]*[0-9A-Z])[\w-]{43}(?![\w-])",
)
_PATTERN = re.compile(b"|".join(_SECRETS))


def redact(text: str) -> str:
    """Replace secrets in a text by asterisks.

    >>> redact("Forbidden: /annotate/open/abc?x=1")
    'Forbidden: /annotate/open/***?x=1'
    """
    return _PATTERN.sub(lambda match: b"*" * len(match[0]), text.encode(errors="replace")).decode()


def redact_file(path: Path) -> int:
    """Overwrite secrets in a file by asterisks, and return how many there were.

    The length of the file stays the same, so that a process may write to its end at the same time.
    """
    if not path.exists() or not path.stat().st_size:
        return 0
    with path.open("r+b") as file, mmap(file.fileno(), 0) as content:
        found = [match.span() for match in _PATTERN.finditer(content) if match[0].strip(b"*")]
        for start, end in found:
            content[start:end] = b"*" * (end - start)
        content.flush()
    return len(found)


class RedactedStream:
    """A text stream that writes to another one, without secrets."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(redact(text))
        return len(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)
