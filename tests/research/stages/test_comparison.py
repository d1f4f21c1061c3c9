import shutil

import pytest

from pipeline.benchmark.auditing.rule_comparison import ComparisonReport, read_comparison
from pipeline.core.json_files import read_json
from pipeline.core.paths import DatasetFolders
from research.stages import comparison, paper


@pytest.fixture
def compared(tiny_run, tmp_path, monkeypatch):
    """A copy of the run on the tiny world, with the comparison beside it."""
    home = shutil.copytree(tiny_run, tmp_path / "run")
    monkeypatch.chdir(home)
    paper.main()
    comparison.main()
    return DatasetFolders()


def test_the_papers_rules_are_audited_as_our_items_are(compared):
    report = read_json(compared.stage_dir("comparison") / "comparison.json", ComparisonReport)
    counts = read_json(compared.stage_dir("paper") / "paper.json")["subsets"]
    assert {subset: row.uqs for subset, row in report.paper_rules.items()} == {
        subset: row["unanswerable"] for subset, row in counts.items() if row["unanswerable"]
    }
    assert report.attack_table in (compared.stage_dir("comparison") / "comparison.md").read_text()
    assert read_comparison(compared) == report.paper_rules


def test_a_comparison_with_another_audit_is_not_shown(compared):
    audit = compared.stage_dir("audit") / "audit.json"
    audit.write_text(audit.read_text() + "\n")
    assert read_comparison(compared) == {}


def test_without_a_truth_there_is_nothing_to_compare(compared):
    shutil.rmtree(compared.truth)
    paper.main()
    comparison.main()
    report = read_json(compared.stage_dir("comparison") / "comparison.json", ComparisonReport)
    assert report.paper_rules == {}
    assert "There is no comparison" in (compared.stage_dir("comparison") / "comparison.md").read_text()
