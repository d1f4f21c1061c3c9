"""The audit page is self-contained, escapes texts of the data, and starts with the finding."""

import re

from pipeline.benchmark.auditing.balanced_subset import choose_balanced_subset
from pipeline.benchmark.auditing.text_audit import AuditSettings, SetDescription, audit_texts
from pipeline.benchmark.auditing.text_audit_page import render_page, summarize_finding
from tests.benchmark.auditing.made_sets import labelled, planted

FEW = AuditSettings(3, 50, 0)
MADE = SetDescription("made", "POPE", ("no", "yes"))


def test_the_finding_comes_first_with_the_test_behind_it():
    found = audit_texts(MADE, planted(600, (0.0, 1.0)), FEW)
    assert (
        "predicts yes or no with AUROC 1.00 [1.00, 1.00] in folds by text (word n-grams); 1.00"
        in summarize_finding(found)
    )
    assert "p = 0.010" in summarize_finding(found)
    nothing = audit_texts(MADE, planted(600, (0.5, 0.5)), FEW)
    assert nothing.finding == "chance" and "beyond chance" in summarize_finding(nothing)
    html = render_page([found, nothing])
    assert html.index(summarize_finding(found)) < html.index("<table") and summarize_finding(nothing) in html


def test_if_every_text_is_balanced_no_attacker_counts():
    # As in `test_an_auroc_below_half_is_marked_and_no_leak`, the attackers reach 1.0 because they are always wrong.
    texts = [f"is it x{i}" for i in range(8) for _ in range(8)]
    labels = [(i + j) % 2 for i in range(8) for j in range(8)]
    rows = labelled(texts, labels, [j for _ in range(8) for j in range(8)])
    found = audit_texts(MADE, rows, AuditSettings(8, 50, 0))
    assert found.attacks["image"]["word n-grams"].auroc > 0.9 and "exactly 0.5" in summarize_finding(found)


def test_texts_of_the_data_are_escaped_and_nothing_is_fetched():
    rows = planted(600, (0.0, 1.0))
    texts = [text.replace("unicorn", "o'neil").replace("Is", "<b>Is") for text in rows.texts]
    description = SetDescription("<script>alert(1)</script>", "POPE", ("no", "yes"))
    html = render_page([audit_texts(description, labelled(texts, rows.labels, rows.images), FEW)])
    assert "<script" not in html and "&lt;script&gt;" in html and "o&#39;neil" in html
    assert not re.search(r"(src|href)=|https?://|@import|url\(", html)
    assert "default-src 'none'" in html


def test_the_balanced_subset_is_shown_with_excluded_rows():
    rows = labelled(["a", "a", "b", "b", "c"] * 6, [1, 0, 0, 1, 1] * 6, [1, 2, 1, 2, 3] * 6)
    keep, report = choose_balanced_subset(rows, 0)
    html = render_page([audit_texts(MADE, rows, FEW)], report, audit_texts(MADE, rows.select(keep), FEW))
    assert "Kept: 4 of 30 rows, 2 of 3 texts, 2 of 3 images." in html
    assert html.count("Too small to measure: ") == 2
    assert "excluded: its text has only one label" in html


def test_skipped_attackers_are_named():
    html = render_page([audit_texts(MADE, planted(100, (0.2, 0.6)), FEW)])
    assert html.count("Skipped: ") == 2 and "verbatim" in html
