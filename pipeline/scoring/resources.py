"""The one door to what few need: word vectors, WordNet, GQA's files, a human study, a run's log. What stands behind
it is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..core.errors import UserError, collected_into
from .gqa_schema import has_answer, offers
from .input_validation import read_attention, read_mapping
from .items import Benchmark
from .joined_predictions import Answered, Options, Scores


class Extra(NamedTuple):
    """A file that `--extra NAME=FILE` names: what it is, the group of scores that it serves, and what reads it, given
    its path and the benchmark's words."""

    help: str
    group: str
    read: Callable[[str, set[str]], Any]


def _vectors(path: str, words: set[str]) -> Any:
    from .masses import vectors_of

    return vectors_of(path, words)


def _wordnet(path: str, words: set[str]) -> Any:
    from .wups import read_wordnet

    return read_wordnet(path)


def _human(path: str, words: set[str]) -> Any:
    from .human_baseline import read_judgements

    return read_judgements(path)


def _run_log(path: str, words: set[str]) -> Any:
    from .efficiency import read_run_log

    return read_run_log(path)


def _scenes(path: str, words: set[str]) -> Any:
    return read_mapping(path)


def _questions(path: str, words: set[str]) -> Any:
    return read_mapping(path, "for each question an object with answer, a text", has_answer)


def _choices(path: str, words: set[str]) -> Any:
    return read_mapping(path, "for each question an object of lists of texts", offers)


def _attention(path: str, words: set[str]) -> Any:
    return read_attention(path)


# By the names of the fields of `Options` that they fill, with dashes.
EXTRAS = {
    "vectors": Extra(
        "word vectors (a text file, or a spaCy model that has them), for MaSSeS", "masses", _vectors
    ),
    "wordnet": Extra("WordNet's folder dict, for WUPS", "wups", _wordnet),
    "all-questions": Extra("GQA's unbalanced questions, for consistency", "gqa", _questions),
    "choices": Extra("GQA's choices, for validity and plausibility", "gqa", _choices),
    "scenes": Extra("GQA's scene graphs, for grounding", "gqa", _scenes),
    "attention": Extra("the model's attention by question, for grounding", "gqa", _attention),
    "human": Extra("people's judgements, a list of {question_id, accepted}", "human", _human),
    "run-log": Extra("JSON lines with seconds, items, memory_bytes", "efficiency", _run_log),
}


def read_extras(given: Sequence[str], benchmark: Benchmark | None) -> dict[str, Any]:
    """What the files named by `NAME=FILE` hold, by the field of `Options` that it fills.

    Raises:
        UserError: everything that is wrong with any of them.
    """
    problems: list[str] = []
    found: dict[str, Any] = {}
    for text in given:
        name, _, path = text.partition("=")
        if name not in EXTRAS or not path:
            problems.append(f"--extra {text}: wanted NAME=FILE, NAME one of {', '.join(EXTRAS)}")
        elif (field := name.replace("-", "_")) in found:
            problems.append(f"--extra {name} is given twice")
        else:
            found[field] = None
            with collected_into(problems):
                found[field] = EXTRAS[name].read(path, benchmark.words() if benchmark else set())
    if problems:
        raise UserError(problems)
    return found


def served(options: Options) -> list[str]:
    """The groups of scores that the files given are for."""
    groups = [extra.group for name, extra in EXTRAS.items() if getattr(options, name.replace("-", "_"))]
    return list(dict.fromkeys(groups))


def masses(answered: Answered, options: Options) -> Scores:
    """Agreement with people's answers by meaning."""
    from .masses import masses_group

    return masses_group(answered, options)


def wups(answered: Answered, options: Options) -> Scores:
    """Similarity to people's answers in WordNet."""
    from .wups import wups_group

    return wups_group(answered, options)


def human(answered: Answered, options: Options) -> Scores:
    """People's rejections beside the model's."""
    from .human_baseline import human_group

    return human_group(answered, options)


def gqa(answered: Answered, options: Options) -> Scores:
    """GQA's diagnostics."""
    from .gqa_diagnostics import gqa_group

    return gqa_group(answered, options)
