from msgspec.structs import replace

from pipeline.benchmark.release.licences import get_licences, make_hub_licence_fields, render_licence
from pipeline.core.release_params import Licence
from tests.benchmark.release.card_facts import P

ODD = Licence(name="Terms of Somebody", url="https://somebody")


def test_each_part_has_its_licence_and_its_files():
    text = render_licence(
        "Tiny 1.0.0",
        replace(
            P, licence_overrides={**P.licence_overrides, "verdicts": Licence(name="CC0 1.0", url="zero")}
        ),
        ["pt-easy"],
    )
    questions, verdicts, images = (
        next(block for block in text.split("\n\n") if block.startswith(part))
        for part in ("Questions", "Verdicts", "Images")
    )
    assert "CC BY 4.0, u" in questions and "rgqa/" in questions and "Drawn." in questions
    assert "CC0 1.0, zero" in verdicts and "verdicts.jsonl" in verdicts
    assert "CC BY 4.0, u" in images and "card.png" in images
    # The tables for VLMEvalKit contain the images, too, and every file has a licence.
    assert "harness/vlmevalkit/" in images and "All files except those named below" in questions


def test_without_images_there_is_no_licence_of_images():
    p = replace(P, include_images=False, licence_overrides={"images": ODD})
    assert set(get_licences(p)) == {"questions", "verdicts"}
    text = render_licence("Tiny 1.0.0", p, ["pt-easy"])
    assert "grants no rights to any" in text and "Terms of Somebody" in text and "column `image`" not in text


def test_the_licence_of_the_data_does_not_apply_to_images(items):
    p = replace(P, licence_overrides={})
    text = render_licence("Tiny 1.0.0", p, ["pt-easy"])
    images = next(block for block in text.split("\n\n") if block.startswith("Images"))
    assert "The licence of the images is not stated" in images and "CC BY" not in images
    assert make_hub_licence_fields(p)["license"] == "other" and set(get_licences(p)) == {
        "questions",
        "verdicts",
    }


def test_only_actual_changes_are_stated():
    assert "about other images" not in render_licence("T", P, ["pt-easy"])
    assert "edited" not in render_licence("T", P, ["clip-easy"])
    assert "Changes" not in render_licence("T", P, ["counterfactual"])


def test_the_hub_gets_its_licence_ids():
    # as on https://huggingface.co/docs/hub/repositories-licenses
    assert make_hub_licence_fields(P) == {"license": "cc-by-4.0"}
    assert make_hub_licence_fields(
        replace(P, licence_overrides={"images": Licence(name="CC BY-NC-SA 4.0", url="n")})
    ) == {"license": ["cc-by-4.0", "cc-by-nc-sa-4.0"]}
    assert make_hub_licence_fields(replace(P, licence_overrides={"images": ODD})) == {
        "license": "other",
        "license_name": "cc-by-4.0-and-terms-of-somebody",
        "license_link": "LICENSE",
    }
