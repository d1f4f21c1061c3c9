import json
from pathlib import Path

import pytest

from pipeline.candidates.estimating.answerability import STATED_RATES
from pipeline.core.json_files import read_jsonl
from pipeline.core.records import CandidateEstimate, ScreenedCandidate
from pipeline.stages import estimate


def test_every_candidate_has_an_estimate_in_the_same_order(tiny_run):
    home = tiny_run / "data/tiny/interim"
    rows = list(read_jsonl(home / "estimate/estimates.jsonl", CandidateEstimate))
    screened = list(read_jsonl(home / "screen/screened.jsonl", ScreenedCandidate))
    assert [row.candidate_id for row in rows] == [row.candidate.candidate_id for row in screened]
    assert all(0 < row.p_answerable < 1 for row in rows)
    report = json.loads((home / "estimate/estimate.json").read_text())
    for subset, figures in report["subsets"].items():
        own = [row for row, one in zip(rows, screened, strict=True) if one.candidate.subset == subset]
        assert figures["candidates"] == len(own) == sum(figures["difficulty"].values())
        assert abs(figures["expected_answerable"] - sum(row.p_answerable for row in own)) < 0.051


def test_without_graphs_base_rates_are_used_and_reported(screened, set_params, capsys):
    set_params("estimate")
    home = Path("data/tiny/interim")
    (home / "ingest/scenes.jsonl").write_text("")
    (home / "vocabulary/reconstructed.jsonl").touch()
    estimate.main()
    fitted = json.loads((home / "estimate/estimate.json").read_text())["fitted"]
    assert not fitted["calibrated"] and fitted["questions"] == 0
    assert fitted["weights"] is None
    rows = list(read_jsonl(home / "estimate/estimates.jsonl", CandidateEstimate))
    assert rows and all(0 < row.p_answerable < 1 for row in rows)
    # The mean of each subset is its stated base rate.
    subset = {
        row.candidate.candidate_id: row.candidate.subset
        for row in read_jsonl(home / "screen/screened.jsonl", ScreenedCandidate)
    }
    for name, rate in STATED_RATES.items():
        own = [row.p_answerable for row in rows if subset[row.candidate_id] == name]
        assert not own or sum(own) / len(own) == pytest.approx(rate, abs=0.001)
    assert [row.candidate_id for row in rows] == list(subset)
    assert "by stated base rates" in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("num_graphs", "num_sampled", "reason"),
    [
        (0, 0, "there are no graphs"),
        (1, 0, "a model drafted the only graph"),
        (2, 0, "a model drafted all 2 graphs"),
        (2, 1, "the questions about images with graphs are too few"),
    ],
)
def test_the_reason_for_base_rates_is_right(num_graphs, num_sampled, reason):
    assert estimate.explain_base_rates(num_graphs, num_sampled) == reason


def test_graphs_that_a_model_drafted_are_not_said_to_be_missing(screened, set_params, capsys):
    path = Path("data/tiny/interim/ingest/scenes.jsonl")
    rows = [json.loads(line) | {"drafted_by": "net"} for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    set_params("estimate")
    estimate.main()
    assert f"a model drafted all {len(rows):,} graphs" in capsys.readouterr().out
