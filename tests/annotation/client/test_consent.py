from hashlib import sha256

import pytest
from PIL import Image

from annotation.client.consent import ConsentTerms, build_consent, read_consent_text, save_terms
from annotation.client.labeling_config import build_instructions
from pipeline.core.errors import UserError
from pipeline.core.paths import DatasetFolders

ANN = "Ann Lee, ann@example.org"


def test_without_a_contact_nobody_can_be_asked_to_agree(tiny):
    with pytest.raises(UserError, match="--contact"):
        save_terms(DatasetFolders(), pay="12 EUR an hour")
    with pytest.raises(UserError, match="--contact"):
        build_consent(DatasetFolders())
    assert not (DatasetFolders().study / "consent.json").exists()


def test_the_fields_are_asked_for_once_and_can_be_changed_one_by_one(tiny):
    save_terms(DatasetFolders(), contact=f" {ANN} ", pay="12 EUR an hour.")
    assert save_terms(DatasetFolders()) == ConsentTerms(
        contact=ANN, pay="12 EUR an hour", ethics_approval="none was asked for"
    )
    assert save_terms(DatasetFolders(), ethics_approval="board 7 of 2026").pay == "12 EUR an hour"
    text = read_consent_text(DatasetFolders())[1]
    for words in (f"Questions and complaints: {ANN}.", "Pay: 12 EUR an hour.", "approval: board 7 of 2026."):
        assert words in text
    assert "{" not in text


def test_the_page_has_the_fields_and_the_hash_of_the_text_that_is_agreed_to(tiny):
    save_terms(DatasetFolders(), ANN)
    page = build_consent(DatasetFolders())
    assert set(page) == {"html", "hash", "contact", "pay", "ethics_approval"}
    assert page["hash"] == sha256(read_consent_text(DatasetFolders())[1].encode()).hexdigest()
    assert page["contact"] == ANN and ANN in page["html"]
    save_terms(DatasetFolders(), pay="20 EUR an hour")
    assert build_consent(DatasetFolders())["hash"] != page["hash"]  # so everybody is asked again


def test_fields_show_as_text(tiny):
    save_terms(DatasetFolders(), "<script>alert(1)</script>")
    assert "<script" not in build_consent(DatasetFolders())["html"]


def test_the_studys_own_text_must_say_whom_to_ask(tiny):
    save_terms(DatasetFolders(), ANN)
    (DatasetFolders().study / "consent.md").write_text("We pay {pay}.")
    with pytest.raises(UserError, match=r"consent.md.*\{contact\}"):
        build_consent(DatasetFolders())
    (DatasetFolders().study / "consent.md").write_text("Ask {contact}; we pay {pay}.")
    assert read_consent_text(DatasetFolders())[1] == f"Ask {ANN}; we pay none."


def test_images_in_the_studys_own_text_lie_beside_it(tiny):
    save_terms(DatasetFolders(), ANN)
    Image.new("RGB", (4, 3)).save(DatasetFolders().study / "us.png")
    (DatasetFolders().study / "consent.md").write_text("Ask {contact}. ![We](us.png)")
    assert (
        'alt="We"' in build_consent(DatasetFolders())["html"]
        and "us.png" not in build_consent(DatasetFolders())["html"]
    )
    assert "background-image: url(data:image/png" in build_instructions(DatasetFolders())
