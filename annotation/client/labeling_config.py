"""Build the labelling interface and the instructions for Label Studio servers other than our own server.

The instructions consist of the consent text, the guidelines, and a description of the interface.
"""

from __future__ import annotations

import re

from annotation.client.annotator_texts import TEXTS_DIR, read_guidelines, read_text, render_page
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


# Choice as stored -> how it is shown where annotators choose between yes and no.
YES_NO_NAMES = {"valid": "yes", "invalid": "no"}


def build_labeling_config(is_yes_no: bool = False) -> str:
    """Return the labelling configuration: one image and two questions, with their choices and hotkeys.

    Args:
        is_yes_no: Whether annotators choose between yes and no. They give no reasons then. Label Studio stores the `alias` of a choice,
            so exports have the same values in any case.
    """
    text = (TEXTS_DIR / "interface.xml").read_text(encoding="utf-8")
    if not is_yes_no:
        return text
    for choice, name in YES_NO_NAMES.items():
        text = text.replace(f'<Choice value="{choice}"', f'<Choice value="{name}" alias="{choice}"')
    text = re.sub(r'\n *<Choices name="\w+_reason".*?</Choices>', "", text, flags=re.DOTALL)
    return text.replace("When in doubt, say valid. Submit", "Submit")


def build_instructions(folders: DatasetFolders, is_yes_no: bool = False) -> str:
    """Return the HTML for a project's `expert_instruction`.

    Args:
        folders: The folders of the data set.
        is_yes_no: Whether annotators choose between yes and no.

    Raises:
        UserError: No contact is stored (`annotation.client.consent`), or a text or image cannot be read.
    """
    sheet: list[str] = []
    parts = [
        read_consent_text(folders),
        read_guidelines(folders.study, is_yes_no),
        read_text("instructions.md", folders.study),
    ]
    html = "".join(render_page(text, path, sheet) for path, text in parts)
    return f'<style>{STYLE}{"".join(sheet)}</style><div class="rgqa-guide">{html}</div>'
