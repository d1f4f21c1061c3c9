import re

from annotation.server.studio.links import VOLUNTEERS, secret_of


def test_a_secret_is_of_one_key_and_one_person_and_can_stand_in_an_address():
    ann = secret_of("key", "ann@rgqa.local")
    # openssl dgst -sha256 -hmac key -binary <<< "rgqa desk ann@rgqa.local" (without the line's end) | basenc --base64url
    assert ann == "kdFXa5WGDWBihiya4if6kDjgKlkMiXu9WH4dX6RL_p4"
    others = {
        secret_of("key", "ben@rgqa.local"),
        secret_of("kez", "ann@rgqa.local"),
        secret_of("key", VOLUNTEERS),
    }
    assert len(others | {ann}) == 4
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{43}", secret) for secret in others)
