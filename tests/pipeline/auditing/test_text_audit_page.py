"""The page: whole in itself, texts of the data escaped, the finding in its first sentence."""

import re

from pipeline.leaks.even_set import balanced
from pipeline.leaks.leak_figures import LeakParams, leaks_of
from pipeline.leaks.leak_page import page, verdict
from tests.pipeline.leaks.made_sets import labelled, planted

FEW = LeakParams(3, 50, 0)


def test_the_finding_comes_first_and_says_whether_it_is_beyond_chance():
    found = leaks_of("made", planted(600, (0.0, 1.0)), FEW)
    assert (
        "yes from no with AUROC in folds by text 1.00 [1.00, 1.00] (word n-grams); in folds by picture 1.00"
        in verdict(found)
    )
    nothing = leaks_of("made", planted(600, (0.5, 0.5)), FEW)
    assert verdict(nothing).count("not beyond chance") == 2
    assert page(found).index(verdict(found)) < page(found).index("<section")


def test_where_each_text_is_even_nothing_is_told_whatever_attackers_reach():
    # As in `test_what_is_mostly_wrong_counts_and_is_marked`: they reach 1.0, being wrong every time.
    texts = [f"is it x{i}" for i in range(8) for _ in range(8)]
    labels = [(i + j) % 2 for i in range(8) for j in range(8)]
    found = leaks_of(
        "made", labelled(texts, labels, [j for _ in range(8) for j in range(8)]), LeakParams(8, 50, 0)
    )
    assert found.attacks["picture"]["word n-grams"].auroc > 0.9 and "its AUROC is 0.5" in verdict(found)


def test_texts_of_the_data_are_escaped_and_nothing_is_fetched():
    rows = planted(600, (0.0, 1.0))
    texts = [text.replace("unicorn", "o'neil").replace("Is", "<b>Is") for text in rows.texts]
    told = leaks_of("<script>alert(1)</script>", labelled(texts, rows.labels, rows.pictures), FEW)
    html = page(told)
    assert "<script" not in html and "&lt;script&gt;" in html and "o&#39;neil" in html
    assert not re.search(r"(src|href)=|https?://|@import|url\(", html)
    assert "default-src 'none'" in html


def test_the_balanced_part_stands_beside_what_was_lost():
    rows = labelled(["a", "a", "b", "b", "c"] * 6, [1, 0, 0, 1, 1] * 6, [1, 2, 1, 2, 3] * 6)
    keep, lost = balanced(rows, 0)
    html = page(leaks_of("made", rows, FEW), lost, leaks_of("made, balanced", rows.at(keep), FEW))
    assert html.count("no function of the text alone tells them apart") == 1  # of the balanced part
    assert "Kept: 4 of 30 rows, 2 of 3 texts, 2 of 3 pictures." in html
    assert (
        "20 left out: the same text was verified" in html or "left out: its text has one label alone" in html
    )


def test_an_attack_that_is_not_applicable_is_a_dash():
    html = page(leaks_of("made", labelled(["a", "b", "c", "d"], [0, 0, 0, 1], [1, 2, 3, 4]), FEW))
    assert '<span class="n">-</span>' in html
