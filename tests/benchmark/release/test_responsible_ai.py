from datetime import date

from msgspec.structs import replace

from pipeline.benchmark.release.responsible_ai import (
    list_biases,
    list_limitations,
    list_simulated_parts,
    make_responsible_ai_fields,
)
from tests.benchmark.release.card_facts import VOTES, P, facts

# https://docs.mlcommons.org/croissant/docs/croissant-rai-spec.html, section "Croissant RAI vocabulary", version 1.0; the last
# one is an addition for NeurIPS 2026.
VOCABULARY = {
    *("dataCollection", "dataCollectionType", "dataCollectionMissingData", "dataCollectionRawData"),
    *(
        "dataCollectionTimeframe",
        "dataImputationProtocol",
        "dataPreprocessingProtocol",
        "dataManipulationProtocol",
    ),
    *("dataAnnotationProtocol", "dataAnnotationPlatform", "dataAnnotationAnalysis", "annotationsPerItem"),
    *("annotatorDemographics", "machineAnnotationTools", "dataBiases", "dataUseCases", "dataLimitations"),
    *("dataSocialImpact", "personalSensitiveInformation", "dataReleaseMaintenancePlan", "hasSyntheticData"),
}


def test_exactly_the_properties_of_the_vocabulary_are_present(items):
    stated = {
        "intended_uses": ("x",),
        "social_impact": "y",
        "maintenance": "z",
        "annotation_dates": (date(2026, 3, 1), date(2026, 4, 9)),
    }
    told = make_responsible_ai_fields(facts(items, params=replace(P, **stated)))
    assert {name.removeprefix("rai:") for name in told if name.startswith("rai:")} == VOCABULARY
    assert told["rai:dataCollectionTimeframe"] == ["2026-03-01", "2026-04-09"]
    # (2 * 1 + 5 * 2 + 13 * 3) / 20 = 2.55
    assert told["rai:annotationsPerItem"].startswith("2.55 counted votes per UQ (1 to 3)")
    unstated = {"dataCollectionTimeframe", "dataUseCases", "dataSocialImpact", "dataReleaseMaintenancePlan"}
    assert {f"rai:{name}" for name in unstated}.isdisjoint(make_responsible_ai_fields(facts(items)))


def test_human_verdicts_are_not_called_simulated(items):
    people = facts(
        [replace(item, simulated=False) for item in items],
        params=replace(P, annotator_demographics="Twenty students.", derived_from={"GQA": "https://gqa"}),
    )
    assert list_simulated_parts(people) == []
    told = make_responsible_ai_fields(people)
    assert told["rai:hasSyntheticData"] is False and told["rai:annotatorDemographics"] == ["Twenty students."]
    assert told["prov:wasDerivedFrom"] == [{"@type": "sc:Dataset", "name": "GQA", "url": "https://gqa"}]
    assert "Label Studio" in told["rai:dataAnnotationPlatform"][0]
    assert "simulated" not in str({name: text for name, text in told.items() if "Missing" not in name})
    bare = make_responsible_ai_fields(replace(people, params=P))
    assert {"rai:annotatorDemographics", "prov:wasDerivedFrom"}.isdisjoint(bare)


def test_all_simulated_parts_are_listed(items):
    rehearsal = facts([replace(item, rehearsal=True, subset="pt-easy") for item in items])
    told = list_simulated_parts(replace(rehearsal, params=replace(P, simulated_content=("Images: drawn.",))))
    assert "incomplete graphs" in told[0] and "pt-easy" in told[1] and told[2] == "Images: drawn."
    assert "complete truth" in list_simulated_parts(facts(items))[0]
    assert make_responsible_ai_fields(facts(items))["rai:hasSyntheticData"] is True


def test_limitations_include_warnings_errata_and_parameters(items):
    told = list_limitations(
        facts(
            items,
            warnings=("too easy",),
            num_faulty_items=1,
            vote_counts=replace(VOTES, label_error_text="0.10%"),
            params=replace(P, limitations=("Kitchens alone.",), biases=("Europe.",)),
        )
    )
    text = " ".join(told)
    for part in (
        "too easy",
        "0.10%",
        "0.050 on clip-hard",
        "(ERRATA.md): 1 of 8 items",
        "Kitchens alone.",
    ):
        assert part in text
    # clip-hard has no edited questions.
    assert "memorized" not in text
    assert "Europe." in list_biases(facts(items, params=replace(P, biases=("Europe.",))))


def test_missing_invalid_gold_questions_are_a_limitation(items):
    limitation = "No gold question was known to be unanswerable"
    unchecked = facts(items, vote_counts=replace(VOTES, invalid_gold_answers=0))
    assert limitation in " ".join(list_limitations(unchecked)) and limitation not in " ".join(
        list_limitations(facts(items))
    )
