"""Test the layout of the guidelines in a real browser."""

from pathlib import Path

import pytest

from annotation.client.annotator_texts import render_guidelines

pytestmark = pytest.mark.server  # needs chromium

CSS = Path(__file__).parents[3] / "annotation/server/label_studio_app/templates/annotation_page.css"
# Words of table cells that are drawn in more than one piece: the rectangles of a range over one of them lie on several lines.
BROKEN = """() => {
  const broken = [];
  for (const cell of document.querySelectorAll("th, td")) {
    const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      for (const found of walker.currentNode.data.matchAll(/\\p{L}+/gu)) {
        const range = document.createRange();
        range.setStart(walker.currentNode, found.index);
        range.setEnd(walker.currentNode, found.index + found[0].length);
        if (new Set([...range.getClientRects()].map(one => one.top)).size > 1) broken.push(found[0]);
      }
    }
  }
  return broken;
}"""


@pytest.mark.parametrize("width", [320, 390, 768, 1200])
@pytest.mark.parametrize(
    "own", ["", "| a | b |\n|---|---|\n| Donaudampfschifffahrtsgesellschaftskapitaen | why not |\n"]
)
def test_table_words_are_not_broken_and_page_fits_the_window(chromium, tmp_path, width, own):
    if own:
        (tmp_path / "guidelines.md").write_text(own)
    page = chromium.new_page(viewport={"width": width, "height": 800})
    page.set_content(
        f"<style>{CSS.read_text()}</style><body><div class=document id=guidelines-text>{render_guidelines(tmp_path)}</div>"
    )
    assert page.evaluate(BROKEN) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


def test_phone_hides_keys_but_not_explanations(chromium, tmp_path):
    page = chromium.new_page(viewport={"width": 390, "height": 800})
    page.set_content(
        f"<style>{CSS.read_text()}</style><body><div class=document id=guidelines-text>{render_guidelines(tmp_path)}</div>"
    )
    assert page.locator("td", has_text="there is no dog").is_visible()
    assert not page.locator("th", has_text="first question").is_visible()
    page.close()
