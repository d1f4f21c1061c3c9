import json

from pipeline.benchmark.auditing.subset_audit import AuditReport
from pipeline.core.json_files import read_json


def test_the_report_of_a_whole_run_has_the_subsets_and_the_truth(tiny_run):
    folder = tiny_run / "data/tiny/interim/audit"
    report = json.loads((folder / "audit.json").read_text())
    assert set(report["subsets"]) and "paper_rules" not in report
    assert {"clip-easy", "clip-hard", "pt-easy", "pt-hard"} == set(report["screening_accuracy"])
    for subset in ("clip-easy", "clip-hard"):
        if subset in report["subsets"]:
            assert (
                report["subsets"][subset]["text_imbalance"]["max_difference"]
                == report["subsets"][subset]["image_imbalance"]["max_difference"]
                == 0
            )
    text = (folder / "audit.md").read_text()
    assert "simulated" in text and "paper's rules" not in text


def test_the_audit_is_typed_and_says_the_same_to_programs_and_to_people(tiny_run):
    folder = tiny_run / "data/tiny/interim/audit"
    report = read_json(folder / "audit.json", AuditReport)
    text = (folder / "audit.md").read_text()
    assert report.attack_table in text
    for subset, audit in report.subsets.items():
        assert f"| `{subset}` | {audit.uqs} + {audit.aqs} |" in report.attack_table
    for warning in report.warnings:
        assert f"> **Warning.** {warning}" in text
