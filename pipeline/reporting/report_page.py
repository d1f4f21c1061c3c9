"""The page itself: everything put into the template, every text escaped, nothing fetched from anywhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from pipeline.auditing.subset_audit import AuditParams, Histograms, histograms
from pipeline.core import params
from pipeline.core.errors import UserError
from pipeline.core.files import read_json, write_text
from pipeline.core.pages import render
from pipeline.core.paths import Folders
from pipeline.core.progress import done
from pipeline.core.records import SUBSETS, Item
from pipeline.encoders import clip
from pipeline.encoders.embedding import CACHE, Cache, EmbedParams, EmbedReport, keys
from pipeline.ranking.topk import scores_of
from pipeline.releasing.card import HOW, PAIRING, counted
from pipeline.reporting import figures, sunburst
from pipeline.reporting.funnel import funnels, overview
from pipeline.reporting.gallery import MOST, gallery
from pipeline.reporting.run_files import Run

HERE = Path(__file__).parent


def report(out: Path | None = None, cards: int = 12) -> Path:
    """Write the page of the data set in use and return its path, data/<data set>/report.html if none is given.

    Args:
        cards: UQs of each subset in the gallery, 0 to 25.

    Raises:
        UserError: stages have not run, their reports contradict each other, or there are too many cards.
    """
    if not 0 <= cards <= MOST:
        raise UserError(
            f"--gallery is {cards}, wanted 0 to {MOST} items of each subset (more would make the page too heavy)"
        )
    folders = Folders()
    out = out or folders.home / "report.html"
    run = Run(folders, params.version())
    html = page(run, cards)
    write_text(out, html)
    done("report", f"{len(html.encode()) / 1e6:.1f} MB, {len(run.all_items):,} items", out)
    return out


def page(run: Run, cards: int) -> str:
    """The whole page as HTML."""
    steps = funnels(run.reports, run.released)
    attacks = figures.attack_rows(run.audit, params.load("audit", AuditParams).limits)
    return render(
        HERE / "page.html.jinja",
        {"percent": lambda share, places=0: f"{100 * share:.{places}f} %"},
        run=run,
        css=Markup((HERE / "page.css").read_text(encoding="utf-8")),  # ours, and in it no text of the data
        how=HOW,
        pairing=PAIRING[run.reports["balance"]["rule"]],
        table_1=figures.TABLE_1,
        this_set=figures.this_set(run),
        sizes={subset: counted(subset, run.items.get(subset, [])) for subset in SUBSETS},
        rgqa_sizes=figures.RGQA_SIZES,
        funnels=steps,
        overview=overview(steps),
        cards=gallery(run, cards),
        attacks=attacks,
        attack_svg={subset: figures.attack_svg(rows) for subset, rows in attacks.items()},
        edits={subset: figures.edits(items) for subset, items in run.items.items()},
        **_clip(run),
        **_words(run),
    )


def _clip(run: Run) -> dict[str, Any]:
    """Histograms of every subset; `clip_missing` says why edited questions have no score, where they have none."""
    scores = {item.item_id: item.score for item in run.all_items if item.score is not None}
    missing = ""
    try:
        scores |= scores_of_edited(run.all_items, run.folders)
    except UserError as error:
        missing = error.problems[0]
        print(f"warning: edited questions are shown without CLIP scores: {missing}", file=sys.stderr)
    drawn: dict[str, Histograms] = {}
    unscored = {}
    for subset, items in run.items.items():
        scored = [item for item in items if item.item_id in scores]
        aqs, uqs = ([scores[i.item_id] for i in scored if i.unanswerable == uq] for uq in (False, True))
        unscored[subset] = len(items) - len(scored)
        if made := histograms(aqs, uqs):
            drawn[subset] = made
    # One axis for all, so that they can be compared.
    edges = [edge for histogram in drawn.values() for edge in histogram.edges]
    return {
        "histograms": drawn,
        "unscored": unscored,
        "clip_missing": missing,
        "histogram_svg": {
            subset: figures.histogram_svg(made, (min(edges), max(edges))) for subset, made in drawn.items()
        },
    }


def scores_of_edited(items: Sequence[Item], folders: Folders) -> dict[str, float]:
    """Scores of the items that no stage has scored (edited questions), by the model and rule of embed and rank.

    Vectors that are in the cache are taken from there; for others the model is loaded, and they are kept.

    Raises:
        UserError: the model cannot be loaded, or is not the one that embed used.
    """
    wanted = [item for item in items if item.score is None]
    if not wanted:
        return {}
    folder, chosen = folders.stage("embed"), params.load("embed", EmbedParams)
    model = read_json(folder / "embed.json", EmbedReport).model
    texts = sorted({item.text for item in wanted})
    wanted_keys = keys(model, "text", texts)
    with closing(Cache(CACHE, model.dimension)) as cache:
        if cache.missing(wanted_keys):
            encoder = clip.Encoder(chosen.model, chosen.pretrained, device=chosen.device)
            if encoder.record.fingerprint != model.fingerprint:
                raise UserError(f"{chosen.model}: the model is not the one that embed used; run dvc repro")
            encode = partial(encoder.texts, batch=chosen.text_batch)
            cache.fill(wanted_keys, texts, encode, "report: texts")
        vectors = cache.get(wanted_keys)
    ids = read_json(folder / "picture_ids.json", list[str])
    picture_rows, text_rows = ({name: row for row, name in enumerate(names)} for names in (ids, texts))
    scores = scores_of(
        np.load(folder / "pictures.npy"),
        vectors,
        np.array([picture_rows[item.picture_id] for item in wanted]),
        np.array([text_rows[item.text] for item in wanted]),
    )
    return {item.item_id: int(score) / 1e6 for item, score in zip(wanted, scores, strict=True)}


def _words(run: Run) -> dict[str, Any]:
    """The sunbursts of AQ and UQ over all subsets, the first words of both in one order and colour."""
    texts = {
        kind: [item.text for item in run.all_items if item.unanswerable == uq]
        for kind, uq in (("AQ", False), ("UQ", True))
    }
    counts = {kind: sunburst.starts(asked) for kind, asked in texts.items()}
    common = {depth: sunburst.common_starts(counts["AQ"], counts["UQ"], depth) for depth in (1, 3)}
    order = [start.words for start in common[1]]
    return {
        "rings": {kind: sunburst.arcs(counted, order) for kind, counted in counts.items()},
        "ring": sunburst.RING,
        "fewest": sunburst.FEWEST,
        "asked": {kind: len(asked) for kind, asked in texts.items()},
        "starts": {depth: rows[:10] for depth, rows in common.items()},
    }
