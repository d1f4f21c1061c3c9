"""`rgqa sample`: what each command calls, and that help loads no large packages."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline.cli.main import app
from research.synthetic_world import (
    build,
    clip_model_card,
    fit_vqa,
    model_server,
    train_clip,
    train_vqa,
    verify,
    vqa_model_card,
)
from tests.closure import ROOT

COMMANDS = ("build", "verify", "train-clip", "clip-card", "train-vqa", "fit-vqa", "vqa-card", "serve")


def calls(monkeypatch, module, name):
    """Record the arguments of all calls of a function, which does nothing."""
    seen = []
    monkeypatch.setattr(module, name, lambda *arguments: seen.append(arguments))
    return seen


def rgqa(command):
    return CliRunner().invoke(app, ["sample", *command.split()])


def test_build_writes_and_with_check_only_compares(monkeypatch):
    built, checked = calls(monkeypatch, build, "build_sample"), calls(monkeypatch, build, "check_sample")
    assert rgqa("build").exit_code == rgqa("build --all-truth").exit_code == 0
    assert (built, checked) == ([(False,), (True,)], [])
    assert rgqa("build --check").exit_code == 0
    assert (len(built), checked) == (2, [(False,)])


def test_verify_and_clip_card_take_no_options(monkeypatch):
    verified, measured = (
        calls(monkeypatch, verify, "verify_sample"),
        calls(monkeypatch, clip_model_card, "write_card"),
    )
    assert rgqa("verify").exit_code == rgqa("clip-card").exit_code == 0
    assert (verified, measured) == ([()], [()])


def test_train_clip_has_three_phases_and_may_go_on_from_an_earlier_run(monkeypatch):
    trained = calls(monkeypatch, train_clip, "train_sample_clip")
    rgqa("train-clip")
    rgqa(
        "train-clip --image-chunks 3 --text-steps 1 --small-image-steps 0 --image-steps 2 --resume-from old --num-threads 1"
    )
    assert trained == [(200, (3000, 6000, 5000), None, 2), (3, (1, 0, 2), Path("old"), 1)]


def test_train_vqa_takes_a_seed_and_trains_all_nets_or_those_named(monkeypatch):
    trained, written = (
        calls(monkeypatch, train_vqa, "train_sample_vqa"),
        calls(monkeypatch, vqa_model_card, "write_vqa_card"),
    )
    rgqa("train-vqa")
    rgqa("train-vqa --seed 2 --model rp --model blind --num-workers 1")
    assert trained == [(0, (), 2), (2, ["rp", "blind"], 1)]
    assert rgqa("vqa-card").exit_code == 0 and written == [()]


def test_fit_vqa_fits_for_all_seeds(monkeypatch):
    fitted = calls(monkeypatch, fit_vqa, "fit_sample_vqa")
    assert rgqa("fit-vqa").exit_code == rgqa("fit-vqa --num-workers 1").exit_code == 0
    assert fitted == [(2,), (1,)]


def test_serve_injects_no_faults_by_default(monkeypatch):
    served = calls(monkeypatch, model_server, "serve")
    monkeypatch.setattr(model_server, "load_nets", lambda names, seed: (names, seed))
    rgqa("serve")
    rgqa(
        "serve --model rp --model blind --seed 1 --port 8123 --no-logprobs --delay-seconds 1 --failure-rate 0.2 --max-requests-per-second 5"
    )
    rgqa("serve --truncation-rate 0.1")
    assert served == [
        ((["rp"], 0), 0, model_server.FaultInjection()),
        (
            (["rp", "blind"], 1),
            8123,
            model_server.FaultInjection(
                has_logprobs=False, delay_seconds=1, failure_rate=0.2, max_requests_per_second=5
            ),
        ),
        ((["rp"], 0), 0, model_server.FaultInjection(truncation_rate=0.1)),
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_says_what_it_does_and_shows_an_example(command):
    told = rgqa(f"{command} --help")
    assert told.exit_code == 0 and f"Example: rgqa sample {command}" in told.stdout


def test_the_units_of_images_are_those_of_the_help():
    from research.synthetic_world.clip_training_data import CHUNK_SIZE

    assert f"of {CHUNK_SIZE} images" in rgqa("train-clip --help").stdout


def test_help_loads_no_heavy_libraries():
    script = "import sys, research.synthetic_world.cli; print(sorted({'numpy', 'torch', 'PIL', 'resvg_py'} & set(sys.modules)))"
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert told.stdout == "[]\n"
