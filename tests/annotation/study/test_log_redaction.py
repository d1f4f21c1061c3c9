"""No link, token or cookie stays in a log."""

from __future__ import annotations

import io
from pathlib import Path
from urllib.parse import quote

import pytest

from annotation.server.label_studio_app.access_links import derive_annotator_secret
from annotation.study.log_redaction import RedactedStream, redact, redact_file

LINK = derive_annotator_secret("key", "ann@rgqa.local", "annotator-01")
TOKEN = ".".join(derive_annotator_secret("key", name, "") for name in ("header", "payload", "signature"))
LINES = {
    "Forbidden: /annotate/open/{}": LINK,
    "Not Found: /annotate/open/{}/more": LINK,
    "refused POST /annotate/join/{} to account None": LINK,
    "a link without its address: {}": LINK,
    "cut off: /annotate/open/{}": LINK[:20],
    "Unauthorized: /api?token=x Authorization: Bearer {}": "e" + TOKEN,
    "token eyJ{}": TOKEN,
    "Cookie: csrftoken={}; rgqa-0123456789ab=x": "aB3" * 10,
    "'rgqa-0123456789ab={}'": "s3ss10n" * 4,
    "percent: /annotate/open/{}?x": quote(LINK, safe="").replace("-", "%2D"),
}


@pytest.mark.parametrize(("line", "secret"), LINES.items())
def test_secrets_are_replaced_and_the_rest_stays(line, secret):
    text, start = redact(line.format(secret)), line.partition("{")[0].removesuffix("eyJ")
    assert secret not in text and text.startswith(f"{start}***") and len(text) == len(line.format(secret))


def test_texts_without_secrets_stay():
    text = "[2026-01-01] [django.request] Not Found: /annotate/image/12?0123456789abcdef <p>t0001</p> annotation_page.css é"
    assert redact(text) == text


def test_file_keeps_its_length_while_others_write_to_its_end(tmp_path: Path):
    path = tmp_path / "server.log"
    text = "".join(f"{line.format(secret)}\n" for line, secret in LINES.items())
    path.write_text(text)
    with path.open("a") as server:
        assert redact_file(path) == len(LINES) + 1
        server.write("later\n")
    now = path.read_text()
    assert not any(secret in now for secret in LINES.values())
    assert len(now) == len(text) + len("later\n") and now.endswith("later\n")
    assert redact_file(path) == 0
    assert redact_file(tmp_path / "none.log") == 0


def test_stream_writes_without_secrets():
    stream = io.StringIO()
    print("Forbidden:", f"/annotate/open/{LINK}", file=RedactedStream(stream))
    assert LINK not in stream.getvalue() and stream.getvalue().endswith("\n")
