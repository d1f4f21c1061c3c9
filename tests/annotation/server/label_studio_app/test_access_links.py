import re

from annotation.server.label_studio_app.access_links import VOLUNTEERS, link_of, secret_of


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


def test_a_link_goes_with_the_pseudonym_and_a_volunteers_with_the_address_alone():
    first, second = (link_of("key", "ann@rgqa.local", f"annotator-0{number}") for number in (1, 2))
    assert first != second  # the second ann is another, and the first one may be forgotten
    # A volunteer gets the link before a pseudonym, and keeps it afterwards.
    zoe = "zoe.1a2b3c4d@volunteer.rgqa.local"
    assert link_of("key", zoe, "") == link_of("key", zoe, "annotator-03") == secret_of("key", zoe)
