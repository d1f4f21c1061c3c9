"""How the guidelines look in a real browser: words stay whole, and nothing that explains is hidden."""

from pathlib import Path

import pytest

from annotation.client.annotator_texts import render_guidelines

pytestmark = pytest.mark.server  # needs chromium

CSS = Path(__file__).parents[3] / "annotation/server/label_studio_app/templates/desk.css"
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
def test_no_word_of_a_table_is_broken_and_the_page_is_no_wider_than_the_window(
    chromium, tmp_path, width, own
):
    if own:
        (tmp_path / "guidelines.md").write_text(own)
    page = chromium.new_page(viewport={"width": width, "height": 800})
    page.set_content(
        f"<style>{CSS.read_text()}</style><body><div class=page id=rules>{render_guidelines(tmp_path)}</div>"
    )
    assert page.evaluate(BROKEN) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


def test_on_a_phone_the_keys_are_hidden_and_the_reasons_of_the_examples_are_not(chromium, tmp_path):
    page = chromium.new_page(viewport={"width": 390, "height": 800})
    page.set_content(
        f"<style>{CSS.read_text()}</style><body><div class=page id=rules>{render_guidelines(tmp_path)}</div>"
    )
    assert page.locator("td", has_text="there is no dog").is_visible()
    assert not page.locator("th", has_text="first question").is_visible()
    page.close()
