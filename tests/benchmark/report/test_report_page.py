from __future__ import annotations

import contextlib
import re
import shutil
from html.parser import HTMLParser
from itertools import pairwise

import msgspec
import pytest
from typer.testing import CliRunner

from pipeline.benchmark.report.pipeline_run import PipelineRun
from pipeline.benchmark.report.report_page import _make_clip_histograms, render_page, write_report
from pipeline.benchmark.report.sunburst import count_starts, make_arcs
from pipeline.cli.main import app
from pipeline.core.errors import UserError
from pipeline.core.params import read_release_version
from pipeline.core.paths import DatasetFolders
from tests.benchmark.report.conftest import changed

HOSTILE = "</style></title><script>alert(1)</script><img src=x onerror=alert(1)>\"'{{ 7 * 7 }}&amp;"
VOID = {"meta", "img", "br", "link", "input", "hr", "base", "source", "embed"}


class ParsedPage(HTMLParser):
    """All elements with their attributes, and the text, as a browser reads them."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.badly_closed: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.badly_closed.append(tag)

    def handle_data(self, data):
        self.text.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def html(project) -> str:
    with contextlib.chdir(project):
        return render_page(PipelineRun(DatasetFolders(), read_release_version()), 3)


@pytest.fixture(scope="module")
def parsed(html) -> ParsedPage:
    return ParsedPage(html)


def get_text(parsed: ParsedPage) -> str:
    return re.sub(r"\s+", " ", " ".join(parsed.text))


def check_harmless(parsed: ParsedPage) -> None:
    """Check that the page has no scripts and no handlers, and that addresses are data URIs or anchors of the page."""
    tags = {tag for tag, _ in parsed.elements}
    assert not tags & {
        "script",
        "iframe",
        "object",
        "embed",
        "link",
        "base",
        "form",
        "foreignobject",
        "image",
        "use",
        "audio",
        "video",
        "xmp",
        "plaintext",
    }
    for tag, attributes in parsed.elements:
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            if name in ("src", "href", "xlink:href", "srcset", "action", "data", "poster"):
                assert re.match(r"data:image/jpeg;base64,[A-Za-z0-9+/=]+$|#[a-z-]+$", value), (
                    tag,
                    name,
                    value[:80],
                )
            if name == "style":
                assert "url" not in value.lower()
    policy = next(
        a["content"] for a in parsed.all("meta") if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'unsafe-inline'")


def test_the_page_fetches_and_runs_nothing(parsed, html):
    check_harmless(parsed)
    assert "@import" not in html and "url(" not in html


def test_the_page_is_well_formed(parsed):
    assert (parsed.badly_closed, parsed.open) == ([], [])
    ids = [attributes["id"] for _, attributes in parsed.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in parsed.elements:
        for name in ("aria-labelledby", "href"):
            if value := attributes.get(name):
                assert value.lstrip("#") in ids


def test_the_page_is_accessible(parsed):
    assert all(attributes.get("alt") for attributes in parsed.all("img"))
    for attributes in parsed.all("svg"):
        assert attributes.get("aria-hidden") == "true" or (
            attributes.get("role") == "img" and attributes.get("aria-label")
        )
    levels = [int(tag[1]) for tag, _ in parsed.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
    assert all("scope" in attributes for attributes in parsed.all("th"))
    assert next(attributes for attributes in parsed.all("html"))["lang"] == "en"
    # Scrollable regions can be reached by keyboard and have a name.
    assert all(
        a.get("tabindex") == "0" and (a.get("aria-label") or a.get("aria-labelledby"))
        for a in parsed.all("div")
        if a.get("class") == "scroll"
    )


def test_it_starts_with_the_text_only_finding_and_collapses_the_gallery(parsed, html):
    headings = [html.index(f'<h2 id="{name}"') for name in ("text-only", "gallery", "sets", "funnel")]
    assert headings == sorted(headings)
    assert "A model that sees only the text distinguishes unanswerable from answerable questions" in get_text(
        parsed
    )
    assert all("open" not in attributes for attributes in parsed.all("details"))
    # One card of each subset is visible, and the other two are collapsed.
    opened = sum(
        part.count('<article class="card"')
        for part in re.split(r"<details>.*?</details>", html, flags=re.DOTALL)
    )
    assert html.count('<article class="card"') == 3 * opened


def test_simulated_verdicts_are_stated(parsed, run):
    assert (
        "The verdicts are simulated." in get_text(parsed)
        and "simulated" in get_text(parsed).split("Comparison with other sets")[-1]
    )
    people = changed(
        run,
        items={
            s: [msgspec.structs.replace(i, simulated=False) for i in rows] for s, rows in run.items.items()
        },
    )
    text = get_text(ParsedPage(render_page(people, 0)))
    assert "simulated." not in text and "Models judged" not in text
    params = msgspec.structs.replace(run.release_params, annotated_by="machine-generated")
    text = get_text(ParsedPage(render_page(changed(people, release_params=params), 0)))
    assert "Models judged the questions. No person has judged them." in text
    assert f"{run.release_params.title} {run.version} no VQA + UQ det. models" in text


def test_the_set_is_compared_with_the_paper(parsed, run):
    text = get_text(parsed)
    assert "RGQA no VQA + UQ det. human GQA testdev GQA testdev 52.22 55,637 10.33" in text
    items = [item for rows in run.items.values() for item in rows]
    mean = sum(len(item.text.split()) for item in items) / len(items)
    percent = 100 * sum(item.unanswerable for item in items) / len(items)
    assert (
        f"Tiny 0.1.0 no VQA + UQ det. simulated tiny testdev tiny testdev {percent:.2f} {len(items)} {mean:.2f}"
        in text
    )


def test_edits_are_highlighted_and_boxes_drawn(parsed):
    assert len(parsed.all("mark")) > 6 and len(parsed.all("del")) > 6
    boxes = [
        attributes
        for attributes in parsed.all("rect")
        if attributes.get("fill") == "none" and "stroke-dasharray" in attributes
    ]
    assert boxes


def test_histograms_agree_with_the_audit(run):
    found = _make_clip_histograms(run)
    assert list(found["histograms"]) == list(run.items) and not any(found["unscored"].values())
    for subset, drawn in found["histograms"].items():
        audit = run.audit.subsets[subset]
        assert (drawn.overlap, drawn.mean_difference) == (audit.clip_overlap, audit.clip_mean_difference)


def test_items_without_a_score_are_excluded_from_the_histogram_and_counted(run):
    rows = run.items["pt-hard"]
    first, *others = [item for item in rows if item.unanswerable]
    some = [msgspec.structs.replace(item, score=None) if item is first else item for item in rows]
    found = _make_clip_histograms(changed(run, items=run.items | {"pt-hard": some}))
    assert found["unscored"] == {subset: int(subset == "pt-hard") for subset in run.items}
    scores = [item.score for item in others]
    assert found["histograms"]["pt-hard"].uq_mean == pytest.approx(sum(scores) / len(scores))
    html = render_page(changed(run, items=run.items | {"pt-hard": some}), 0)
    assert html.count("; 1 items have no score") == 1


def test_arcs_are_as_long_as_their_proportion_and_labels_are_upright(parsed, html, run):
    aqs = [item for item in run.all_items if not item.unanswerable]
    first = [
        arc
        for arc in make_arcs(count_starts(item.text for item in aqs), words_of(aqs))
        if len(arc.words) == 1
    ]
    dashes = [dict(a) for a in parsed.all("circle")]
    assert dashes[0]["r"] == str(first[0].radius) and dashes[0]["transform"].startswith(
        "rotate(-89."
    )  # from the top
    drawn, around = map(float, dashes[0]["stroke-dasharray"].split())
    assert drawn / around == pytest.approx(max(arc.proportion for arc in first), abs=0.01)
    turns = re.findall(r'<text transform="rotate\(([-\d.]+)\) translate\([\d.]+\)( rotate\(180\))?"', html)
    assert turns and all((float(turn) > 90) == bool(turned) for turn, turned in turns)


def words_of(items) -> list[str]:
    """Return the first words, the most frequent first."""
    return [words[0] for words, _ in count_starts(i.text for i in items).most_common() if len(words) == 1]


def test_texts_of_the_data_are_escaped(run):
    """All external texts are hostile, including unchanged, inserted (<xmp>) and removed (<plaintext>) text of edits."""
    change = msgspec.structs.replace
    items = {
        subset: [
            change(
                i,
                text=HOSTILE + i.text + " <xmp>",
                answer=HOSTILE,
                category=None,
                pairing_reason=HOSTILE,
                edits=tuple(change(e, old=HOSTILE, new=HOSTILE) for e in i.edits),
            )
            for i in rows
        ]
        for subset, rows in run.items.items()
    }
    reports = dict(run.reports)
    reports["collect"] = reports["collect"] | {
        "annotators": {HOSTILE: next(iter(reports["collect"]["annotators"].values()))}
    }
    reports["screen"] = {
        s: row | {"dropped": {HOSTILE + r: n for r, n in row["dropped"].items()}}
        for s, row in reports["screen"].items()
    }
    hostile = changed(
        run,
        items=items,
        reports=reports,
        audit=change(run.audit, warnings=[HOSTILE]),
        clip_model=change(run.clip_model, model=HOSTILE, weights_sha256=HOSTILE),
        release_params=change(run.release_params, title=HOSTILE, data_source=HOSTILE),
        questions={
            key: change(q, text="<plaintext> " + HOSTILE + q.text, answer=HOSTILE)
            for key, q in run.questions.items()
        },
        scenes={
            key: change(s, objects=tuple(change(o, name=HOSTILE) for o in s.objects))
            for key, s in run.scenes.items()
        },
        verdicts={
            key: change(v, annotator=HOSTILE, first_reason=HOSTILE, second_reason=HOSTILE)
            for key, v in run.verdicts.items()
        },
        verified={
            key: change(v, verifier_result=change(v.verifier_result, detail=HOSTILE))
            for key, v in run.verified.items()
        },
        exclusion_reasons=dict.fromkeys(run.exclusion_reasons, HOSTILE)
        | {(v, c.candidate.candidate_id): HOSTILE for c in run.verified.values() for v in c.verdict_ids},
        dropped_examples={(s, stage, HOSTILE + r): HOSTILE for s, stage, r in run.dropped_examples},
    )
    parsed = ParsedPage(render_page(hostile, 3))
    check_harmless(parsed)
    assert (parsed.badly_closed, parsed.open) == ([], [])
    shown = "".join(parsed.text)
    assert shown.count("<script>alert(1)</script>") > 100 and "{{ 7 * 7 }}&amp;" in shown
    assert "<xmp>" in shown and "<plaintext>" in shown


def test_the_same_run_gives_the_same_bytes(html, run):
    assert render_page(run, 3) == html


def test_the_command_writes_the_page(here, html, tmp_path):
    out = tmp_path / "deep/page.html"
    result = CliRunner().invoke(app, ["report", "--out", str(out), "--examples-per-subset", "3"])
    assert result.exit_code == 0, result.output
    assert out.read_text() == html
    assert f"-> {out}" in result.output


def test_the_default_path_of_the_page(here, monkeypatch):
    monkeypatch.setattr(
        "pipeline.benchmark.report.report_page.render_page", lambda run, cards: f"{cards} cards"
    )
    assert write_report().as_posix() == "data/tiny/report.html"
    assert (here / "data/tiny/report.html").read_text() == "12 cards"
    (here / "data/tiny/report.html").unlink()


@pytest.mark.parametrize("cards", [-1, 26])
def test_a_gallery_that_is_too_large_is_refused(here, cards):
    with pytest.raises(UserError, match=f"--examples-per-subset {cards}: expected 0 to 25"):
        write_report(num_cards=cards)


def test_all_incomplete_stages_are_reported(here, tmp_path, monkeypatch):
    shutil.copytree(here, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    shutil.rmtree("data/release")
    shutil.rmtree("data/tiny/interim/audit")
    (tmp_path / "copy/data/tiny/interim/collect/verdicts.jsonl").unlink()
    with pytest.raises(UserError) as caught:
        write_report()
    assert caught.value.problems == [
        "data set 'tiny', version 0.1.0: 3 stages are incomplete; run dvc repro",
        "collect: missing data/tiny/interim/collect/verdicts.jsonl",
        "audit: missing data/tiny/interim/audit/audit.json",
        "release: missing data/release/tiny/0.1.0/rgqa",
    ]


def test_a_release_of_another_run_is_reported(here, tmp_path, monkeypatch):
    shutil.copytree(here, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    path = tmp_path / "copy/data/release/tiny/0.1.0/rgqa/pt-easy.json"
    lines = path.read_text().splitlines()
    gone = next(i for i, line in enumerate(lines) if '"UQ"' in line and i < len(lines) - 2)
    path.write_text("\n".join(lines[:gone] + lines[gone + 1 :]) + "\n")
    with pytest.raises(UserError, match="pt-easy, release: .* in, but"):
        write_report()
