"""Consent of annotators, and the texts that they get."""

from base64 import b64encode
from hashlib import sha256

import pytest
from PIL import Image

from annotation.client.annotator_texts import read_text, render_guidelines, render_page
from annotation.client.consent import ConsentTerms, build_consent, read_consent_text, save_terms
from annotation.client.labeling_config import build_instructions
from pipeline.core.errors import UserError
from pipeline.core.paths import DatasetFolders

# Consent


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


# Annotator texts


def test_guidelines_embed_images_at_their_own_size(tmp_path):
    text = render_guidelines(tmp_path)
    assert text.count('<img src="data:image/jpeg;base64,') == 3
    assert text.count('width="448" height="336"') == 3
    assert 'alt="A street with a red car' in text


def test_wide_image_is_scaled_down_in_proportion(tmp_path):
    # 896 x 300 at 448 wide is 150 high
    Image.new("RGB", (896, 300)).save(tmp_path / "wide.png")
    data = b64encode((tmp_path / "wide.png").read_bytes()).decode()
    assert f'<img src="data:image/png;base64,{data}" width="448" height="150" alt="wide">' in render_page(
        "![wide](wide.png)", tmp_path / "a.md"
    )
    sheet = []
    render_page("![wide](wide.png)", tmp_path / "a.md", sheet)
    assert "width: 448px; height: 150px; background-image: url(data:image/png;base64," in sheet[0]


def test_html_and_dangerous_urls_are_escaped():
    made = render_page("<script>alert(1)</script> <b>x</b> [link](javascript:alert(1)) {{x}} $first")
    assert "<script" not in made and "<b>" not in made and "href" not in made
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &lt;b&gt;x&lt;/b&gt;" in made


@pytest.mark.parametrize("sheet", [None, []], ids=["our page", "another server"])
def test_captions_are_escaped(tmp_path, sheet):
    Image.new("RGB", (4, 3)).save(tmp_path / "a.png")
    made = render_page('![x" onclick="y <b>](a.png)', tmp_path / "a.md", sheet)
    assert "<b>" not in made and 'onclick="' not in made
    assert "x&quot; onclick=&quot;y &lt;b&gt;" in made


def test_all_unreadable_images_are_reported_at_once(tmp_path):
    (tmp_path / "broken.jpg").write_bytes(b"no image")
    Image.new("RGB", (4, 3)).save(tmp_path / "old.tif")
    with pytest.raises(UserError) as caught:
        render_page("![a](missing.png) ![b](broken.jpg) ![c](old.tif)", tmp_path / "a.md")
    assert caught.value.problems[0] == "instructions: 3 problems"
    for line, name in zip(caught.value.problems[1:], ("missing.png", "broken.jpg", "old.tif"), strict=True):
        assert name in line


def test_own_text_of_the_study_has_priority(tmp_path):
    assert "free will" in read_text("consent.md", tmp_path)[1]
    (tmp_path / "consent.md").write_text("Ask Ann.")
    assert read_text("consent.md", tmp_path) == (tmp_path / "consent.md", "Ask Ann.")


def test_text_that_is_not_utf_8_is_reported(tmp_path):
    (tmp_path / "guidelines.md").write_bytes("sch\xf6n".encode("latin-1"))
    with pytest.raises(UserError, match="guidelines.md: .*UTF-8"):
        render_guidelines(tmp_path)
