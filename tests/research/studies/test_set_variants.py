"""The tiny project's questions, paired in other ways and proposed with other reuse caps."""

from collections import Counter

import pytest

from pipeline.core.paths import DatasetFolders
from pipeline.core.records import SUBSETS, Item
from research.studies import set_variants
from research.studies.item_sets import OUR_RULES, PAPER_RULES, make_item_set
from research.studies.set_variants import build_balancing_sets, build_cap_sets


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
