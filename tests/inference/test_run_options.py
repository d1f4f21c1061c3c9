"""Arguments and options of runs."""

import hashlib
import shutil
from pathlib import Path

import pytest

from pipeline.core.errors import UserError, no_effect_message
from pipeline.inference.argument_parser import make_parser, parse_options
from pipeline.inference.confidence_methods import CONFIDENCE_METHODS, get_confidence_method
from pipeline.inference.cost_forecast import Prices
from pipeline.inference.prompts import PROMPTS, get_prompt
from pipeline.inference.run_options import RunOptions, resolve_settings
from pipeline.scoring.benchmark_reader import fingerprint_release

from .small_server import make_release

# Run options


@pytest.fixture
def released(tmp_path):
    return make_release(tmp_path, 2)


def test_settings_identify_the_release_by_its_checksums(released):
    settings, benchmark = resolve_settings(RunOptions(released, "net"))
    sums = hashlib.sha256((released / "CHECKSUMS.sha256").read_bytes()).hexdigest()
    prompt, method = get_prompt("abstain"), get_confidence_method("abstention")
    assert settings == {
        "release": {"name": "toy", "version": "1.0.0", "sha256": sums}, "model": "net", "model_args": {},
        "prompt": {"name": "abstain", "hash": prompt.hash}, "confidence": {"name": "abstention", "hash": method.hash},
        "split": "test", "subsets": ["clip-easy", "pt-hard"], "limit": 0, "max_image_size": 1024, "images": "", "shots": 0,
        "num_replies": 1, "max_tokens": 64, "seed": 0, "no_image": False,
    }  # fmt: skip
    both = ["a0", "u0", "a1", "u1"]
    assert [[*items["id"]] for items in benchmark.subsets.values()] == [both, both]


@pytest.mark.parametrize(
    ("model", "server", "prompt", "confidence", "connections"),
    [
        ("openai/x", "", "abstain", "abstention", 10),
        ("hf/x", "", "abstain", "abstention", 0),
        ("hf-vqa/x", "", "bare", "token-probability", 0),
        ("hf-vqa/x", "http://x/v1", "abstain", "abstention", 10),
    ],
)
def test_defaults_depend_on_the_kind_of_model(model, server, prompt, confidence, connections):
    chosen = RunOptions(Path("r"), model, server).with_defaults
    assert (chosen.prompt, chosen.confidence, chosen.max_connections) == (prompt, confidence, connections)
    mine = RunOptions(
        Path("r"),
        model,
        server,
        prompt="short-answer",
        confidence="verbalized",
        max_connections=3,
        max_tokens=9,
    )
    assert mine.with_defaults == mine


def test_a_prompt_that_asks_for_a_sentence_allows_longer_replies(released):
    of = {
        name: resolve_settings(RunOptions(released, "net", prompt=name))[0]["max_tokens"]
        for name in ("abstain", "explain")
    }
    assert of == {"abstain": 64, "explain": 256}
    assert (
        resolve_settings(RunOptions(released, "net", prompt="explain", max_tokens=64))[0]["max_tokens"] == 64
    )


def test_options_that_do_not_change_answers_are_no_settings(released):
    first, _ = resolve_settings(RunOptions(released, "net"))
    second, _ = resolve_settings(
        RunOptions(released, "net", server="http://x/v1", max_connections=3, yes=True)
    )
    assert first == second


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"prompt": "ask-first"},
        {"limit": 3},
        {"no_image": True},
        {"max_image_size": 0},
        {"shots": 2},
    ],
)
def test_options_that_change_answers_are_settings(change, released):
    assert (
        resolve_settings(RunOptions(released, "net"))[0]
        != resolve_settings(RunOptions(released, "net", **change))[0]
    )


def test_all_incompatible_options_are_listed(released):
    with pytest.raises(UserError) as error:
        resolve_settings(
            RunOptions(
                released / "none", "hf-vqa/x", prompt="short-answer", confidence="verbalized", num_replies=4
            )
        )
    assert error.value.problems == [
        no_effect_message("--num-replies", "--confidence verbalized asks once; it is for self-consistency"),
        "--model hf-vqa/x gives one answer to one question: use --prompt bare with --confidence token-probability or abstention",
        f"{released / 'none'}: no such folder; wanted the folder of a release",
    ]


@pytest.mark.parametrize(
    ("change", "option"),
    [
        ({"no_image": True, "max_image_size": 512}, "--max-image-size "),
        ({"no_image": True, "images": Path("p")}, "--images "),
        ({"model": "hf-vqa/x", "max_tokens": 99}, "--max-tokens "),
        ({"model": "hf-vlm/x", "prices": Prices(1.0)}, "--input-price, --output-price "),
    ],
)
def test_an_option_without_effect_is_rejected(released, change, option):
    with pytest.raises(UserError) as error:
        resolve_settings(RunOptions(released, "net")._replace(**change))
    (problem,) = error.value.problems
    assert problem.startswith(f"{option}has no effect: ")


def test_a_model_that_takes_no_images_needs_no_image(released):
    with pytest.raises(UserError, match="hf-vlm/x"):
        resolve_settings(RunOptions(released, "hf/x"))
    resolve_settings(RunOptions(released, "hf/x", no_image=True))


@pytest.mark.parametrize("place", ["", "runs/net", "data"])
def test_a_run_inside_the_release_is_rejected(released, place):
    with pytest.raises(UserError, match="--out .*(release|replace)"):
        resolve_settings(RunOptions(released, "net", out=released / place))


def test_a_release_has_the_same_name_in_any_folder(released, tmp_path):
    moved = shutil.copytree(released, tmp_path / "elsewhere" / "1.0.0")
    for folder in (released, moved):
        (folder / "params.json").write_text('{"version": "1.0.0", "dataset": "toy"}')
    assert resolve_settings(RunOptions(moved, "net"))[0] == resolve_settings(RunOptions(released, "net"))[0]


def test_the_name_of_the_folder_fits_a_file_system():
    assert len(RunOptions(Path(), "m" * 300).output_folder.name) <= 255


def test_the_number_of_replies_is_a_setting_of_self_consistency(released):
    options = RunOptions(released, "net", confidence="self-consistency")
    assert resolve_settings(options)[0] != resolve_settings(options._replace(num_replies=4))[0]


def test_changed_files_of_a_release_are_listed(released):
    (released / "rgqa/pt-hard.json").write_text("[]")
    (released / "rgqa/clip-easy.json").unlink()
    with pytest.raises(UserError) as error:
        fingerprint_release(released)
    assert error.value.problems[1:] == [
        "rgqa/clip-easy.json: missing",
        "rgqa/pt-hard.json: its bytes have changed",
    ]


def test_a_folder_that_is_no_release_is_rejected(tmp_path, released):
    (released / "CHECKSUMS.sha256").unlink()
    with pytest.raises(UserError, match="no CHECKSUMS.sha256 in it"):
        resolve_settings(RunOptions(released, "net"))
    with pytest.raises(UserError, match="nowhere: no such folder"):
        resolve_settings(RunOptions(Path("nowhere"), "net"))


def test_the_folder_is_named_by_model_prompt_and_confidence_method():
    options = RunOptions(Path("r"), "openai/gpt-4o: x", confidence="p_true")
    assert options.output_folder == Path("runs/openai-gpt-4o--x-abstain-p-true")
    assert options._replace(no_image=True).output_folder == Path(
        "runs/openai-gpt-4o--x-abstain-p-true-no-image"
    )
    assert options._replace(out=Path("mine")).output_folder == Path("mine")


@pytest.mark.parametrize(
    ("model", "server", "remote"),
    [("hf/x", "", False), ("hf-vqa/x", "", False), ("openai/x", "", True), ("hf/x", "http://x/v1", True)],
)
def test_a_model_is_remote_unless_it_runs_here(model, server, remote):
    assert RunOptions(Path("r"), model, server).is_remote is remote


# Argument parser


def options(*words):
    return parse_options(make_parser().parse_args(["release", "--model", "net", *words]))


def test_missing_options_have_the_defaults_of_a_run():
    assert options() == RunOptions(Path("release"), "net")


@pytest.mark.parametrize("address", ["http://[::1", "http://h:99999", "http://h?key=sk", "http://h#a"])
def test_an_invalid_address_is_one_message(address):
    with pytest.raises(UserError, match="--server"):
        options("--server", address)


def test_a_base_url_beside_a_server_is_rejected():
    with pytest.raises(UserError) as error:
        options("--server", "http://h", "--model-arg", "base_url=http://other")
    (problem,) = error.value.problems
    assert problem.startswith("--model-arg base_url: ")


@pytest.mark.parametrize("name", ["token", "hf_token", "password"])
def test_a_secret_in_a_model_setting_is_rejected(name):
    with pytest.raises(UserError, match=f"--model-arg {name}: .*environment"):
        options("--model-arg", f"{name}=x")


def test_all_invalid_options_are_listed():
    with pytest.raises(UserError) as error:
        options(
            *[
                "--limit",
                "-1",
                "--max-tokens",
                "-1",
                "--num-replies",
                "1",
                "--model-arg",
                "x",
                "--model-arg",
                "api_key=sk",
            ],
            *["--input-price", "nan", "--server", "ftp://x"],
        )
    assert error.value.problems == [
        "--limit is -1, wanted 0 to 1,000,000",
        "--num-replies is 1, wanted 2 to 1,000",
        "--max-tokens is -1, wanted 0 to 10,000,000",
        "--input-price is nan, wanted 0 to 1,000,000",
        "--model-arg x: wanted NAME=VALUE",
        "--model-arg api_key: secrets are read from the environment only; set an environment variable",
        "--server is 'ftp://x', wanted an address such as http://127.0.0.1:8000",
    ]


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("127.0.0.1:8000", "http://127.0.0.1:8000/v1"),
        ("http://host:8000/", "http://host:8000/v1"),
        ("https://host/api/v3/", "https://host/api/v3"),
    ],
)
def test_addresses_may_be_short(given, address):
    assert options("--server", given).server == address


def test_a_key_in_an_address_is_rejected():
    with pytest.raises(UserError, match="--server: .*SERVER_API_KEY"):
        options("--server", "http://user:pass@host/v1")


def test_every_option_with_a_value_has_an_example():
    text = " ".join(make_parser().format_help().split())
    for action in make_parser()._actions:
        for name in action.option_strings:
            if name.startswith("--") and name not in ("--help", "--version"):
                assert (f"(example: {name} " in text) == (action.nargs != 0), name


def test_the_help_lists_prompts_and_confidence_methods():
    text = " ".join(make_parser().format_help().split())
    for option, known in (("--prompt", PROMPTS), ("--confidence", CONFIDENCE_METHODS)):
        assert f"{option} {{{','.join(known)}}} " in text
        for name, one in known.items():
            assert f" {name} {one.help}" in text


def test_a_model_setting_may_contain_an_equals_sign():
    assert options("--model-arg", "answers_file=a=b.json", "--model-arg", "revision=1").model_args == (
        ("answers_file", "a=b.json"),
        ("revision", "1"),
    )
