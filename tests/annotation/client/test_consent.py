from hashlib import sha256

import pytest
from PIL import Image

from annotation.client.consent import Terms, consent_of, consent_text, keep_terms
from annotation.client.labeling_config import instructions
from pipeline.core.errors import UserError
from pipeline.core.paths import Folders

ANN = "Ann Lee, ann@example.org"


def test_without_a_contact_nobody_can_be_asked_to_agree(tiny):
    with pytest.raises(UserError, match="whom can annotators ask.*--contact"):
        keep_terms(Folders(), pay="12 EUR an hour")
    with pytest.raises(UserError, match="--contact"):
        consent_of(Folders())
    assert not (Folders().study / "consent.json").exists()


def test_the_fields_are_asked_for_once_and_can_be_changed_one_by_one(tiny):
    keep_terms(Folders(), contact=f" {ANN} ", pay="12 EUR an hour.")
    assert keep_terms(Folders()) == Terms(contact=ANN, pay="12 EUR an hour", ethics="none was asked for")
    assert keep_terms(Folders(), ethics="board 7 of 2026").pay == "12 EUR an hour"
    text = consent_text(Folders())[1]
    for words in (f"Questions and complaints: {ANN}.", "Pay: 12 EUR an hour.", "approval: board 7 of 2026."):
        assert words in text
    assert "{" not in text


def test_the_page_has_the_fields_and_the_hash_of_the_text_that_is_agreed_to(tiny):
    keep_terms(Folders(), ANN)
    page = consent_of(Folders())
    assert set(page) == {"html", "hash", "contact", "pay", "ethics"}
    assert page["hash"] == sha256(consent_text(Folders())[1].encode()).hexdigest()
    assert page["contact"] == ANN and ANN in page["html"]
    keep_terms(Folders(), pay="20 EUR an hour")
    assert consent_of(Folders())["hash"] != page["hash"]  # so everybody is asked again


def test_fields_show_as_text(tiny):
    keep_terms(Folders(), "<script>alert(1)</script>")
    assert "<script" not in consent_of(Folders())["html"]


def test_the_studys_own_text_must_say_whom_to_ask(tiny):
    keep_terms(Folders(), ANN)
    (Folders().study / "consent.md").write_text("We pay {pay}.")
    with pytest.raises(UserError, match=r"consent.md: must say whom to ask; write \{contact\}"):
        consent_of(Folders())
    (Folders().study / "consent.md").write_text("Ask {contact}; we pay {pay}.")
    assert consent_text(Folders())[1] == f"Ask {ANN}; we pay none."


def test_pictures_in_the_studys_own_text_lie_beside_it(tiny):
    keep_terms(Folders(), ANN)
    Image.new("RGB", (4, 3)).save(Folders().study / "us.png")
    (Folders().study / "consent.md").write_text("Ask {contact}. ![We](us.png)")
    assert 'alt="We"' in consent_of(Folders())["html"] and "us.png" not in consent_of(Folders())["html"]
    assert "background-image: url(data:image/png" in instructions(Folders())
