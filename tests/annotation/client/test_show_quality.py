import os

import pytest

from annotation.client.show_quality import lines, report
from pipeline.core.errors import UserError
from pipeline.core.files import write_json
from pipeline.core.paths import Folders
from tests.annotation.study.conftest import quality


@pytest.fixture
def written(tiny):
    """The report that `collect` wrote last; its path."""
    path = Folders().stage("collect") / "quality.json"
    write_json(path, quality())
    return path


def test_before_the_first_report_it_says_what_to_do(tiny):
    with pytest.raises(
        UserError, match="no quality report yet; pull verdicts .*, then run: dvc repro collect"
    ):
        report()


def test_verdicts_that_came_after_the_report_are_told(written, capsys):
    write_json(Folders().annotations / "pulled.json", [])
    os.utime(written, (0, 0))
    report()
    assert "report: there are newer verdicts; run: dvc repro collect" in capsys.readouterr().out
    os.utime(written)
    for path in Folders().annotations.glob("*.json"):
        os.utime(path, (0, 0))
    report()
    said = capsys.readouterr().out
    assert "newer verdicts" not in said
    assert said.endswith("report: for the browser -> data/tiny/interim/collect/quality.html\n")


def test_simulated_verdicts_are_marked_first_of_all():
    assert next(lines(quality(simulated=True))).startswith("SIMULATED VERDICTS")
    assert "SIMULATED" not in "\n".join(lines(quality()))


def test_the_short_form_names_who_is_excluded_and_why():
    told = "\n".join(lines(quality()))
    assert "excluded: sensitivity: 0 of 7 known invalid" in told
    assert "ALARM: 1 filter question fell" in told
    assert (
        "clip-hard: 12 answerable, 2 unanswerable; 100.0% alike, alpha 1.00 (1.00 to 1.00), AC1 1.00" in told
    )
