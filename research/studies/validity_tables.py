"""The figures of `rgqa study validity` as tables in Markdown."""

from __future__ import annotations

from pipeline.core.errors import counted
from pipeline.core.records import SUBSETS
from pipeline.core.rendering import markdown_table
from research.studies.item_sets import COUNTERFACTUAL_PAIRS, OURS, PAPER
from research.studies.rank_agreement import Figure, RankAgreement, Within
from research.studies.validity_results import BlindPlace, Validity


def page(found: Validity) -> str:
    """All tables."""
    return "\n\n".join([agreements(found), mixtures(found), blind(found), rows(found)]) + "\n"


def agreements(found: Validity) -> str:
    """Each set's agreement with twins, ours beside the paper's rules."""
    cells = [["subset", "rules", "items", "tau", "Pearson's r", "ours less the paper's, tau"]]
    gains = {one.subset: _with(one.gain.tau, one.gain.interval, "+") for one in found.gains}
    for subset in SUBSETS:
        for one in (one for one in found.sets if one.subset == subset):
            gain = gains.get(subset, "") if one.rules == OURS else ""
            cells.append([subset, one.rules, f"{one.items:,}", *_told(one.agreement), gain])
    if found.ceiling:
        cells.append([COUNTERFACTUAL_PAIRS, "fresh twins", "", *_told(found.ceiling), ""])
    pairs = found.sets[0].agreement.pairs
    total = found.rows * (found.rows - 1) // 2
    lead = (
        f"{counted(found.rows, 'row')} ranked by AUAF; tau over the {pairs} of {counted(total, 'pair')} of rows that the counterfactual pairs separate; "
        "95 % intervals, images of both sides resampled."
    )
    return f"{lead}\n\n{markdown_table(cells)}"


def mixtures(found: Validity) -> str:
    """The same against twins whose unanswerable questions are weighted to each set's shares of categories."""
    cells = [["subset", "rules", "shares of its UQs", "pairs", "tau", "Pearson's r"]]
    for subset in SUBSETS:
        for one in (one for one in found.sets if one.subset == subset):
            largest = sorted(one.shares.items(), key=lambda row: -row[1])[:3]
            shares = ", ".join(f"{name or 'unknown'} {share:.0%}" for name, share in largest)
            told = [str(one.alike.pairs), *_told(one.alike)] if one.alike else [""] * 3
            cells.append([subset, one.rules, shares, *told])
    return (
        "Against twins whose UQs are weighted to the set's own shares of categories (AUAF is a mean over UQs):\n\n"
        + markdown_table(cells)
    )


def blind(found: Validity) -> str:
    """Where rows that see no picture, or read the wording in place of it, would stand."""
    there = {(one.rules, one.subset) for one in found.sets} | {("", COUNTERFACTUAL_PAIRS)}
    sets = [(rules, subset) for subset in SUBSETS for rules in (PAPER, OURS)] + [("", COUNTERFACTUAL_PAIRS)]
    sets = [where for where in sets if where in there]
    cells = [["row", *(", ".join(filter(None, (subset, rules))) for rules, subset in sets)]]
    names = dict.fromkeys(one.row for one in found.blind)
    at: dict[tuple[str, str, str], BlindPlace] = {
        (one.row, one.rules, one.subset): one for one in found.blind
    }
    for name in names:
        found_at = (at.get((name, *where)) for where in sets)
        cells.append([name, *(f"{one.auaf:.3f} (place {one.place})" if one else "" for one in found_at)])
    wording = {(one.rules, one.subset): one.wording for one in found.sets} | {
        ("", COUNTERFACTUAL_PAIRS): found.twins_wording
    }
    cells.append(["AUROC of the wording alone", *(f"{wording[where]:.3f}" for where in sets)])
    return (
        f"AUAF of rows that see no picture, or read the wording in place of it, and their place beside {found.rows} rows:\n\n"
        + markdown_table(cells)
    )


def rows(found: Validity) -> str:
    """AUAF of all ranked rows, the best on twins first."""
    order = sorted(found.auaf, key=lambda row: -found.auaf[row][COUNTERFACTUAL_PAIRS])
    columns = [COUNTERFACTUAL_PAIRS, *(name for name in found.auaf[order[0]] if name != COUNTERFACTUAL_PAIRS)]
    cells = [["row", *columns]]
    cells += [[row, *(f"{found.auaf[row][name]:.3f}" for name in columns)] for row in order]
    return "AUAF, means over seeds:\n\n" + markdown_table(cells)


def _told(one: RankAgreement) -> list[str]:
    return [_with(one.tau, one.tau_interval), _with(one.pearson, one.pearson_interval)]


def _with(value: Figure, interval: Within, sign: str = "") -> str:
    """A figure with its interval, "-" for what is undefined."""
    told, low, high = ("-" if one is None else f"{one:{sign}.3f}" for one in (value, *interval))
    return f"{told} ({low} to {high})"
