"""Two leaderboards of synthetic worlds: pairs that one of them separates, and how many of these are in the same order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from scipy.stats import kendalltau

from pipeline.core.errors import UserError
from research.studies.rank_stability import compare_leaderboards, compute_agreement, read_leaderboard

SUBSETS = ("clip-easy", "clip-hard", "pt-easy", "pt-hard", "mean")


def table(values: list[float], half: float = 0.001) -> pd.DataFrame:
    """Rows r00, r01 ... with intervals of `half` to either side."""
    names = [f"r{number:02d}" for number in range(len(values))]
    return pd.DataFrame(
        {"value": values, "low": [v - half for v in values], "high": [v + half for v in values]}, index=names
    )


def project(folder: Path, name: str, values: list[float]) -> Path:
    """A folder with parameters and a leaderboard, which also has a reference."""
    rows = [
        {
            "row": f"r{n:02d}",
            "kind": "model",
            "subset": place,
            "category": None,
            "score": score,
            "value": v,
            "low": v,
            "high": v,
        }
        for place in SUBSETS
        for n, v in enumerate(values)
        for score in ("auaf", "facc")
    ]
    rows += [
        {
            "row": "truth",
            "kind": "reference",
            "subset": place,
            "category": None,
            "score": "auaf",
            "value": n,
            "low": n,
            "high": n,
        }
        for n, place in enumerate(SUBSETS)
    ]
    rows.append(rows[0] | {"category": "missing object", "value": 99.0})
    home = folder / "data" / name / "interim/leaderboard"
    home.mkdir(parents=True)
    pd.DataFrame(rows).to_csv(home / "leaderboard.csv", index=False)
    (folder / "params.yaml").write_text(f"version: '1.0.0'\ndataset: {name}\n{name}: {{}}\n")
    return folder


def test_tau_over_all_pairs_is_scipys() -> None:
    one, other = (
        [float(n) for n in range(14)],
        [1.0, 0.0, 2.0, 3.0, 5.0, 4.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 13.0, 12.0],
    )
    expected: Any = kendalltau(one, other)
    rows, pairs, apart, every = compute_agreement(table(one), table(other))
    assert (rows, pairs) == (14, 91)
    assert every == pytest.approx(float(expected[0]))
    assert apart == pytest.approx((88 - 3) / 91)  # three neighbours changed places


def test_pairs_whose_intervals_overlap_on_both_sets_do_not_count() -> None:
    # 14 rows one apart, intervals of 0.6 to either side: neighbours overlap, 13 pairs. Where the first two have changed places, the
    # second and third are two apart and do not, so 12 pairs count on neither set; all others are in the same order.
    one = [float(n) for n in range(14)]
    other = [1.0, 0.0, *one[2:]]
    _, pairs, apart, every = compute_agreement(table(one, 0.6), table(other, 0.6))
    assert (pairs, apart) == (91 - 12, 1.0)
    assert every == pytest.approx((90 - 1) / 91)


def test_a_pair_counts_if_one_of_the_sets_separates_it() -> None:
    one = [float(n) for n in range(14)]
    assert compute_agreement(table(one, 100.0), table(one))[1] == 91
    assert compute_agreement(table(one, 100.0), table(one[::-1]))[2] == -1


def test_too_few_rows_are_an_error() -> None:
    few = table([float(n) for n in range(13)])
    with pytest.raises(UserError, match="13 rows on both leaderboards"):
        compute_agreement(few, few)


def test_the_page_compares_all_and_leaves_references_and_categories_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = [n / 20 for n in range(15)]
    here = project(tmp_path / "here", "sample", values)
    others = [
        project(tmp_path / name, name, values[::order]) for name, order in (("same", 1), ("turned", -1))
    ]
    monkeypatch.chdir(here)
    assert len(read_leaderboard(Path())["mean"]) == 15
    page = compare_leaderboards(others)
    assert "| sample, same | 1.000 (105 of 105); 1.000" in page
    assert "| sample, turned | -1.000 (105 of 105); -1.000" in page
    assert "| same, turned |" in page
    assert page.endswith("clip-easy -1.000, clip-hard -1.000, pt-easy -1.000, pt-hard -1.000, mean -1.000")


def test_folders_without_leaderboard_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = project(tmp_path / "here", "sample", [n / 20 for n in range(15)])
    monkeypatch.chdir(here)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "params.yaml").write_text(f"version: '1.0.0'\ndataset: {name}\n{name}: {{}}\n")
    with pytest.raises(UserError) as error:
        compare_leaderboards([tmp_path / "one", tmp_path / "two"])
    assert sum("leaderboard.csv: no such file" in line for line in error.value.problems) == 2
    with pytest.raises(UserError, match="only one data set"):
        compare_leaderboards([])
