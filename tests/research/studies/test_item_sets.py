"""Sets of items and their variants."""

import json
from collections import Counter

import numpy as np
import pytest

from pipeline.core.errors import UserError
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import SUBSETS, Item
from research.studies import set_variants
from research.studies.item_sets import (
    OUR_RULES,
    PAPER_RULES,
    collect_queries,
    find_dataset_images,
    find_release_images,
    load_counterfactual_pairs,
    load_dataset_sets,
    make_item_set,
    make_query_id,
    number_jointly,
)
from research.studies.set_variants import build_balancing_sets, build_cap_sets

# Item sets from a data set and from a release of counterfactual pairs.


def item(key, image, text, answer=""):
    return Item(
        item_id=key,
        subset="pt-hard",
        image_id=image,
        question_id=key[-1],
        text=text,
        unanswerable=not answer,
        answer=answer,
        pair_id="pair",
        split="test",
        category=None if answer else "wrong attribute",
    )


def test_item_ids_depend_on_image_and_text_and_duplicates_count():
    one = make_item_set(
        [item("u2", "p", "Why?"), item("q1", "p", "Where?", "there"), item("u1", "p", "Why?")]
    )
    assert one.items["id"].tolist() == [
        make_query_id("p", "Where?"),
        make_query_id("p", "Why?"),
        make_query_id("p", "Why?"),
    ]
    assert one.items.answerable.tolist() == [True, False, False] and one.source_ids == ["1", "1", "2"]
    assert one.items["category"].tolist() == ["", "wrong attribute", "wrong attribute"]
    assert make_query_id("p", "Why?") != make_query_id("q", "Why?")


def test_a_data_set_has_our_sets_and_the_papers_of_one_split(tiny_run, monkeypatch):
    monkeypatch.chdir(tiny_run)
    folders = DatasetFolders()
    test, validation = load_dataset_sets(folders), load_dataset_sets(folders, "validation")
    assert list(test) == [(rules, subset) for rules in (OUR_RULES, PAPER_RULES) for subset in SUBSETS]
    count = sum(len(sets[OUR_RULES, subset].items) for sets in (test, validation) for subset in SUBSETS)
    assert count == sum(1 for _ in folders.read_records(Item))
    files = find_dataset_images(folders)
    asked = collect_queries(test.values(), files)
    assert len({one.item_id for one in asked}) == len(asked) and all(one.image.is_file() for one in asked)
    with pytest.raises(UserError, match="no file of this name"):
        collect_queries(test.values(), {})


def write_release(folder, split="test"):
    rows = [("t1", "a", {"red": 1.0}), ("t2", "b", {"UQ": 1.0})]
    listed = [
        {"img_id": image, "question_id": key, "sent": "What color is the cup?", "label": label}
        for key, image, label in rows
    ]
    details = [
        {
            "item": {
                "subset": "counterfactual",
                "item_id": key,
                "pair_id": "1",
                "category": category,
                "split": split,
            }
        }
        for (key, *_), category in zip(rows, ("", "attribute"), strict=True)
    ]
    (folder / "rgqa").mkdir(parents=True)
    (folder / "rgqa/counterfactual.json").write_text(json.dumps(listed))
    (folder / "provenance.jsonl").write_text("\n".join(map(json.dumps, details)))
    (folder / "params.json").write_text(json.dumps({"dataset": "drawn", "version": "1"}))
    return folder


def test_counterfactual_pairs_get_our_categories(tmp_path, monkeypatch):
    release = write_release(tmp_path / "data/release/drawn/1")
    one = load_counterfactual_pairs(release)
    assert one.items["category"].tolist() == ["", "wrong attribute"]
    assert one.items["id"].tolist() == [make_query_id(image, "What color is the cup?") for image in "ab"]
    assert one.items["pair_id"].tolist() == ["1", "1"]
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="--images"):
        find_release_images(release)
    images = tmp_path / "data/drawn/source/images"
    images.mkdir(parents=True)
    (images / "a.jpg").write_bytes(b"")
    assert [*find_release_images(release)] == [*find_release_images(release, images)] == ["a"]


def test_releases_without_counterfactual_pairs_are_errors(tmp_path):
    release = write_release(tmp_path / "release", split="validation")
    with pytest.raises(UserError, match="no pair of split test"):
        load_counterfactual_pairs(release)
    with pytest.raises(UserError, match=r"no rgqa/\*.json"):
        load_counterfactual_pairs(tmp_path)


def test_names_of_several_columns_are_numbered_together():
    count, places = number_jointly([np.array(["b", "a"]), np.array(["b", "c"])])
    assert count == 3 and [split.tolist() for split in places] == [[1, 0], [1, 2]]


# The tiny project's questions, paired in other ways and proposed with other reuse caps.


@pytest.fixture
def folders(tiny_run, monkeypatch):
    monkeypatch.chdir(tiny_run)
    return DatasetFolders()


def test_our_pairing_gives_the_released_sets_and_the_papers_drops_none(folders):
    found = build_balancing_sets(folders)
    released = list(folders.read_records(Item))
    for subset in SUBSETS:
        expected = make_item_set(row for row in released if row.subset == subset and row.split == "test")
        ours, paper = found[subset, OUR_RULES].items, found[subset, PAPER_RULES].items
        assert sorted(ours["id"]) == sorted(expected.items["id"])
        assert set(ours["id"][~ours.answerable]) <= set(paper["id"][~paper.answerable])
    assert any(
        len(found[subset, PAPER_RULES].items) > len(found[subset, OUR_RULES].items) for subset in SUBSETS
    )


def test_no_question_is_used_more_often_than_the_cap(folders, monkeypatch):
    monkeypatch.setattr(set_variants, "REUSE_CAPS", (1, 2, 0))
    found = build_cap_sets(folders)
    assert {key[2] for key in found} == {1, 2, 0} and {key[0] for key in found} == {"clip-easy", "clip-hard"}
    most = {}
    for (subset, series, cap), one in found.items():
        uqs = ~one.items.answerable
        uses = Counter(source for source, is_uq in zip(one.source_ids, uqs, strict=True) if is_uq)
        most[subset, series, cap] = max(uses.values(), default=0)
        assert not cap or most[subset, series, cap] <= cap
    assert max(most.values()) > 2  # without a cap
