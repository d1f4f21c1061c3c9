"""Results of models that are to stand in one table: folders of `rgqa run`, or predictions files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pipeline.core.errors import UserError
from pipeline.scorers.answered import Predictions
from pipeline.scorers.items import Benchmark
from pipeline.scorers.predictions import read_predictions
from pipeline.scorers.running.run_settings import fingerprint
from pipeline.scorers.validation import InputError, parse_json, parse_lines, read_bytes


class RunResult(NamedTuple):
    """A model's predictions.

    Attributes:
        about: the run.json of a run, {} of a file. asked: of a run that asked not all, an id of each question; other items may
            ask the same of the same picture.
    """

    path: Path
    said: Predictions
    about: dict[str, Any]
    asked: frozenset[str] | None = None

    @property
    def name(self) -> str:
        """Of its model, or of its file."""
        blind = ", no picture" if self.about.get("no_picture") else ""
        return f"{self.about['model']}{blind}" if self.about else self.said.name

    @property
    def prompt(self) -> str:
        return _name(self.about.get("prompt"))

    @property
    def recipe(self) -> str:
        return _name(self.about.get("recipe"))


def _name(told: Any) -> str:
    return str(told.get("name", "")) if isinstance(told, dict) else ""


def read_results(paths: Sequence[Path]) -> list[RunResult]:
    """Read results, and name them so that no two have the same name.

    Raises:
        UserError: everything that is wrong with any of them.
    """
    problems: list[str] = []
    results: list[RunResult] = []
    for path in paths:
        try:
            results.append(_run(path) if path.is_dir() else RunResult(path, read_predictions(path), {}))
            problems += results[-1].said.faults
        except InputError as error:
            problems += error.problems
    if twice := [str(path) for path, times in Counter(path.resolve() for path in paths).items() if times > 1]:
        problems.append(f"given twice: {', '.join(twice)}")
    if problems:
        raise UserError(["results that cannot be compared", *problems])
    return named(results)


def _run(folder: Path) -> RunResult:
    predictions, about = folder / "predictions.jsonl", folder / "run.json"
    if missing := [path.name for path in (about, predictions) if not path.is_file()]:
        raise InputError(
            f"{folder}: no {' and no '.join(missing)} in it; wanted a folder of `rgqa run`, or a predictions file"
        )
    told = parse_json(read_bytes(about), about)
    of = told.get("release") if isinstance(told, dict) else None
    if not isinstance(told, dict) or not isinstance(told.get("model"), str):
        raise InputError(f"{about}: names no model; wanted what `rgqa run` wrote")
    if not isinstance(of, dict) or not {"name", "version", "sha256"} <= of.keys():
        raise InputError(f"{about}: does not name its release; wanted what `rgqa run` wrote")
    counts = told.get("counts", {})
    if not counts or counts["replies"] + counts["failed"] < counts["samples"]:
        raise InputError(f"{folder}: the run has not come to its end; its own command goes on")
    asked, journal = None, folder / "answers.jsonl"
    if told.get("limit") or told.get("shots"):  # examples are not asked
        rows = [row for _, row in parse_lines(read_bytes(journal), journal)]
        failed = told.get("failures", {})
        asked = frozenset([*(str(row.get("id")) for row in rows), *failed])
    return RunResult(folder, read_predictions(predictions), told, asked)


def named(results: Sequence[RunResult]) -> list[RunResult]:
    """Results whose predictions bear the name of their row: model, prompt and recipe where they differ, folder where those
    are the same."""
    prompts, recipes = ({getattr(one, part) for one in results if one.about} for part in ("prompt", "recipe"))
    names = []
    for one in results:
        parts = [one.prompt] * (len(prompts) > 1) + [one.recipe] * (len(recipes) > 1)
        names.append(f"{one.name} ({', '.join(parts)})" if one.about and parts else one.name)
    times = Counter(names)
    alike = [one.path.resolve() for one, name in zip(results, names, strict=True) if times[name] > 1]
    return [
        one._replace(
            said=one.said._replace(name=name if times[name] == 1 else f"{name} [{_place(one.path, alike)}]")
        )
        for one, name in zip(results, names, strict=True)
    ]


def _place(path: Path, others: Sequence[Path]) -> str:
    """Where a result lies: as few of the last names of its path as tell it from others; of a file at least two."""
    path = path.resolve()
    for count in range(1 if path.is_dir() else 2, len(path.parts)):
        if sum(other.parts[-count:] == path.parts[-count:] for other in others) == 1:
            return "/".join(path.parts[-count:])
    return str(path)


def release_of(results: Sequence[RunResult], given: Path | None) -> Path:
    """The release that all results are of.

    Raises:
        UserError: none is named, or results are of different ones, or of another than the one given.
    """
    release = given or next((Path(one.about["path"]) for one in results if one.about.get("path")), None)
    if release is None:
        raise UserError(
            "predictions files do not say of which release they are; say --release data/release/..."
        )
    if not any(one.about for one in results):
        return release
    try:
        there = fingerprint(release)
    except InputError as error:
        raise UserError(error.problems) from error
    told = {one.path: one.about["release"] for one in results if one.about}
    wrong = [f"{path}: of {of['name']} {of['version']}" for path, of in told.items() if of["sha256"] != there]
    if wrong:
        raise UserError([f"results of another release than {release}; compare models on the same", *wrong])
    return release


def part_of(results: Sequence[RunResult]) -> Literal["dev", "test"]:
    """The part of the release on which they can be scored: dev if all runs are of it, else test.

    Raises:
        UserError: some are of dev alone, and others of test alone.
    """
    parts = {one.path: one.about.get("part", "test") for one in results if one.about}
    if {"dev", "test"} <= set(parts.values()):
        told = [f"{path}: part {part}" for path, part in parts.items()]
        raise UserError(["runs of different parts; compare models on the same", *told])
    return "dev" if "dev" in parts.values() else "test"


def asked_by_all(benchmark: Benchmark, results: Sequence[RunResult]) -> Benchmark:
    """The benchmark with the items that every run asked, and without subsets that some run did not."""
    every = [item for items in benchmark.subsets.values() for item in items]
    question_of = {item.id: (item.picture, item.asked) for item in every}
    subsets = dict(benchmark.subsets)
    for asked in filter(None, (one.asked for one in results)):
        questions = {question_of[item] for item in asked if item in question_of}
        ids = {item for item, question in question_of.items() if question in questions}
        subsets = {name: items.at(items.among(ids)) for name, items in subsets.items()}
    for wanted in (set(one.about["subsets"]) for one in results if one.about.get("subsets")):
        subsets = {name: items for name, items in subsets.items() if name in wanted}
    return benchmark._replace(subsets={name: items for name, items in subsets.items() if len(items)})
