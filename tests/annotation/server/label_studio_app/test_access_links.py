import re

from annotation.server.label_studio_app.access_links import (
    OPEN_LINK_PREFIX,
    derive_annotator_secret,
    derive_secret,
)


def test_secret_depends_on_key_and_person_and_is_url_safe():
    ann = derive_secret("key", "ann@rgqa.local")
    # openssl dgst -sha256 -hmac key -binary <<< "rgqa desk ann@rgqa.local" (without the line's end) | basenc --base64url
    assert ann == "kdFXa5WGDWBihiya4if6kDjgKlkMiXu9WH4dX6RL_p4"
    others = {
        derive_secret("key", "ben@rgqa.local"),
        derive_secret("kez", "ann@rgqa.local"),
        derive_secret("key", OPEN_LINK_PREFIX),
    }
    assert len(others | {ann}) == 4
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{43}", secret) for secret in others)


def test_link_depends_on_pseudonym_except_for_volunteers():
    first, second = (
        derive_annotator_secret("key", "ann@rgqa.local", f"annotator-0{number}") for number in (1, 2)
    )
    assert first != second  # the second ann is another, and the first one may be forgotten
    # A volunteer gets the link before a pseudonym, and keeps it afterwards.
    zoe = "zoe.1a2b3c4d@volunteer.rgqa.local"
    assert (
        derive_annotator_secret("key", zoe, "")
        == derive_annotator_secret("key", zoe, "annotator-03")
        == derive_secret("key", zoe)
    )
