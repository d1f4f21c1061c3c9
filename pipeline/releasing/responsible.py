"""What is simulated, what the limits are, and how the data came about: for the card, and for croissant.json in the words of
Croissant's vocabulary for responsible AI 1.0 (https://docs.mlcommons.org/croissant/docs/croissant-rai-spec.html)."""

from __future__ import annotations

from typing import Any

from pipeline.releasing.release_facts import ReleaseFacts

USES = (
    "Evaluation: whether a model that answers questions about pictures rejects those that have no answer, and how many of the others it "
    "still answers right.",
    "Not for training: who trains on it can no longer be measured by it.",
    "Not validated for anything else; no evidence that a model is fit for use, for instance by blind people.",
)
IMPACT = (
    "Meant to measure, and so to lessen, what models invent of pictures. A high score says that a model rejects questions like these; it "
    "does not say that it is safe, and a threshold chosen here need not hold on other pictures or for other people's questions."
)
MAINTENANCE = (
    "A published version never changes. Faults are noted by item (ERRATA.md, errata.json) and come with the next version; rgqa-score "
    "leaves them out if asked to (--without-errata)."
)


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
            "Verdicts: programs that were shown the complete truth of each picture, and that err at known rates, judged. Annotators, times "
            "and agreement are simulated with them."
        )
    edited = [s.name for s in f.subsets if s.name.startswith("pt")]
    if edited:
        told.append(f"Questions of {' and '.join(edited)}: a program edited the source's.")
    return [*told, *f.p.simulated]


def limits(f: ReleaseFacts) -> list[str]:
    """What is known to be wrong with it or missing from it, a sentence each."""
    told = list(f.warnings)
    if f.judged.wrong:
        told.append(
            f"Of the UQs {f.judged.wrong} are expected to have an answer after all, by the probabilities that decided."
        )
    if not f.judged.invalid_filters:
        told.append(
            "No filter question was known to be unanswerable: an annotator who called every question valid would have passed."
        )
    told.append(
        "AQs and their answers are the source's. Annotators saw only some of them, as filter questions."
    )
    if any(s.name.startswith("clip") for s in f.subsets):
        told.append(
            f"CLIP subsets were chosen by the score of `{f.model}`; a model that contains it has an advantage there."
        )
    if any(s.name.startswith("pt") for s in f.subsets):
        told.append(
            "Who knows the source's questions by heart can tell edited ones by their wording (`verbatim` in the table)."
        )
    resolved = ", ".join(f"{points:.3f} on {name}" for name, points in f.resolved.items())
    told.append(
        f"It has {f.pictures:,} pictures: of two models, differences in AUAF below {resolved} are likely to be missed."
    )
    told.append("Questions are English, made from templates, with one answer of a word or phrase.")
    if f.faulty:
        told.append(f"Known to be faulty (`ERRATA.md`): {f.faulty:,} of its {f.items:,} items.")
    return [*told, *f.p.limits]


def biases(f: ReleaseFacts) -> list[str]:
    """Which slice of the world it shows."""
    return [
        "What pictures show, and what is asked of them, is as frequent as in the source, with its biases.",
        "What UQs lack was chosen by programs: by CLIP's notion of likeness, and by what stands together in the source's vocabulary.",
        *f.p.biases,
    ]


def responsible(f: ReleaseFacts) -> dict[str, Any]:
    """The properties of croissant.json under `rai:` and `prov:`."""
    personal = (
        f.p.personal_information or "Nobody has looked for personal information in pictures and questions."
    )
    told = {
        **_collection(f),
        **_annotation(f),
        "rai:dataBiases": biases(f),
        "rai:dataUseCases": list(USES),
        "rai:dataLimitations": limits(f),
        "rai:dataSocialImpact": IMPACT,
        "rai:personalSensitiveInformation": [
            personal,
            "Annotators appear under pseudonyms, without names, addresses or comments.",
        ],
        "rai:dataReleaseMaintenancePlan": MAINTENANCE,
        "rai:hasSyntheticData": bool(simulated(f)),
    }
    return {name: value for name, value in told.items() if value not in ("", [])}


def _collection(f: ReleaseFacts) -> dict[str, Any]:
    """Where the data are from, and what was done to them."""
    of_subset = [f"{s.name}: {s.how} ({s.uqs:,} UQs, {s.aqs:,} AQs)" for s in f.subsets]
    who = "programs" if f.simulated else "people"
    steps = {
        "proposing": "Programs put questions to other pictures, and edited questions.",
        "annotation": f"{f.judged.annotators} {who} judged the candidates.",
        "balancing": "A program chose AQs and UQs so that text or picture alone tell little.",
    }
    return {
        "rai:dataCollection": f"{f.p.origin} Candidates for UQs were made by programs. {'; '.join(of_subset)}.",
        "rai:dataCollectionType": ["Secondary Data Analysis"] * bool(f.p.derived_from)
        + ["Software Collection" if f.simulated else "Manual Human Curator"],
        "rai:dataCollectionMissingData": "clip_score is null where a text is longer than CLIP reads, clip_rank where a question was edited, "
        "category where neither evidence nor annotators say why there is no answer.",
        "rai:dataCollectionRawData": f.p.origin,
        "rai:dataCollectionTimeframe": [day.isoformat() for day in f.p.collected or ()],
        "rai:dataImputationProtocol": "Nothing is imputed.",
        "rai:dataPreprocessingProtocol": [
            "Candidates were screened by rules; dropped.jsonl has each one that fell out, with the reason."
        ],
        "rai:dataManipulationProtocol": f"{f.pairing} Items that could not be balanced were left out.",
        "prov:wasDerivedFrom": [
            {"@type": "sc:Dataset", "name": name, "url": url} for name, url in f.p.derived_from.items()
        ],
        "prov:wasGeneratedBy": [
            {"@type": "prov:Activity", "name": name, "description": text} for name, text in steps.items()
        ],
    }


def _annotation(f: ReleaseFacts) -> dict[str, Any]:
    """Who judged the candidates, how, and how far they agree."""
    votes, demographics = f.judged.votes, f.p.annotator_demographics or "Not asked for."
    platform = "Label Studio, with a page of its own for annotators"
    if f.simulated:
        platform, demographics = "none", "None: the annotators are programs."
    return {
        "rai:dataAnnotationProtocol": "Of each candidate annotators said whether the question has an answer at the picture. Beside it stood a "
        "question whose verdict is known, or another candidate; who erred too often on known ones does not count. Votes are weighed by Dawid "
        f"and Skene's estimate. {simulated(f)[0] if f.simulated else ''}".strip(),
        "rai:dataAnnotationPlatform": [platform],
        "rai:dataAnnotationAnalysis": [
            f.judged.agreement,
            "quality.html has each annotator's sensitivity and specificity.",
        ],
        "rai:annotationsPerItem": f"{f.judged.mean:.2f} votes that count per UQ ({min(votes, default=0)} to {max(votes, default=0)}), none per AQ",
        "rai:annotatorDemographics": [demographics],
        "rai:machineAnnotationTools": [
            f"CLIP ({f.model}): which questions are put to which picture",
            *(["simulated annotators: the verdicts"] if f.simulated else []),
        ],
    }
