from hashlib import sha256

import pytest
from PIL import Image

from annotation.client.consent import ConsentTerms, build_consent, read_consent_text, save_terms
from annotation.client.labeling_config import build_instructions
from pipeline.core.errors import UserError
from pipeline.core.paths import DatasetFolders

ANN = "Ann Lee, ann@example.org"


def test_consent_needs_a_contact(tiny):
    with pytest.raises(UserError, match="--contact"):
        save_terms(DatasetFolders(), pay="12 EUR an hour")
    with pytest.raises(UserError, match="--contact"):
        build_consent(DatasetFolders())
    assert not (DatasetFolders().study / "consent.json").exists()


def test_fields_are_stored_and_can_be_changed_one_by_one(tiny):
    save_terms(DatasetFolders(), contact=f" {ANN} ", pay="12 EUR an hour.")
    assert save_terms(DatasetFolders()) == ConsentTerms(
        contact=ANN, pay="12 EUR an hour", ethics_approval="none was asked for"
    )
    assert save_terms(DatasetFolders(), ethics_approval="board 7 of 2026").pay == "12 EUR an hour"
    text = read_consent_text(DatasetFolders())[1]
    for words in (f"Questions and complaints: {ANN}.", "Pay: 12 EUR an hour.", "approval: board 7 of 2026."):
        assert words in text
    assert "{" not in text


def test_consent_has_fields_and_hash_of_the_text(tiny):
    save_terms(DatasetFolders(), ANN)
    page = build_consent(DatasetFolders())
    assert set(page) == {"html", "hash", "contact", "pay", "ethics_approval"}
    assert page["hash"] == sha256(read_consent_text(DatasetFolders())[1].encode()).hexdigest()
    assert page["contact"] == ANN and ANN in page["html"]
    save_terms(DatasetFolders(), pay="20 EUR an hour")
    assert build_consent(DatasetFolders())["hash"] != page["hash"]  # so everybody is asked again


def test_fields_are_escaped(tiny):
    save_terms(DatasetFolders(), "<script>alert(1)</script>")
    assert "<script" not in build_consent(DatasetFolders())["html"]


def test_own_consent_text_must_name_the_contact(tiny):
    save_terms(DatasetFolders(), ANN)
    (DatasetFolders().study / "consent.md").write_text("We pay {pay}.")
    with pytest.raises(UserError, match=r"consent.md.*\{contact\}"):
        build_consent(DatasetFolders())
    (DatasetFolders().study / "consent.md").write_text("Ask {contact}; we pay {pay}.")
    assert read_consent_text(DatasetFolders())[1] == f"Ask {ANN}; we pay none."


def test_images_of_own_consent_text_are_embedded(tiny):
    save_terms(DatasetFolders(), ANN)
    Image.new("RGB", (4, 3)).save(DatasetFolders().study / "us.png")
    (DatasetFolders().study / "consent.md").write_text("Ask {contact}. ![We](us.png)")
    assert (
        'alt="We"' in build_consent(DatasetFolders())["html"]
        and "us.png" not in build_consent(DatasetFolders())["html"]
    )
    assert "background-image: url(data:image/png" in build_instructions(DatasetFolders())
