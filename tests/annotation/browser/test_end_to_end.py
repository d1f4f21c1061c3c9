"""Test the whole study from invitations to a release, with a real server and real browsers.

Verdicts are entered through the annotation page, and must equal what the simulated annotators clicked.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest
import yaml

from annotation.study.exports import ExportedTask
from pipeline.cli import init_dataset
from pipeline.core.json_files import read_json, read_jsonl
from pipeline.core.records import SceneGraph, SpareGoldQuestion, Task, TaskQuestion, Verdict, Vocabulary
from pipeline.sources import gqa_files
from research.simulated_annotators.annotators import ALWAYS_ANSWERABLE, find_obstacle_in_truth
from research.simulated_annotators.word_senses import WordSenses
from tests.annotation.browser.page_actions import choose, link, shown, submit
from tests.tiny.project import PARAMS

pytestmark = pytest.mark.server

ROOT = Path(__file__).parents[3]
CAREFUL, CARELESS = ("ann", "ben"), "cid"
Answers = dict[
    tuple[str, str, str], dict[str, str]
]  # (image, first text, second text) -> what was chosen where


class Project:
    """A copy of the project whose data set is the tiny world, judged by people."""

    def __init__(self, home: Path) -> None:
        self.home = home
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        subprocess.run(["git", "clone", "--quiet", ROOT, home], check=True)
        for part in ("source", "truth"):
            shutil.copytree(ROOT / "tests/tiny" / part, home / "data/tiny" / part)
        shutil.copytree(ROOT / "data/sample/clip", home / "data/tiny/clip")
        for folder in init_dataset.FOLDER_READMES:
            (home / "data/tiny" / folder).mkdir(exist_ok=True)
        (home / ".venv-label-studio").symlink_to(ROOT / ".venv-label-studio")
        tiny = PARAMS | {
            "embed": {"model": "local-dir:data/tiny/clip", "allow_sample_clip": True},
            "rank": PARAMS["rank"] | {"hard_draw": 2, "easy_last": 2},
            "annotate": {
                "max_votes": 3,
                "overlap_rate": 1.0,
                "training_tasks": 2,
                "qualification_tasks": 0,
                "seed": 1,
            },  # all votes on every task
            "collect": {"simulate": False, "aggregation": "majority", "min_task_seconds": 0},
        }
        (home / "params.yaml").write_text(
            yaml.safe_dump({"dataset": "tiny", "version": "0.1.0", "tiny": tiny})
        )

    def run(self, *command: str) -> str:
        """A command of the project's, in the project's root; its output."""
        place = Path(sys.executable).parent
        env = os.environ | {"PYTHONPATH": str(self.home), "PATH": f"{place}:{os.environ['PATH']}"}
        env.pop("LABEL_STUDIO_URL", None)
        done = subprocess.run(command, cwd=self.home, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout + done.stderr

    def rgqa(self, *command: str) -> str:
        return self.run(sys.executable, "-m", "pipeline.cli", *command)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    made = Project(tmp_path_factory.mktemp("study") / "project")
    yield made
    made.rgqa("annotate", "serve", "--stop")


@pytest.fixture
def inside(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The project as working directory."""
    monkeypatch.chdir(project.home)
    return project


class Eyes:
    """A simulated annotator with the true scene graphs of the images."""

    def __init__(self, home: Path) -> None:
        known = read_json(home / "interim/vocabulary/vocabulary.json", Vocabulary)
        self.words = WordSenses(categories=known.categories, attribute_types=known.attribute_types)
        self.scenes: dict[str, SceneGraph] = gqa_files.read_true_scene_graphs(home / "truth", ("testdev",))
        self.images = {
            sha256(path.read_bytes()).hexdigest(): path.stem for path in (home / "source/images").iterdir()
        }
        self.programs: dict[tuple[str, str], TaskQuestion] = {
            (task.image_id, question.text): question
            for task in read_jsonl(home / "interim/batch/tasks.jsonl", Task)
            for question in (task.first, task.second)
        }
        # The training asks questions that no task contains.
        for row in read_jsonl(home / "interim/batch/spare_gold_questions.jsonl", SpareGoldQuestion):
            self.programs[row.image_id, row.question.text] = row.question

    def judge(self, image: str, text: str) -> dict[str, str]:
        """The choice, and why if it is invalid."""
        seen = find_obstacle_in_truth(self.scenes, self.words, self.programs[image, text], image)
        if text in ALWAYS_ANSWERABLE:
            seen = ""
        if not seen:
            return {"": "valid"}
        return {"": "unsure"} if seen == "unclear" else {"": "invalid", "_reason": seen}


def choices(name: str, image: str, asked: list[str], eyes: Eyes, dice: random.Random) -> dict[str, str]:
    """What an annotator chooses where; the careless one does not look, and mostly says invalid.

    The 62 tasks have 15 valid gold questions, and nine wrong answers to them exclude. Random answers are wrong so often
    with a probability of 30 % only.
    """
    chosen = {}
    for control, text in zip(("first", "second"), asked, strict=True):
        if name == CARELESS:
            (chosen[control],) = dice.choices(["valid", "invalid"], [1, 5])
        else:
            chosen |= {f"{control}{part}": choice for part, choice in eyes.judge(image, text).items()}
    return chosen


def work(page, name: str, link: str, eyes: Eyes) -> Answers:
    """Open the link, agree, do the training, answer tasks until there are none; what was clicked in the tasks."""
    page.goto(link, wait_until="domcontentloaded")
    page.get_by_role("button", name="I have read this and agree").click()
    page.get_by_role("button", name="Close the guidelines").click()
    dice = random.Random(name)
    clicked: Answers = {}
    while (state := shown(page))["screen"] in ("announcement", "training", "feedback", "task"):
        if state["screen"] == "announcement":
            page.locator("#message-screen button.primary").click()
            page.locator("#task").wait_for()
            continue
        if state["screen"] != "feedback":
            looked_at = sha256(
                page.request.get(link.partition("/annotate/")[0] + state["image_url"]).body()
            ).hexdigest()
            chosen = choices(name, eyes.images[looked_at], [state["first"], state["second"]], eyes, dice)
            choose(page, chosen, "mouse" if name == "ann" else "key")
            if state["screen"] == "task":
                clicked[eyes.images[looked_at], state["first"], state["second"]] = chosen
        submit(page, "mouse" if name == "ann" else "key")
    assert state["screen"] == "thanks", state
    assert state["num_judged"] == len(clicked)
    return clicked


def unseen_without_reason(tasks: Iterable[Task], clicked: Answers) -> list[Task]:
    """The tasks that somebody did not get, though they had not judged its candidate as a repeat before."""
    seen = [task for task in tasks if (task.image_id, task.first.text, task.second.text) in clicked]
    repeated = {
        row.candidate_id for task in seen for row in (task.first, task.second) if row.role == "repeat"
    }
    return [
        task
        for task in tasks
        if task not in seen
        and not repeated & {row.candidate_id for row in (task.first, task.second) if row.role == "candidate"}
    ]


def test_clicks_of_three_annotators_become_a_release_without_the_careless_one(
    inside: Project, chromium
) -> None:
    home = inside.home / "data/tiny"
    inside.run("dvc", "repro", "batch")
    inside.rgqa("annotate", "invite", *CAREFUL, CARELESS, "--contact", "Lee, lee@example.org")
    inside.rgqa("annotate", "serve", "--port", str(inside.port))
    tasks = {task.task_id: task for task in read_jsonl(home / "interim/batch/tasks.jsonl", Task)}
    eyes = Eyes(home)
    assert (inside.home / "data/label-studio/secrets.json").stat().st_mode & 0o077 == 0

    clicked: dict[str, Answers] = {}
    for name in (*CAREFUL, CARELESS):
        context = chromium.new_context(viewport={"width": 1366, "height": 768})
        context.set_default_timeout(120_000)
        clicked[name] = work(context.new_page(), name, link(name), eyes)
        assert name == CARELESS or not unseen_without_reason(tasks.values(), clicked[name])
        context.close()
    status = inside.rgqa("annotate", "status")
    assert "annotator-03" in status
    again = inside.rgqa("annotate", "push")  # everything is there
    assert "imported" not in again
    inside.rgqa("annotate", "pull")
    first = (home / "annotations/pulled.json").read_bytes()
    inside.rgqa("annotate", "pull")
    assert (home / "annotations/pulled.json").read_bytes() == first

    pseudonyms = dict(
        zip((*CAREFUL, CARELESS), ("annotator-01", "annotator-02", "annotator-03"), strict=True)
    )
    pulled = {name: {} for name in clicked}
    for row in read_json(home / "annotations/pulled.json", list[ExportedTask]):
        task = tasks[row.data["task"]]
        assert 1 <= len(row.annotations) <= 3
        for annotation in row.annotations:
            name = next(
                name for name, pseudonym in pseudonyms.items() if pseudonym == annotation.completed_by
            )
            results = json.loads(json.dumps(annotation.result))
            pulled[name][task.image_id, task.first.text, task.second.text] = {
                result["from_name"]: result["value"]["choices"][0] for result in results
            }
    assert pulled == clicked

    inside.run("dvc", "repro")
    report = json.loads((home / "interim/collect/collect.json").read_text())
    assert {name: row["excluded"] for name, row in report["annotators"].items()} == {
        "annotator-01": False,
        "annotator-02": False,
        "annotator-03": True,
    }
    assert not report["simulated"]
    verdicts = list(read_jsonl(home / "interim/collect/verdicts.jsonl", Verdict))
    assert len(verdicts) == sum(map(len, clicked.values())) and not any(
        verdict.simulated for verdict in verdicts
    )
    release = inside.home / "data/release/tiny/0.1.0"
    inside.rgqa("check", str(release))
    names = re.compile(rb"@rgqa\.local|\"(ann|ben|cid)\"")
    assert not [path for path in release.rglob("*") if path.is_file() and names.search(path.read_bytes())]
    items = [json.loads(line)["item"] for line in (release / "provenance.jsonl").read_text().splitlines()]
    unanswerable = [item for item in items if item["unanswerable"]]
    assert {item["subset"] for item in unanswerable} == {"clip-easy", "clip-hard", "pt-easy", "pt-hard"}
    assert all(len(item["verdict_ids"]) >= 2 and not item["simulated"] for item in unanswerable)
