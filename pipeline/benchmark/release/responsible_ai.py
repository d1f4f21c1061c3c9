"""What is simulated, what the limits are, and how the data came about: for the card, and for croissant.json in the words of
Croissant's vocabulary for responsible AI 1.0 (https://docs.mlcommons.org/croissant/docs/croissant-rai-spec.html).

Each sentence states what the pipeline did to these data, a figure of theirs, or what a field of `release` in params.yaml
says. What nobody stated is left out.
"""

from __future__ import annotations

from typing import Any

from pipeline.benchmark.release.parquet_table import COLUMNS
from pipeline.benchmark.release.release_summary import ReleaseSummary
from pipeline.core.errors import format_count
from pipeline.core.rendering import Markdown, format_code_span

DAWID_SKENE = "dawid-skene"


def list_simulated_parts(f: ReleaseSummary) -> list[str]:
    """What no person made or judged, a sentence each."""
    told = []
    if f.rehearsal:
        told.append(
            "Verdicts: programs that err at known rates judged by incomplete graphs, put together from questions and taken as complete. "
            "Annotators, times and agreement are simulated with them."
        )
    elif f.simulated:
        told.append(
            "Verdicts: programs that were shown the complete truth of each image, and that err at known rates, judged. Annotators, times "
            "and agreement are simulated with them."
        )
    if edited := f.subsets_with_prefix("pt"):
        told.append(f"Questions of {' and '.join(edited)}: a program edited the source's.")
    return [*told, *f.params.simulated_content]


def list_limitations(f: ReleaseSummary) -> list[str]:
    """What is known to be wrong with it or missing from it, a sentence each."""
    told = list(f.warnings)
    if f.vote_counts.label_error_text:
        told.append(
            f"Expected label error among the UQs, by the probabilities that decided: {f.vote_counts.label_error_text}."
        )
    if not f.vote_counts.invalid_gold_answers:
        told.append(
            "No filter question was known to be unanswerable: an annotator who called every question valid would have passed."
        )
    told.append(
        "AQs and their answers are the source's. Annotators saw only those that served as filter questions."
    )
    told.append("An AQ has exactly one right answer, the source's.")
    if f.subsets_with_prefix("clip"):
        told.append(
            Markdown(
                f"CLIP subsets were chosen by the score of {format_code_span(f.clip_model)}; a model that contains it may have an advantage there."
            )
        )
    if f.subsets_with_prefix("pt"):
        told.append(
            "A model that knows the source's questions by heart can recognise edited ones by their wording (verbatim in the table of the audit)."
        )
    if resolved := ", ".join(
        f"{points:.3f} on {name}" for name, points in f.min_detectable_difference.items()
    ):
        told.append(
            f"It has {format_count(f.images, 'image')}: differences in AUAF between two models below {resolved} are likely to be missed."
        )
    if f.num_faulty_items:
        told.append(
            f"Known to be faulty (ERRATA.md): {f.num_faulty_items:,} of its {format_count(f.items, 'item')}."
        )
    return [*told, *f.params.limitations]


def list_biases(f: ReleaseSummary) -> list[str]:
    """Which slice of the world it shows."""
    by = ["by CLIP's notion of similarity (CLIP subsets)"] if f.subsets_with_prefix("clip") else []
    by += (
        ["by what occurs together in the source's vocabulary (PT subsets)"]
        if f.subsets_with_prefix("pt")
        else []
    )
    chosen = [f"What UQs lack was chosen by programs: {', '.join(by)}."] if by else []
    return [
        "Images and questions are a selection from the source and share its biases.",
        *chosen,
        *f.params.biases,
    ]


def make_responsible_ai_fields(f: ReleaseSummary) -> dict[str, Any]:
    """The properties of croissant.json under `rai:` and `prov:`; those of which nothing is stated are left out."""
    told = {
        **_describe_collection(f),
        **_describe_annotation(f),
        "rai:dataBiases": list_biases(f),
        "rai:dataUseCases": list(f.params.intended_uses),
        "rai:dataLimitations": [*map(str, list_limitations(f))],
        "rai:dataSocialImpact": f.params.social_impact,
        "rai:personalSensitiveInformation": [
            *([f.params.personal_information] if f.params.personal_information else []),
            "Annotators appear under pseudonyms, without names, addresses or comments.",
        ],
        "rai:dataReleaseMaintenancePlan": f.params.maintenance,
        "rai:hasSyntheticData": bool(list_simulated_parts(f)),
    }
    return {name: value for name, value in told.items() if value not in ("", [])}


def _describe_collection(f: ReleaseSummary) -> dict[str, Any]:
    """Where the data are from, and what was done to them."""
    of_subset = [f"{s.name}: {s.description} ({s.uqs:,} UQs, {s.aqs:,} AQs)" for s in f.subsets]
    who = "programs" if f.simulated else "people"
    made = ["put questions to other images"] * bool(f.subsets_with_prefix("clip")) + [
        "edited questions"
    ] * bool(f.subsets_with_prefix("pt"))
    steps = {
        **({"proposing": f"Programs {' and '.join(made)}."} if made else {}),
        "annotation": f"{f.vote_counts.annotators} {who} judged the candidates.",
        "balancing": "A program chose which AQs and UQs stay.",
    }
    nulls = [f"{column.name}: {column.description}" for column in COLUMNS if "null" in column.description]
    return {
        "rai:dataCollection": f"{f.params.data_source} Candidates for UQs were made by programs. {'; '.join(of_subset)}.",
        "rai:dataCollectionType": ["Secondary Data Analysis"] * bool(f.params.derived_from)
        + ["Software Collection" if f.simulated else "Manual Human Curator"],
        "rai:dataCollectionMissingData": "; ".join(nulls) + ".",
        "rai:dataCollectionRawData": f.params.data_source,
        "rai:dataCollectionTimeframe": [day.isoformat() for day in f.params.annotation_dates or ()],
        "rai:dataImputationProtocol": "Nothing is imputed.",
        "rai:dataPreprocessingProtocol": [
            "Candidates were screened by rules; dropped.jsonl has each one that was dropped, with the reason."
        ],
        "rai:dataManipulationProtocol": f"{f.pairing_text} Items that could not be balanced were left out.".strip(),
        "prov:wasDerivedFrom": [
            {"@type": "sc:Dataset", "name": name, "url": url}
            for name, url in (f.params.derived_from or {}).items()
        ],
        "prov:wasGeneratedBy": [
            {"@type": "prov:Activity", "name": name, "description": text} for name, text in steps.items()
        ],
    }


def _describe_annotation(f: ReleaseSummary) -> dict[str, Any]:
    """Who judged the candidates, how, and how far they agree."""
    votes = f.vote_counts.uqs_by_votes
    rule = (
        f"A candidate's label follows the rule {f.vote_counts.aggregation_rule}."
        if f.vote_counts.aggregation_rule
        else ""
    )
    if f.vote_counts.aggregation_rule == DAWID_SKENE:
        rule = "Votes are weighted by Dawid and Skene's estimate."
    protocol = [
        "Of each candidate annotators said whether the question has an answer at the image. Beside it stood a question whose "
        "verdict is known, or another candidate. Annotators who erred too often on known ones do not count.",
        *([rule] if rule else []),
        *(list_simulated_parts(f)[:1] if f.simulated else []),
    ]
    demographics = f.params.annotator_demographics
    if f.simulated:
        demographics = "None: the annotators are programs."
    return {
        "rai:dataAnnotationProtocol": " ".join(protocol),
        "rai:dataAnnotationPlatform": ["none" if f.simulated else "Label Studio"],
        "rai:dataAnnotationAnalysis": [
            f.vote_counts.agreement_text,
            "quality.html has each annotator's sensitivity and specificity.",
        ],
        "rai:annotationsPerItem": f"{f.vote_counts.mean_votes:.2f} votes that count per UQ ({min(votes, default=0)} to {max(votes, default=0)}), none per AQ",
        "rai:annotatorDemographics": [demographics] if demographics else [],
        "rai:machineAnnotationTools": [
            *(
                [f"CLIP ({f.clip_model}): which questions are put to which image"]
                if f.subsets_with_prefix("clip")
                else []
            ),
            *(["simulated annotators: the verdicts"] if f.simulated else []),
        ],
    }
