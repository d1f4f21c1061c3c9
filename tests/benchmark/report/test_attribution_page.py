"""The attribution page, on the tiny project with models of random weights."""

import base64
import io
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pipeline.benchmark.report.attribution_page import (
    compute_attributions,
    find_map_peaks,
    render_shade,
    write_attribution_report,
    write_page,
)
from pipeline.core import params
from pipeline.core.errors import UserError
from pipeline.core.paths import DatasetFolders
from pipeline.inference.attribution.item_pairs import find_pair, sample_pairs
from pipeline.inference.attribution.panels import Attribution, BoxMark, Panel
from pipeline.inference.attribution.row_attribution import RowAttribution
from pipeline.scoring.benchmark_reader import read_benchmark
from tests.closure import ROOT
from tests.inference.attribution.tiny_nets import with_nets, write_answers


@pytest.fixture(scope="module")
def made(tiny_run, tmp_path_factory):
    return with_nets(tiny_run, tmp_path_factory.mktemp("attribution") / "run", ROOT / "data/sample/clip")


@pytest.fixture
def project(made, monkeypatch):
    monkeypatch.chdir(made)
    return made


@pytest.fixture
def release(project):
    return read_benchmark(DatasetFolders().release_dir(params.read_release_version()))


class FakeModel:
    """A model with given attributions, whose answer repeats the question."""

    def __init__(self, *panels):
        self.panels, self.queries = panels, []

    def attribute(self, image, texts, image_id=""):
        self.queries.append((Path(image).stem, texts[0]))
        return [Attribution(f"answer to {text}", 0.5, self.panels) for text in texts]


CORNER = Panel(
    "attention",
    "Where it looked",
    np.array([[0.0, 1.0], [0.0, 0.0]]),
    (BoxMark("cup", (0.5, 0, 1, 0.25), 0.9),),
)


def page(release, tmp_path, pairs, model, **more):
    row = RowAttribution("fake", {"fake": model}, {})
    shown = compute_attributions(pairs, row, DatasetFolders(), **more)
    return write_page(tmp_path / "page.html", shown, row, "introduction", "rgqa attribute").read_text()


def test_the_report_has_24_items_or_all_with_the_uq_of_each_pair_first(project, release, capsys):
    path = write_attribution_report("rp")
    html, pairs = path.read_text(), sample_pairs(release, 12)
    assert path == Path("data/tiny/attribution.html")
    ids = re.findall(r'<p class="soft id">(\S+), image', html)
    assert (
        ids == [item.id for pair in pairs for item in pair.present_items] and len(ids) == 2 * len(pairs) > 0
    )
    for pair in pairs:
        assert not pair.uq.answers and pair.aq.answers
    kinds = re.findall(r'<article class="card (\w+)">', html)
    assert kinds == ["uq", "aq"] * len(pairs)
    assert f"rp, {len(ids)} items -> data/tiny/attribution.html" in capsys.readouterr().out
    assert "default-src 'none'" in html and "http://" not in html.replace("http://www.w3.org", "")


def test_each_item_is_shown_with_its_own_question_image_and_answer(project, release, tmp_path):
    """Swapped items would have text, image or answer of each other in their cards."""
    pairs = [pair for pair in sample_pairs(release, 99) if pair.uq.image != pair.aq.image][:1]
    pairs += [pair for pair in sample_pairs(release, 99) if pair.uq.question_text != pair.aq.question_text][
        :1
    ]
    assert len(pairs) == 2
    model = FakeModel(CORNER)
    cards = page(release, tmp_path, pairs, model).split("<article")[1:]
    items = [item for pair in pairs for item in pair.present_items]
    assert model.queries == [(item.image, item.question_text) for item in items]
    for card, item in zip(cards, items, strict=True):
        assert f"answer to {item.question_text}".replace("'", "&#39;") in card
        assert f'<use href="#image-{item.image}"/>' in card
        assert ("Unanswerable (UQ)" in card) == (not item.answers)
        assert (f"answer: <strong>{', '.join(item.answers)}</strong>" in card) == bool(item.answers)


def test_the_rows_predictions_are_shown_if_a_file_has_them(project, release):
    pair = sample_pairs(release, 1)[0]
    write_answers(project, "msp", [pair.uq.id])
    html = write_attribution_report("msp", out=Path("msp.html")).read_text()
    assert "msp answers <strong>red</strong>, confidence 0.25" in html
    assert html.count("vanilla answers") == html.count("<article") - 1


def test_texts_of_data_and_models_are_escaped(project, release, tmp_path):
    mark = "<script>alert(1)</script>"
    panel = CORNER._replace(marks=(BoxMark(mark, (0, 0, 1, 1), 1.0),), title=mark, note=mark)
    pair = sample_pairs(release, 1)[0]
    pair = pair._replace(uq=pair.uq._replace(question_text=mark))
    html = page(
        release,
        tmp_path,
        [pair],
        FakeModel(panel),
        scene_text={pair.uq.image: (BoxMark(mark, (0, 0, 1, 1), 1.0),)},
    )
    assert mark not in html and "&lt;script&gt;" in html
    assert "Text in the image" in html


def test_boxes_are_drawn_in_the_images_own_pixels(project, release, tmp_path):
    pair = sample_pairs(release, 1)[0]
    html = page(release, tmp_path, [pair], FakeModel(CORNER))
    width, height = Image.open(f"data/tiny/source/images/{pair.uq.image}.jpg").size
    box = f'<rect x="{width / 2:.1f}" y="0.0" width="{width / 2:.1f}" height="{height / 4:.1f}"'
    assert box in html
    assert f'<circle cx="{0.75 * width:.1f}" cy="{0.25 * height:.1f}"' in html


def test_the_shade_is_clear_at_the_highest_weight_and_dark_at_0():
    data = base64.b64decode(render_shade(CORNER.attribution_map).removeprefix("data:image/png;base64,"))
    alpha = np.asarray(Image.open(io.BytesIO(data)))[..., 1]
    assert alpha.tolist() == [[209, 0], [209, 209]]  # 0.82 * 255, except at the upper right.
    even = base64.b64decode(render_shade(np.full((2, 2), 0.25)).removeprefix("data:image/png;base64,"))
    assert np.asarray(Image.open(io.BytesIO(even)))[..., 1].tolist() == [[0, 0], [0, 0]]
    assert (
        find_map_peaks(CORNER.attribution_map) == [(0.75, 0.25)]
        and find_map_peaks(np.full((2, 2), 0.25)) == []
    )


def test_missing_and_unknown_images_are_all_reported(made, tmp_path, monkeypatch):
    shutil.copytree(made, tmp_path / "run", symlinks=True)
    monkeypatch.chdir(tmp_path / "run")
    benchmark = read_benchmark(DatasetFolders().release_dir(params.read_release_version()))
    first, second = sample_pairs(benchmark, 99)[:2]
    Path(f"data/tiny/source/images/{first.aq.image}.jpg").unlink()
    second = second._replace(aq=second.aq._replace(image="n999"))
    with pytest.raises(UserError) as found:
        compute_attributions(
            [first, second], RowAttribution("fake", {"fake": FakeModel(CORNER)}, {}), DatasetFolders()
        )
    text = str(found.value)
    assert f"{first.aq.image}.jpg is missing; restore it" in text and "has no image n999" in text


def test_a_folder_without_a_release_is_refused(project, tmp_path):
    with pytest.raises(UserError, match="no rgqa"):
        read_benchmark(tmp_path)
    benchmark = read_benchmark(DatasetFolders().release_dir(params.read_release_version()))
    assert find_pair(benchmark, next(iter(benchmark.ids))).present_items
