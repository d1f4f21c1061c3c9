"""State what is simulated, what the limitations are, and how the data were collected.

The dataset card shows these texts. croissant.json has the same texts in Croissant's vocabulary for
responsible AI 1.0 (https://docs.mlcommons.org/croissant/docs/croissant-rai-spec.html). Each sentence states
what the pipeline did, a number of the release, or a field of `release` in params.yaml. Nothing is stated that
is not known.
"""

from __future__ import annotations

from typing import Any

from pipeline.benchmark.release.parquet_table import COLUMNS
from pipeline.benchmark.release.release_summary import ReleaseSummary
from pipeline.core.errors import format_count
from pipeline.core.rendering import Markdown, format_code_span

DAWID_SKENE = "dawid-skene"


def list_simulated_parts(f: ReleaseSummary) -> list[str]:
    """Return one sentence for each part of the data that no person made or judged."""
    sentences = []
    if f.rehearsal:
        sentences.append(
            "Verdicts: programs with known error rates judged by incomplete graphs, which were reconstructed from questions and taken "
            "as complete. Annotators, times and agreement are simulated, too."
        )
    elif f.simulated:
        sentences.append(
            "Verdicts: programs with known error rates judged, with access to the complete ground truth of each image. Annotators, times and "
            "agreement are simulated, too."
        )
    elif f.is_judged_by_models:
        sentences.append("Verdicts: models judged in place of people. No person has judged these questions.")
    if f.vote_counts.by_panel:
        votes = f.vote_counts
        sentences.append(
            f"Verdicts: models alone decided {votes.by_panel:,} of {format_count(votes.num_uqs, 'UQ')}. No person has judged these questions."
        )
    if edited := f.subsets_with_prefix("pt"):
        sentences.append(f"Questions of {' and '.join(edited)}: a program edited questions of the source.")
    if f.drafting_text:
        sentences.append(f"Questions of the source: {f.drafting_text}")
    return [*sentences, *f.params.simulated_content]


def list_limitations(f: ReleaseSummary) -> list[str]:
    """Return one sentence for each known limitation."""
    sentences = list(f.warnings)
    if f.vote_counts.label_error_text:
        sentences.append(f"Label error among the UQs that votes decided: {f.vote_counts.label_error_text}.")
    if f.panel:
        sentences.append(
            f"Models judged candidates: {', '.join(f.panel.models)}. Where they err, the selection of the items depends on it, so their own scores on this "
            "release are not independent of the selection. Leaderboards mark them."
        )
        if f.panel.warning:
            sentences.append(f"Panel of models: {f.panel.warning}.")
    if not f.vote_counts.invalid_gold_answers:
        sentences.append(
            "No gold question was known to be unanswerable: an annotator who called every question valid would have passed quality control."
        )
    if f.has_drafted_questions:
        sentences.append(
            "The answers of AQs that a model drafted are the model's. Annotators judged whether such a question has an answer, not which."
        )
    else:
        sentences.append(
            "AQs and their answers come from the source. Annotators saw only those that served as gold questions."
        )
    if f.unjudged:
        sentences.append(
            f"No annotator confirmed that {sum(f.unjudged.values()):,} of the AQs have an answer: only a model says so."
        )
    sentences.append("Each AQ has exactly one right answer, that of the source.")
    if f.subsets_with_prefix("clip"):
        sentences.append(
            Markdown(
                f"CLIP subsets were chosen by the score of {format_code_span(f.clip_model)}; a model that contains this CLIP model may have an advantage there."
            )
        )
    if f.uses_sample_clip:
        sentences.append(
            "The CLIP model is that of the RGQA sample (embed.allow_sample_clip). It knows only the sample's synthetic world, so its scores of these images mean "
            "little: the CLIP subsets are hardly better than a random selection, and CLIP-Hard is not known to be harder than CLIP-Easy."
        )
    if f.subsets_with_prefix("pt"):
        sentences.append(
            'A model that has memorized the questions of the source can recognize edited questions (classifier "verbatim count" in the audit).'
        )
    if resolved := ", ".join(
        f"{points:.3f} on {name}" for name, points in f.min_detectable_difference.items()
    ):
        sentences.append(
            f"With {format_count(f.images, 'image')}, AUAF differences between two models below {resolved} are likely to be missed."
        )
    if f.num_faulty_items:
        sentences.append(
            f"Known to be faulty (ERRATA.md): {f.num_faulty_items:,} of {format_count(f.items, 'item')}."
        )
    return [*sentences, *f.params.limitations]


def list_biases(f: ReleaseSummary) -> list[str]:
    """Return one sentence for each known bias."""
    by = ["by the similarity scores of CLIP (CLIP subsets)"] if f.subsets_with_prefix("clip") else []
    by += (
        ["by co-occurrence in the vocabulary of the source (PT subsets)"]
        if f.subsets_with_prefix("pt")
        else []
    )
    chosen = [f"Programs chose what the images of UQs lack: {', '.join(by)}."] if by else []
    return [
        "Images and questions were selected from the source and share its biases.",
        *chosen,
        *f.params.biases,
    ]


def make_responsible_ai_fields(f: ReleaseSummary) -> dict[str, Any]:
    """Return the properties `rai:` and `prov:` of croissant.json. Properties without a value are left out."""
    fields = {
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
    return {name: value for name, value in fields.items() if value not in ("", [])}


def _describe_collection(f: ReleaseSummary) -> dict[str, Any]:
    """Return the properties about the collection and processing of the data."""
    of_subset = [f"{s.name}: {s.description} ({s.uqs:,} UQs, {s.aqs:,} AQs)" for s in f.subsets]
    who = "programs" if f.simulated else "people"
    made = ["asked questions about other images"] * bool(f.subsets_with_prefix("clip")) + [
        "edited questions"
    ] * bool(f.subsets_with_prefix("pt"))
    steps = {
        **({"proposing": f"Programs {' and '.join(made)}."} if made else {}),
        "annotation": f"{f.vote_counts.annotators} {who} judged the candidates.",
        "balancing": "A program chose which AQs and UQs were kept.",
    }
    nulls = [f"{column.name}: {column.description}" for column in COLUMNS if "null" in column.description]
    return {
        "rai:dataCollection": f"{f.params.data_source} Programs made the candidates for UQs. {'; '.join(of_subset)}.",
        "rai:dataCollectionType": ["Secondary Data Analysis"] * bool(f.params.derived_from)
        + ["Software Collection" if f.simulated else "Manual Human Curator"],
        "rai:dataCollectionMissingData": "; ".join(nulls) + ".",
        "rai:dataCollectionRawData": f.params.data_source,
        "rai:dataCollectionTimeframe": [day.isoformat() for day in f.params.annotation_dates or ()],
        "rai:dataImputationProtocol": "Nothing is imputed.",
        "rai:dataPreprocessingProtocol": [
            *([f.wording_text] if f.wording_text else []),
            "Rules screened the candidates. dropped.jsonl contains each dropped candidate with the reason.",
        ],
        "rai:dataManipulationProtocol": f"{f.pairing_text} Items that could not be balanced were excluded.".strip(),
        "prov:wasDerivedFrom": [
            {"@type": "sc:Dataset", "name": name, "url": url}
            for name, url in (f.params.derived_from or {}).items()
        ],
        "prov:wasGeneratedBy": [
            {"@type": "prov:Activity", "name": name, "description": text} for name, text in steps.items()
        ],
    }


def _describe_annotation(f: ReleaseSummary) -> dict[str, Any]:
    """Return the properties about the annotation: who judged the candidates, how, and how they agreed."""
    votes = f.vote_counts.uqs_by_votes
    rule = (
        f"A candidate's label follows the rule {f.vote_counts.aggregation_rule}."
        if f.vote_counts.aggregation_rule
        else ""
    )
    if f.vote_counts.aggregation_rule == DAWID_SKENE:
        rule = "Votes are aggregated with the model of Dawid and Skene, extended by error rates from gold questions, hard questions, and trust in annotators."
    protocol = [
        "Annotators stated for each candidate whether the question has an answer in the image. Each task also contained a gold "
        "question with a known verdict, or another candidate. Annotators who failed too many gold questions were excluded.",
        *([rule] if rule else []),
        *(list_simulated_parts(f)[:1] if f.simulated or f.is_judged_by_models else []),
    ]
    demographics = f.params.annotator_demographics
    if f.simulated:
        demographics = "None: the annotators are programs."
    return {
        "rai:dataAnnotationProtocol": " ".join(protocol),
        "rai:dataAnnotationPlatform": ["none" if f.simulated else "Label Studio"],
        "rai:dataAnnotationAnalysis": [
            f.vote_counts.agreement_text,
            "quality.html has the sensitivity and specificity of each annotator.",
        ],
        "rai:annotationsPerItem": f"{f.vote_counts.mean_votes:.2f} counted votes per UQ ({min(votes, default=0)} to {max(votes, default=0)}), none per AQ",
        "rai:annotatorDemographics": [demographics] if demographics else [],
        "rai:machineAnnotationTools": [
            *(
                [f"CLIP ({f.clip_model}): selection of the questions that are asked about each image"]
                if f.subsets_with_prefix("clip")
                else []
            ),
            *(["simulated annotators: the verdicts"] if f.simulated else []),
            *(["models: the verdicts"] if f.is_judged_by_models else []),
            *([f"{', '.join(f.panel.models)}: {f.panel_text}"] if f.panel else []),
        ],
    }
