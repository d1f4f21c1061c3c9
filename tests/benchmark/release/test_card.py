"""The card of a release, its image, the summary and the answers on responsible AI."""

import html
import io
import re
import shlex
import shutil
from datetime import date
from pathlib import Path

import datasets
import pyarrow.parquet
import pytest
import yaml
from huggingface_hub import DatasetCard
from markdown_it import MarkdownIt
from msgspec.structs import replace
from PIL import Image

from annotation.study.panel_priors import PanelReport, PanelVoter
from pipeline.benchmark.release.card import render_card, render_card_metadata
from pipeline.benchmark.release.card_image import GAP, PANEL_HEIGHT, PANEL_WIDTH, draw_card_image
from pipeline.benchmark.release.release_summary import (
    VoteCounts,
    compute_mean_words,
    count_items,
    count_subset,
)
from pipeline.benchmark.release.responsible_ai import (
    list_biases,
    list_limitations,
    list_simulated_parts,
    make_responsible_ai_fields,
)
from pipeline.core.records import Item
from pipeline.core.release_params import Licence
from pipeline.inference.argument_parser import make_parser
from pipeline.scoring.cli import main as score
from tests.benchmark.release.card_facts import VOTES, P, facts, tables

# Card


def find_code_blocks(text, language):
    """Return the code blocks of a card in one language."""
    return [block.split("```")[0] for block in text.split(f"```{language}\n")[1:]]


@pytest.fixture
def text_of(tmp_path):
    """Return a function that renders the card of some items with changed facts."""

    def text(items, **changed):
        return render_card(facts(items, **changed), tables(tmp_path, items))

    return text


def test_the_card_states_simulated_verdicts_and_warnings(items, text_of):
    text = text_of(items, warnings=("clip-hard: too easy",))
    assert "verdicts of this release are simulated" in text and "## What is simulated" in text
    assert "> **Warning.** clip-hard: too easy" in text
    assert (
        "| `clip-hard` | questions of other images, among the most similar to the image by CLIP | 4 | 4 | 4 | 2 |"
        in text
    )
    people = text_of([i for i in items if not i.simulated])
    assert "verdicts of this release are simulated" not in people and "## What is simulated" not in people


def test_the_card_names_the_clip_model_or_says_that_there_is_none_or_that_it_is_the_samples(items, text_of):
    assert "The CLIP model was `m`" in text_of(items) and "RGQA sample" not in text_of(items)
    assert "No CLIP model was used" in text_of(items, clip_model="", clip_weights_sha256="")
    assert "The CLIP model is that of the RGQA sample" in text_of(items, uses_sample_clip=True)


def test_the_card_says_that_questions_were_reworded(items, text_of):
    assert "Templates reworded 9 of 10." in text_of(items, wording_text="Templates reworded 9 of 10.")
    assert "reworded" not in text_of(items)


def test_it_starts_with_an_image_and_how_to_use_the_release(items, text_of):
    text = text_of(items)
    assert (
        text.index("](card.png)")
        < text.index("## How to use")
        < text.index("## How to cite")
        < text.index("## Subsets")
    )


def test_the_cards_code_adds_images_that_are_not_in_the_release(items, text_of, tmp_path, monkeypatch):
    text = text_of(items, params=replace(P, include_images=False, image_instructions="Ask for them."))
    assert "The images are not in this release. Ask for them." in text and "- images: none" in text
    (tmp_path / "README.md").write_text(text)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    for name, colour in (("a.jpg", (255, 0, 0)), ("b.png", (0, 0, 255))):
        (tmp_path.parent / "images").mkdir(exist_ok=True)
        Image.new("RGB", (4, 4), colour).save(tmp_path.parent / "images" / name)
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec("\n".join(find_code_blocks(text, "python")), names)
    for rows in names["subset"].values():
        assert len(rows)
        for row in rows:
            red, _, blue = row["image"].convert("RGB").getpixel((1, 1))
            assert (red > blue) == (row["image_id"] == "a")
    assert "Ask for them." not in text_of(items, params=replace(P, image_instructions="Ask for them."))


def test_the_cards_code_makes_predictions_that_its_commands_score(release, tmp_path, monkeypatch, capsys):
    copy = shutil.copytree(release, tmp_path / "release")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.chdir(copy)
    text = (copy / "README.md").read_text()
    for code in find_code_blocks(text, "python"):
        exec(code, {})
    commands = [
        line
        for block in find_code_blocks(text, "sh")
        for line in block.splitlines()
        if line.startswith("rgqa-score") and "runs" not in line
    ]
    assert len(commands) == 2
    for command in commands:
        score(shlex.split(command)[1:])
        assert "AUAF" in capsys.readouterr().out


@pytest.mark.parametrize(("include_images", "images"), [(True, None), (False, Path("../images"))])
def test_the_cards_commands_to_run_a_model_are_valid(items, text_of, include_images, images):
    text = text_of(items, params=replace(P, include_images=include_images))
    commands = [line for line in text.splitlines() if line.startswith("rgqa-run ")]
    assert len(commands) == 2
    for command in commands:
        options = make_parser().parse_args(shlex.split(command)[1:])
        # Nothing is written into the folder of the release.
        assert (options.release, options.out.parent) == (Path("."), Path("../runs"))
        assert options.images == images


def test_the_card_has_the_bibtex_of_the_paper_and_of_the_release(items, text_of):
    params = replace(P, creators=("Ada & Co", "B"), url="https://example.org/tiny")
    (code,) = find_code_blocks(text_of(items, params=params), "bibtex")
    entry, paper = code.split("\n\n")
    assert (
        entry
        == """\
@misc{rgqa-tiny-1.0.0,
  title = {{Tiny}},
  author = {{Ada \\& Co} and {B}},
  year = {2026},
  month = {1},
  version = {1.0.0},
  note = {The verdicts are simulated},
  url = {https://example.org/tiny}
}"""
    )
    assert paper.startswith("@inproceedings{zhang2023rgqa,") and "year = {2023}" in paper
    people = [replace(item, simulated=False) for item in items]
    assert not re.search("author = {{|note = |url = {https://example", text_of(people))


def test_a_rehearsal_has_no_citation_of_its_own(items, text_of):
    (code,) = find_code_blocks(text_of([replace(item, rehearsal=True) for item in items]), "bibtex")
    assert "@misc" not in code and "@inproceedings" in code


def test_the_table_of_columns_agrees_with_the_schema(release):
    text = (release / "README.md").read_text()
    rows = text.split("| column | type | description |")[1].split("\n\n")[0].splitlines()[2:]
    columns = {row.split("|")[1].strip(" `"): row.split("|")[2].strip() for row in rows}
    schema = pyarrow.parquet.read_schema(next((release / "data").glob("*.parquet")))
    assert list(columns) == schema.names
    assert "source_question_id" in columns and "question_id" not in columns
    expected = {field.name: str(field.type) for field in schema if field.name not in ("edits", "image")}
    types = {name: kind.replace("float64", "double") for name, kind in columns.items() if name in expected}
    assert types == expected


ODD = "# A <b>*T*</b> | `x` [y](z) --- &amp;"


def test_texts_of_the_parameters_are_escaped(items, text_of):
    p = replace(
        P, title=ODD, data_source=ODD, limitations=(ODD,), simulated_content=(ODD,), intended_uses=(ODD,), social_impact=ODD,
        licence_overrides={"images": Licence(name="a](b) <i>", url="https://x.org/a)<b>")},
    )  # fmt: skip
    text = text_of(items, params=p, clip_model="a`b")
    body = text.split("\n---\n", 1)[1]
    shown = MarkdownIt("gfm-like", {"linkify": False}).render(body)
    plain = html.unescape(re.sub("<[^>]+>", "", shown.replace("\n", " ")))
    assert plain.count(ODD) == 6
    assert "<b>" not in shown and "<i>" not in shown and 'href="z"' not in shown and 'href="b"' not in shown
    assert yaml.safe_load(text.split("---\n")[1])["pretty_name"] == f"{ODD} 1.0.0"
    assert "<code>a`b</code>" in shown


def test_the_card_states_nothing_that_the_parameters_do_not_state(items, text_of):
    bare = replace(P, licence_overrides={}, include_images=True)
    people = [replace(item, simulated=False) for item in items]
    text = text_of(people, params=bare)
    assert not re.search("English|template|crowdsourced|original|language:|For evaluation only", text)
    assert "- images: The licence of the images is not stated." in text
    only_test = [replace(item, split="test") for item in items]
    assert "`clip-hard` has only the split `test`." in text_of(only_test) and "`validation`" not in text_of(
        only_test
    )


def test_a_rehearsal_is_marked_at_the_top(items, text_of):
    text = text_of([replace(item, rehearsal=True) for item in items])
    assert "THIS IS A REHEARSAL, NOT A BENCHMARK" in text and "# REHEARSAL of Tiny 1.0.0" in text


def test_the_card_states_the_votes_behind_the_uqs(items, text_of):
    text = text_of(items)  # (2 * 1 + 5 * 2 + 13 * 3) / 20 = 2.55
    assert (
        "8 annotators, 1 of them excluded (entirely, or from some task on); 2.55 counted votes per UQ; 2 UQs rest on a single vote"
        in text
    )
    assert "7 were decided by an adjudicator" in text
    assert "| 1 | 2 |\n| 2 | 5 |\n| 3 | 13 |" in text and "Alpha is high." in text
    assert "A trial" not in text and "Label error" not in text


@pytest.mark.parametrize("doubts", [(), ("one person *alone* voted", "the label error is not known")])
def test_a_trial_is_marked_with_its_reasons(items, text_of, doubts):
    vote_counts = VoteCounts(
        annotators=3,
        excluded=0,
        uqs_by_votes={2: 9},
        agreement_text="",
        label_error_text="0.10% (at most 0.20%)",
        doubts=doubts,
    )
    text = text_of(items, vote_counts=vote_counts)
    assert ("> **A trial.**" in text) is bool(doubts)
    assert ("\n> - one person \\*alone\\* voted.\n> - the label error is not known.\n" in text) is bool(
        doubts
    )
    assert "Label error among the UQs that votes decided: 0.10% (at most 0.20%)" in text


def test_difficulties_are_counted_if_they_are_known(items, text_of):
    assert "UQs by difficulty" not in text_of(items)
    known = [replace(item, difficulty="popular" if item.unanswerable else None) for item in items]
    assert "| `clip-hard` | 0 | 4 | 0 |" in text_of(known)


def test_the_card_lists_every_file_of_a_release(release):
    text = (release / "README.md").read_text()
    for path in release.iterdir():
        assert (
            f"`{path.name}" in text
            or f"({path.name})" in text
            or path.name == "README.md"
            or (
                path.name in ("harness", "scorers", "rgqa", "data", "reference_predictions")
                and path.name in text
            )
        ), path
    assert Path(release / "card.png").stat().st_size > 1000


def read_metadata(items, home, **changed):
    return DatasetCard(
        f"---\n{render_card_metadata(facts(items, **changed), tables(home, items))}\n---\n"
    ).data.to_dict()


def test_the_hub_reads_the_metadata(items, tmp_path):
    data = read_metadata(items, tmp_path)
    assert data["pretty_name"] == "Tiny 1.0.0" and "language" not in data
    assert data["tags"] == ["unanswerable questions", "simulated annotation"]
    assert data["task_categories"] == ["visual-question-answering"]
    assert data["license"] == "cc-by-4.0" and "source_datasets" not in data
    assert data["annotations_creators"] == ["machine-generated"]
    files = [{"split": split, "path": f"data/clip-hard-{split}.parquet"} for split in ("validation", "test")]
    everything = [file | {"path": [file["path"]]} for file in files]
    assert data["configs"] == [
        {"config_name": "all", "default": True, "data_files": everything},
        {"config_name": "clip-hard", "data_files": files},
    ]
    info = data["dataset_info"]
    assert info["config_name"] == "clip-hard"
    assert {row["name"]: row["num_examples"] for row in info["splits"]} == {"validation": 4, "test": 4}
    assert info["download_size"] == sum(path.stat().st_size for path in (tmp_path / "data").iterdir())


def test_the_metadata_states_annotators_and_source_data_sets(items, tmp_path):
    people = [replace(item, simulated=False) for item in items]
    data = read_metadata(
        people, tmp_path, params=replace(P, annotated_by="expert-generated", derived_from={"GQA": "u"})
    )
    assert (data["annotations_creators"], data["source_datasets"]) == (["expert-generated"], ["extended|gqa"])
    assert data["tags"] == ["unanswerable questions"]
    stated = read_metadata(people, tmp_path, params=replace(P, languages=("de",), derived_from={}))
    assert (stated["language"], stated["source_datasets"]) == (["de"], ["original"])
    assert "annotations_creators" not in stated


@pytest.mark.parametrize(
    ("rows", "size"), [(1, "n<1K"), (125, "1K<n<10K"), (1249, "1K<n<10K"), (1250, "10K<n<100K")]
)
def test_the_size_category_is_one_of_the_hub(items, tmp_path, rows, size):
    # There are 8 rows, multiplied to 8, 1,000, 9,992 and 10,000.
    found = facts(items)
    more = [replace(s, uqs=s.uqs * rows, aqs=s.aqs * rows) for s in found.subsets]
    assert read_metadata(items, tmp_path, subsets=tuple(more))["size_categories"] == [size]


def test_datasets_loads_the_columns_and_counts_of_the_metadata(release, tmp_path):
    names = datasets.get_dataset_config_names(str(release))
    subsets = sorted(path.stem for path in (release / "rgqa").glob("*.json"))
    assert names == ["all", *subsets, "inspect_ai"]
    found = datasets.load_dataset(str(release), subsets[0], cache_dir=str(tmp_path))
    everything = datasets.load_dataset(str(release), cache_dir=str(tmp_path))
    for split, rows in everything.items():
        parts = [
            datasets.load_dataset(str(release), name, split=split, cache_dir=str(tmp_path))
            for name in subsets
        ]
        assert rows.num_rows == sum(part.num_rows for part in parts)
        assert set(rows["subset"]) == set(subsets)
    info = DatasetCard.load(release / "README.md").data.to_dict()["dataset_info"][0]
    assert {split: rows.num_rows for split, rows in found.items()} == {
        row["name"]: row["num_examples"] for row in info["splits"]
    }
    assert [row["name"] for row in info["features"]] == list(next(iter(found.values())).features)


# Card image


def opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


def test_the_first_uq_of_each_subset_is_shown_on_its_image(items, tmp_path):
    for name, colour in (("a", "red"), ("b", "blue")):
        Image.new("RGB", (40, 30), colour).save(tmp_path / f"{name}.png")
    images = {name: tmp_path / f"{name}.png" for name in "ab"}
    data = draw_card_image(items, images)
    assert data == draw_card_image(items, images)
    first = next(item for item in items if item.unanswerable)
    expected = {"a": (255, 0, 0), "b": (0, 0, 255)}[first.image_id]
    assert opened(data).getpixel((GAP + PANEL_WIDTH // 2, GAP + PANEL_HEIGHT // 2)) == expected
    assert opened(data).width == PANEL_WIDTH + 2 * GAP  # one subset, one panel


def test_a_uq_is_shown_beside_the_question_of_its_pair(items):
    uq = replace(
        items[0], item_id="u", unanswerable=True, pair_id="p", image_id="a", text="Where is the red cup?"
    )
    pair = replace(uq, item_id="q", unanswerable=False, answer="on the shelf", text="Where is the blue cup?")
    other = replace(pair, item_id="o", pair_id="other", text="What is this?")
    assert draw_card_image([uq, other, pair], {}) == draw_card_image([uq, pair], {})
    # An AQ of the same pair about another image, as in CLIP subsets, is not shown.
    elsewhere = replace(pair, image_id="b")
    assert draw_card_image([uq, elsewhere, other], {}) == draw_card_image([uq, other], {})


def test_missing_images_are_replaced_by_empty_panels(items):
    shown = opened(draw_card_image(items, {}))
    frame = shown.crop((GAP, GAP + 30, GAP + PANEL_WIDTH, GAP + PANEL_HEIGHT))
    assert {colour for _, colour in frame.getcolors(1 << 16)} >= {(238, 241, 244)}
    assert frame.getpixel((PANEL_WIDTH // 2, 5)) == (238, 241, 244)


# Release summary


def test_subsets_are_counted_separately(items):
    others = [replace(item, subset="pt-easy") for item in items]
    found = count_subset("clip-hard", [*items, *others[:3]])
    assert (found.uqs, found.aqs, found.distinct_uq_texts, found.images) == (4, 4, 4, 2)
    assert found.mean_words == 3  # 3, 3, 2 and 4 words


def test_items_of_several_subsets_are_one_item_but_several_rows(items):
    both = [*items, *(replace(item, subset="pt-easy") for item in items if not item.unanswerable)]
    found = count_items(both)
    assert (found["items"], found["images"]) == (8, 2) and facts(both).num_rows == 12
    assert found["tables"] == (("clip-hard", "validation"), ("clip-hard", "test"), ("pt-easy", "validation"))


def test_the_mean_length_is_in_words():
    # 5 and 2 words
    rows = [
        Item(
            item_id=str(i),
            subset="pt-hard",
            image_id="n1",
            question_id="1",
            text=text,
            unanswerable=True,
            answer="",
            pair_id="p",
            split="test",
        )
        for i, text in enumerate(("What color is the cup?", "Is it?"))
    ]
    assert compute_mean_words(rows) == 3.5


# Responsible ai


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


def test_verdicts_of_models_are_not_called_verdicts_of_people(items, text_of):
    rows = [replace(item, simulated=False) for item in items]
    alone = VoteCounts(annotators=1, excluded=0, uqs_by_votes={1: 9}, agreement_text="")
    stated = replace(P, annotated_by="machine-generated", annotator_demographics="One language model.")
    text = text_of(rows, params=stated, vote_counts=alone)
    assert "> **Models judged the questions of this release.** No person has judged them." in text
    assert "- Verdicts: models judged in place of people." in text
    assert "\n1 annotator; " in text
    assert "About the annotators: One language model." in text and " of 1 person" not in text
    fields = make_responsible_ai_fields(facts(rows, params=stated))
    assert fields["rai:machineAnnotationTools"][-1] == "models: the verdicts"
    assert "models judged in place of people" in fields["rai:dataAnnotationProtocol"]
    people = text_of(rows, params=replace(stated, annotated_by="other"), vote_counts=alone)
    assert "odels judged" not in people


def test_all_simulated_parts_are_listed(items):
    rehearsal = facts([replace(item, rehearsal=True, subset="pt-easy") for item in items])
    told = list_simulated_parts(replace(rehearsal, params=replace(P, simulated_content=("Images: drawn.",))))
    assert "incomplete graphs" in told[0] and "pt-easy" in told[1] and told[2] == "Images: drawn."
    assert "complete ground truth" in list_simulated_parts(facts(items))[0]
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


def test_the_card_says_what_a_model_drafted(items, text_of):
    text = text_of(items, drafting_text="A model drafted 9 questions (net).", has_drafted_questions=True)
    assert "> **A model wrote answerable questions.** A model drafted 9 questions (net)." in text
    graphs = text_of(items, drafting_text="A model drafted 9 scene graphs (net).")
    assert "> **A model drafted scene graphs.** A model" in graphs and "language_creators" not in graphs
    assert "questions drafted by a model" in text and "language_creators" in text
    assert "drafted" not in text_of(items) and "language_creators" not in text_of(items)


PANEL = PanelReport(
    voters=tuple(
        PanelVoter(
            model="org/vl_m",
            prompt=prompt,
            votes=90,
            sensitivity={"pt-hard": 0.9},
            specificity={"pt-hard": 0.8},
            correlation={},
        )
        for prompt in ("prompt-1", "prompt-2")
    ),
    num_audited=40,
    num_wrong=4,
    error=0.1,
    low=0.0279,
    high=0.2366,
    warning="",
)


def test_the_card_states_a_panel_and_its_error(items, text_of):
    text = text_of(items, panel=PANEL)
    assert (
        "1 model judged candidates: org/vl\\_m. The verdicts changed only how many people were asked" in text
    )
    assert "the panel differs from people on 4: 10.0% (95 % interval: 2.8% to 23.7%)" in text
    assert "decided by models" not in text
    assert any(
        "org/vl_m" in one and "Leaderboards mark them" in one
        for one in list_limitations(facts(items, panel=PANEL))
    )
    assert "judged candidates" not in text_of(items)


def test_the_card_states_that_the_error_of_a_panel_is_not_known_or_that_it_is_not_used(items, text_of):
    unknown = replace(
        PANEL, error=None, low=None, high=None, num_audited=3, warning="how often the panel errs is not known"
    )
    text = text_of(items, panel=unknown)
    assert "people alone decided 3 candidates of the audit sample, and 30 are needed" in text
    useless = text_of(items, panel=replace(PANEL, is_used=False, warning="the panel may be useless"))
    assert "The verdicts are not used" in useless
    assert "Warning: the panel may be useless." in useless


@pytest.mark.parametrize(
    ("by_panel", "title"), [(5, "(decided by models)"), (3, "(partly decided by models)")]
)
def test_the_title_says_if_models_alone_decided(items, text_of, tmp_path, by_panel, title):
    votes = replace(VOTES, uqs_by_votes={2: 5 - by_panel}, by_adjudicator=0, by_panel=by_panel)
    found = facts(items, panel=PANEL, vote_counts=votes)
    assert found.title.endswith(title)
    text = text_of(items, panel=PANEL, vote_counts=votes)
    (heading,) = [line for line in text.splitlines() if line.startswith("# ")]
    assert heading.endswith(title)
    assert ("Models alone decided the UQs" in text) == (by_panel == 5)
    assert ("Models alone decided 3 of 5 UQs" in text) == (by_panel == 3)
    people = [item for item in items if not item.simulated]
    metadata = read_metadata(people, tmp_path, panel=PANEL, vote_counts=votes)
    assert metadata["annotations_creators"][0] == "machine-generated"
    assert any(f"models alone decided {by_panel} of 5 UQs" in one for one in list_simulated_parts(found))
