import msgspec
import pytest

from annotation.client.report import format_summary, print_report
from annotation.study.exports import read_verdicts
from pipeline.core.errors import UserError
from pipeline.core.json_files import write_json, write_jsonl
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Task, Verdict
from tests.annotation.conftest import made_task
from tests.annotation.study.conftest import quality


@pytest.fixture
def written(tiny):
    """The report that `collect` wrote last; its path."""
    path = DatasetFolders().stage_dir("collect") / "quality.json"
    write_json(path, quality())
    return path


def test_missing_report_is_explained(tiny):
    with pytest.raises(UserError, match="no quality report yet.*dvc repro collect"):
        print_report()


def test_newer_verdicts_are_reported(written, capsys):
    write_json(written, msgspec.structs.replace(quality(), simulated=False))
    folders = DatasetFolders()
    write_jsonl(folders.record_file(Task), [made_task(n) for n in range(2)])
    chosen = [{"from_name": name, "value": {"choices": ["valid"]}} for name in ("first", "second")]
    row = {"id": 1, "completed_by": "annotator-01", "created_at": "2026-01-01T00:00:00Z", "result": chosen}
    path = folders.annotations / "pulled.json"
    write_json(path, [{"data": {"task": "t0000"}, "annotations": [row]}])
    print_report()
    assert "report: 1 verdict is new or changed since then. Run: dvc repro collect" in capsys.readouterr().out
    write_jsonl(folders.record_file(Verdict), read_verdicts(path, {"t0000", "t0001"})[0])
    print_report()
    said = capsys.readouterr().out
    assert "new or changed" not in said
    assert said.endswith("report: full report -> data/tiny/interim/collect/quality.html\n")


def test_simulated_verdicts_are_marked_first():
    assert next(format_summary(quality(simulated=True))).startswith("SIMULATED VERDICTS")
    assert "SIMULATED" not in "\n".join(format_summary(quality()))


def test_summary_names_excluded_annotators_and_reasons():
    summary = "\n".join(format_summary(quality()))
    assert "excluded: sensitivity: 0 of 7 invalid gold questions" in summary
    assert "WARNING: 1 gold question is discarded" in summary
    assert (
        # Two of fourteen are unanswerable: many replicates have none of them, so alpha has no interval.
        "clip-hard: 12 answerable, 2 unanswerable; 100.0% agreement, alpha 1.00, AC1 1.00 (1.00 to 1.00)"
        in summary
    )
