"""Render the results of `rgqa study validity` as Markdown tables."""

from __future__ import annotations

from pipeline.core.errors import format_count
from pipeline.core.records import SUBSETS
from pipeline.core.rendering import format_markdown_table
from research.studies.item_sets import COUNTERFACTUAL_PAIRS, OUR_RULES, PAPER_RULES
from research.studies.rank_agreement import OptionalFloat, OptionalInterval, RankAgreement
from research.studies.validity_results import TextOnlyRank, ValidityResults


def render_page(found: ValidityResults) -> str:
    """Render all tables."""
    return (
        "\n\n".join(
            [agreement_table(found), reweighted_table(found), text_only_table(found), row_table(found)]
        )
        + "\n"
    )


def agreement_table(found: ValidityResults) -> str:
    """Render each set's agreement with counterfactual pairs, ours beside the paper's rules."""
    cells = [["subset", "rules", "items", "tau", "Pearson's r", "tau, ours minus the paper's"]]
    gains = {
        one.subset: _format_with_interval(one.tau_difference.tau, one.tau_difference.interval, "+")
        for one in found.tau_differences
    }
    for subset in SUBSETS:
        for one in (one for one in found.sets if one.subset == subset):
            gain = gains.get(subset, "") if one.rules == OUR_RULES else ""
            cells.append([subset, one.rules, f"{one.num_items:,}", *_format_agreement(one.agreement), gain])
    if found.ceiling:
        cells.append(
            [COUNTERFACTUAL_PAIRS, "other counterfactual pairs", "", *_format_agreement(found.ceiling), ""]
        )
    pairs = found.sets[0].agreement.num_pairs
    total = found.num_rows * (found.num_rows - 1) // 2
    lead = (
        f"{format_count(found.num_rows, 'row')} ranked by AUAF; tau over the {pairs} of {format_count(total, 'pair')} of rows that counterfactual pairs separate; "
        "95 % intervals from a bootstrap over the images of both item sets."
    )
    return f"{lead}\n\n{format_markdown_table(cells)}"


def reweighted_table(found: ValidityResults) -> str:
    """Render the agreement with counterfactual pairs that are weighted to each set's proportions of
    categories.
    """
    cells = [["subset", "rules", "categories of its UQs", "pairs", "tau", "Pearson's r"]]
    for subset in SUBSETS:
        for one in (one for one in found.sets if one.subset == subset):
            largest = sorted(one.category_proportions.items(), key=lambda row: -row[1])[:3]
            shares = ", ".join(f"{name or 'unknown'} {share:.0%}" for name, share in largest)
            agreement = (
                [str(one.agreement_reweighted.num_pairs), *_format_agreement(one.agreement_reweighted)]
                if one.agreement_reweighted
                else [""] * 3
            )
            cells.append([subset, one.rules, shares, *agreement])
    return (
        "Against counterfactual pairs whose UQs are weighted to the set's proportions of categories (AUAF is a mean over UQs):\n\n"
        + format_markdown_table(cells)
    )


def text_only_table(found: ValidityResults) -> str:
    """Render the ranks that rows without image, or with text-only confidence, would have."""
    there = {(one.rules, one.subset) for one in found.sets} | {("", COUNTERFACTUAL_PAIRS)}
    sets = [(rules, subset) for subset in SUBSETS for rules in (PAPER_RULES, OUR_RULES)] + [
        ("", COUNTERFACTUAL_PAIRS)
    ]
    sets = [where for where in sets if where in there]
    cells = [["row", *(", ".join(filter(None, (subset, rules))) for rules, subset in sets)]]
    names = dict.fromkeys(one.row for one in found.text_only_ranks)
    at: dict[tuple[str, str, str], TextOnlyRank] = {
        (one.row, one.rules, one.subset): one for one in found.text_only_ranks
    }
    for name in names:
        found_at = (at.get((name, *where)) for where in sets)
        cells.append([name, *(f"{one.auaf:.3f} (rank {one.rank})" if one else "" for one in found_at)])
    wording = {(one.rules, one.subset): one.text_only_auroc for one in found.sets} | {
        ("", COUNTERFACTUAL_PAIRS): found.counterfactual_text_only_auroc
    }
    cells.append(["text-only AUROC", *(f"{wording[where]:.3f}" for where in sets)])
    return (
        f"AUAF of models without image or with text-only confidence, and their rank among {found.num_rows} rows:\n\n"
        + format_markdown_table(cells)
    )


def row_table(found: ValidityResults) -> str:
    """Render the AUAF of all ranked rows, the best on counterfactual pairs first."""
    order = sorted(found.auaf, key=lambda row: -found.auaf[row][COUNTERFACTUAL_PAIRS])
    columns = [COUNTERFACTUAL_PAIRS, *(name for name in found.auaf[order[0]] if name != COUNTERFACTUAL_PAIRS)]
    cells = [["row", *columns]]
    cells += [[row, *(f"{found.auaf[row][name]:.3f}" for name in columns)] for row in order]
    return "AUAF, means over seeds:\n\n" + format_markdown_table(cells)


def _format_agreement(one: RankAgreement) -> list[str]:
    return [
        _format_with_interval(one.tau, one.tau_interval),
        _format_with_interval(one.pearson, one.pearson_interval),
    ]


def _format_with_interval(value: OptionalFloat, interval: OptionalInterval, sign: str = "") -> str:
    """Format a value with its interval, "-" for what is undefined."""
    shown, low, high = ("-" if one is None else f"{one:{sign}.3f}" for one in (value, *interval))
    return f"{shown} ({low} to {high})"
