"""Build the labelling interface and the instructions for Label Studio servers other than our own server.

The instructions consist of the consent text, the guidelines, and a description of the interface.
"""

from __future__ import annotations

from annotation.client.annotator_texts import TEXTS_DIR, read_text, render_page
from annotation.client.consent import read_consent_text
from pipeline.core.paths import DatasetFolders

# The style sheet has no child combinators (">"), because the server would escape the character.
STYLE = """
.rgqa-guide { font-size: 16px; line-height: 1.45; }
.rgqa-guide h1 { font-size: 24px; margin: 20px 0 8px; }
.rgqa-guide h2 { font-size: 19px; margin: 20px 0 6px; }
.rgqa-guide p, .rgqa-guide li { margin: 6px 0; }
.rgqa-guide ul { padding-left: 22px; list-style: disc; }
.rgqa-guide strong, .rgqa-guide em, .rgqa-guide code { display: inline; }
.rgqa-guide strong { font-weight: 700; }
.rgqa-guide em { font-style: italic; }
.rgqa-guide code { font-family: monospace; border: 1px solid #98a2b3; border-radius: 4px; padding: 0 5px; }
.rgqa-guide table { width: 100%; border-collapse: collapse; margin: 8px 0; }
.rgqa-guide th, .rgqa-guide td { border: 1px solid #98a2b3; padding: 4px 8px; text-align: left; vertical-align: top; }
.rgqa-guide .image { display: block; background-size: 100% 100%; border-radius: 6px; margin-top: 12px; }
.rgqa-guide .caption { display: block; font-size: 13px; opacity: 0.75; }
"""


def build_labeling_config() -> str:
    """Return the labelling configuration: one image and two questions, with their choices and hotkeys."""
    return (TEXTS_DIR / "interface.xml").read_text(encoding="utf-8")


def build_instructions(folders: DatasetFolders) -> str:
    """Return the HTML for a project's `expert_instruction`.

    Raises:
        UserError: No contact is stored (`annotation.client.consent`), or a text or image cannot be read.
    """
    sheet: list[str] = []
    parts = [
        read_consent_text(folders),
        *(read_text(name, folders.study) for name in ("guidelines.md", "instructions.md")),
    ]
    html = "".join(render_page(text, path, sheet) for path, text in parts)
    return f'<style>{STYLE}{"".join(sheet)}</style><div class="rgqa-guide">{html}</div>'
