"""What is simulated, what the limits are, and how the data came about: for the card, and for croissant.json in the words of
Croissant's vocabulary for responsible AI 1.0 (https://docs.mlcommons.org/croissant/docs/croissant-rai-spec.html).

Each sentence states what the pipeline did to these data, a figure of theirs, or what a field of `release` in params.yaml
says. What nobody stated is left out.
"""

from __future__ import annotations

from typing import Any

from pipeline.benchmark.release.parquet_table import COLUMNS
from pipeline.benchmark.release.release_summary import ReleaseFacts
from pipeline.core.errors import counted
from pipeline.core.rendering import Markdown, code_span

DAWID_SKENE = "dawid-skene"


def simulated(f: ReleaseFacts) -> list[str]:
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
    if edited := f.named("pt"):
        told.append(f"Questions of {' and '.join(edited)}: a program edited the source's.")
    return [*told, *f.p.simulated]


def limits(f: ReleaseFacts) -> list[str]:
    """What is known to be wrong with it or missing from it, a sentence each."""
    told = list(f.warnings)
    if f.judged.wrong:
        told.append(
            f"Expected label error among the UQs, by the probabilities that decided: {f.judged.wrong}."
        )
    if not f.judged.invalid_filters:
        told.append(
            "No filter question was known to be unanswerable: an annotator who called every question valid would have passed."
        )
    told.append(
        "AQs and their answers are the source's. Annotators saw only those that served as filter questions."
    )
    told.append("An AQ has exactly one right answer, the source's.")
    if f.named("clip"):
        told.append(
            Markdown(
                f"CLIP subsets were chosen by the score of {code_span(f.model)}; a model that contains it may have an advantage there."
            )
        )
    if f.named("pt"):
        told.append(
            "A model that knows the source's questions by heart can recognise edited ones by their wording (verbatim in the table of the audit)."
        )
    if resolved := ", ".join(f"{points:.3f} on {name}" for name, points in f.resolved.items()):
        told.append(
            f"It has {counted(f.pictures, 'image')}: differences in AUAF between two models below {resolved} are likely to be missed."
        )
    if f.faulty:
        told.append(f"Known to be faulty (ERRATA.md): {f.faulty:,} of its {counted(f.items, 'item')}.")
    return [*told, *f.p.limits]


def biases(f: ReleaseFacts) -> list[str]:
    """Which slice of the world it shows."""
    by = ["by CLIP's notion of similarity (CLIP subsets)"] if f.named("clip") else []
    by += ["by what occurs together in the source's vocabulary (PT subsets)"] if f.named("pt") else []
    chosen = [f"What UQs lack was chosen by programs: {', '.join(by)}."] if by else []
    return [
        "Images and questions are a selection from the source and share its biases.",
        *chosen,
        *f.p.biases,
    ]


def responsible(f: ReleaseFacts) -> dict[str, Any]:
    """The properties of croissant.json under `rai:` and `prov:`; those of which nothing is stated are left out."""
    told = {
        **_collection(f),
        **_annotation(f),
        "rai:dataBiases": biases(f),
        "rai:dataUseCases": list(f.p.uses),
        "rai:dataLimitations": [*map(str, limits(f))],
        "rai:dataSocialImpact": f.p.social_impact,
        "rai:personalSensitiveInformation": [
            *([f.p.personal_information] if f.p.personal_information else []),
            "Annotators appear under pseudonyms, without names, addresses or comments.",
        ],
        "rai:dataReleaseMaintenancePlan": f.p.maintenance,
        "rai:hasSyntheticData": bool(simulated(f)),
    }
    return {name: value for name, value in told.items() if value not in ("", [])}


def _collection(f: ReleaseFacts) -> dict[str, Any]:
    """Where the data are from, and what was done to them."""
    of_subset = [f"{s.name}: {s.how} ({s.uqs:,} UQs, {s.aqs:,} AQs)" for s in f.subsets]
    who = "programs" if f.simulated else "people"
    made = ["put questions to other images"] * bool(f.named("clip")) + ["edited questions"] * bool(
        f.named("pt")
    )
    steps = {
        **({"proposing": f"Programs {' and '.join(made)}."} if made else {}),
        "annotation": f"{f.judged.annotators} {who} judged the candidates.",
        "balancing": "A program chose which AQs and UQs stay.",
    }
    nulls = [f"{column.name}: {column.meaning}" for column in COLUMNS if "null" in column.meaning]
    return {
        "rai:dataCollection": f"{f.p.origin} Candidates for UQs were made by programs. {'; '.join(of_subset)}.",
        "rai:dataCollectionType": ["Secondary Data Analysis"] * bool(f.p.derived_from)
        + ["Software Collection" if f.simulated else "Manual Human Curator"],
        "rai:dataCollectionMissingData": "; ".join(nulls) + ".",
        "rai:dataCollectionRawData": f.p.origin,
        "rai:dataCollectionTimeframe": [day.isoformat() for day in f.p.collected or ()],
        "rai:dataImputationProtocol": "Nothing is imputed.",
        "rai:dataPreprocessingProtocol": [
            "Candidates were screened by rules; dropped.jsonl has each one that was dropped, with the reason."
        ],
        "rai:dataManipulationProtocol": f"{f.pairing} Items that could not be balanced were left out.".strip(),
        "prov:wasDerivedFrom": [
            {"@type": "sc:Dataset", "name": name, "url": url}
            for name, url in (f.p.derived_from or {}).items()
        ],
        "prov:wasGeneratedBy": [
            {"@type": "prov:Activity", "name": name, "description": text} for name, text in steps.items()
        ],
    }


def _annotation(f: ReleaseFacts) -> dict[str, Any]:
    """Who judged the candidates, how, and how far they agree."""
    votes = f.judged.votes
    rule = f"A candidate's label follows the rule {f.judged.rule}." if f.judged.rule else ""
    if f.judged.rule == DAWID_SKENE:
        rule = "Votes are weighted by Dawid and Skene's estimate."
    protocol = [
        "Of each candidate annotators said whether the question has an answer at the image. Beside it stood a question whose "
        "verdict is known, or another candidate. Annotators who erred too often on known ones do not count.",
        *([rule] if rule else []),
        *(simulated(f)[:1] if f.simulated else []),
    ]
    demographics = f.p.annotator_demographics
    if f.simulated:
        demographics = "None: the annotators are programs."
    return {
        "rai:dataAnnotationProtocol": " ".join(protocol),
        "rai:dataAnnotationPlatform": ["none" if f.simulated else "Label Studio"],
        "rai:dataAnnotationAnalysis": [
            f.judged.agreement,
            "quality.html has each annotator's sensitivity and specificity.",
        ],
        "rai:annotationsPerItem": f"{f.judged.mean:.2f} votes that count per UQ ({min(votes, default=0)} to {max(votes, default=0)}), none per AQ",
        "rai:annotatorDemographics": [demographics] if demographics else [],
        "rai:machineAnnotationTools": [
            *([f"CLIP ({f.model}): which questions are put to which image"] if f.named("clip") else []),
            *(["simulated annotators: the verdicts"] if f.simulated else []),
        ],
    }
