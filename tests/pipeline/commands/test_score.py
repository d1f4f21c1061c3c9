import json

import pytest

from pipeline.commands.score import options_of, score
from pipeline.core.errors import UserError
from pipeline.scorers.model_report import Options


def test_everything_wrong_with_the_options_is_told_at_once():
    with pytest.raises(UserError) as caught:
        options_of("realistic,nope", mode="loose", match="fuzzy")
    assert len(caught.value.problems) == 4
    assert options_of("realistic, pairs", mode="parity", match="exact", repetitions=0) == Options(
        scores=("realistic", "pairs"), mode="parity", match="exact", repetitions=0
    )


def test_table_json_and_plots_are_made_from_one_call(tmp_path, capsys):
    rows = [
        {"img_id": "n", "question_id": str(i), "sent": "?", "label": {"red" if i % 2 else "UQ": 1.0}}
        for i in range(8)
    ]
    said = [{"questionId": str(i), "prediction": "red", "confidence": i / 10} for i in range(8)]
    (tmp_path / "b.json").write_text(json.dumps(rows))
    (tmp_path / "m.json").write_text(json.dumps(said))
    score(
        tmp_path / "b.json",
        [tmp_path / "m.json"],
        Options(repetitions=0),
        folder=tmp_path / "out",
        plots=tmp_path / "plots",
    )
    found = json.loads((tmp_path / "out" / "scores.json").read_text())
    # AQs 1, 3, 5, 7 and UQs 0, 2, 4, 6 by confidence: 7 beats 4, 5 beats 3, 3 beats 2, 1 beats 1: 10 of 16.
    assert found["models"][0]["subsets"]["b"]["realistic"]["auroc"] == pytest.approx(10 / 16)
    assert "8 plots" in capsys.readouterr().out and len(list((tmp_path / "plots").iterdir())) == 8


def test_a_fault_is_a_users_error(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        score(tmp_path / "none.json", [tmp_path / "m.json"], Options())
