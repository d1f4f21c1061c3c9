import pytest

from research.evaluation.published_scores import RELIABLE_VQA_TABLE, RGQA_TABLE, load_published_scores


def test_means_of_rgqas_rows_are_those_that_its_table_5_prints():
    """Its column Avg., in %, rounded to 2 decimals of sums of 4 rounded numbers (RP w/ hard UQ of BUTD: to one)."""
    printed = {
        "BUTD": {"frcnn": 30.67, "msp": 36.50, "mahalanobis_own": 26.26, "rp_hard": 40.2, "ens": 48.28},
        "UNITER": {"odin": 39.02, "energy_top2": 39.03, "caption_match": 44.08, "rp": 50.35, "mix": 51.05},
        "LXMERT": {"msp": 42.60, "resample": 52.29, "rp": 52.65, "mix": 53.27, "ens": 53.52},
    }
    for net, rows in printed.items():
        for row, mean in rows.items():
            assert 100 * load_published_scores(RGQA_TABLE)[net][row, "mean", "auaf"] == pytest.approx(
                mean, abs=0.011
            )


def test_published_scores_are_fractions_by_row_and_subset():
    """Three cells of Table H1 and two of Whitehead et al.'s Tables 1 and 2."""
    assert [*load_published_scores(RGQA_TABLE)] == ["BUTD", "UNITER", "LXMERT"] and len(
        load_published_scores(RGQA_TABLE)["BUTD"]
    ) == 11 * 5 * 3
    lxmert = load_published_scores(RGQA_TABLE)["LXMERT"]
    assert lxmert["msp", "clip-hard", "ff95"] == pytest.approx(0.7892)
    assert lxmert["rp", "clip-easy", "ff95"] == pytest.approx(0.00527)
    assert lxmert["ens", "pt-hard", "facc"] == pytest.approx(0.5883)
    vil = load_published_scores(RELIABLE_VQA_TABLE)["CLIP-ViL"]
    assert vil["selector", "all AQs", "coverage_at_risk/0.01"] == pytest.approx(0.1634)
    assert vil["maxprob", "all AQs", "effective_reliability/100"] == pytest.approx(0.0285)
