"""Make the BibTeX entries of the RGQA paper and of a release."""

from __future__ import annotations

import re

from pipeline.benchmark.release.release_summary import ReleaseSummary

RGQA_BIBTEX = """\
@inproceedings{zhang2023rgqa,
  title = {Toward Unsupervised Realistic Visual Question Answering},
  author = {Zhang, Yuwei and Ho, Chih-Hui and Vasconcelos, Nuno},
  booktitle = {Proceedings of the IEEE/CVF International Conference on Computer Vision (ICCV)},
  year = {2023},
  url = {https://arxiv.org/abs/2303.05068}
}"""


def make_bibtex(summary: ReleaseSummary) -> str:
    """Return the BibTeX entry of a release, with its title, creators, release date, version and address.

    Creators and address are left out if they are not stated.
    """
    params = summary.params
    fields = {
        "title": f"{{{escape_bibtex(summary.params.title)}}}",
        # A creator may be an organization. The inner braces keep BibTeX from splitting its name.
        "author": " and ".join(f"{{{escape_bibtex(creator)}}}" for creator in params.creators),
        "year": f"{params.release_date:%Y}",
        "month": f"{params.release_date.month}",
        "version": summary.version,
        "note": "The verdicts are simulated" if summary.simulated else "",
        "url": params.url,
    }
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
    key = re.sub(r"[^A-Za-z0-9.-]+", "-", f"rgqa-{summary.dataset}-{summary.version}")
    return f"@misc{{{key},\n" + ",\n".join(lines) + "\n}"


def escape_bibtex(text: str) -> str:
    r"""Escape the characters that have a meaning in BibTeX and LaTeX, and write the text in one line.

    >>> print(escape_bibtex("50 % of R&D"))
    50 \% of R\&D
    """
    names = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return re.sub(
        r"[\\~^&%$#_{}]", lambda found: names.get(found[0], f"\\{found[0]}"), " ".join(text.split())
    )
