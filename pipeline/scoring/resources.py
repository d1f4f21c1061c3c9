"""Optional resources of some scores: word vectors, WordNet, GQA's files, human judgments, the log of a run.

The modules that use a resource are imported only when the resource is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..core.errors import UserError, collect_errors
from .gqa_schema import has_answer, is_choices_record
from .input_validation import read_attention, read_json_object
from .items import Benchmark
from .joined_predictions import JoinedPredictions, Scores, ScoringOptions


class Resource(NamedTuple):
    """A file or folder given by `--resource NAME=FILE`.

    Attributes:
        help: What the resource is.
        score_group: Score group that needs the resource.
        read: Reads the resource from its path. The second argument is the set of words of the benchmark's
            human answers.
    """

    help: str
    score_group: str
    read: Callable[[str, set[str]], Any]


def _read_word_vectors(path: str, words: set[str]) -> Any:
    from .masses import load_word_vectors

    return load_word_vectors(path, words)


def _read_wordnet(path: str, words: set[str]) -> Any:
    from .wups import read_wordnet

    return read_wordnet(path)


def _read_human_judgments(path: str, words: set[str]) -> Any:
    from .human_baseline import read_human_judgments

    return read_human_judgments(path)


def _read_run_log(path: str, words: set[str]) -> Any:
    from .efficiency import read_run_log

    return read_run_log(path)


def _read_scenes(path: str, words: set[str]) -> Any:
    return read_json_object(path)


def _read_questions(path: str, words: set[str]) -> Any:
    return read_json_object(path, "an object with `answer`, a string, for each question", has_answer)


def _read_choices(path: str, words: set[str]) -> Any:
    return read_json_object(path, "an object of lists of strings for each question", is_choices_record)


def _read_attention(path: str, words: set[str]) -> Any:
    return read_attention(path)


# Resources by name. A name with underscores is the field of `ScoringOptions` that the resource fills.
RESOURCES = {
    "word-vectors": Resource(
        "word vectors, a text file or the name of a spaCy model, for MaSSeS", "masses", _read_word_vectors
    ),
    "wordnet": Resource("WordNet's folder `dict`, for WUPS", "wups", _read_wordnet),
    "all-questions": Resource("GQA's unbalanced questions, for consistency", "gqa", _read_questions),
    "choices": Resource("GQA's choices, for validity and plausibility", "gqa", _read_choices),
    "scenes": Resource("GQA's scene graphs, for grounding", "gqa", _read_scenes),
    "attention": Resource(
        "attention maps of the model, as `rgqa attribute --maps` writes them, for grounding",
        "gqa",
        _read_attention,
    ),
    "human-judgments": Resource(
        "human answers, a list of {item_id, accepted}; accepted: whether the person took the question as answerable",
        "human",
        _read_human_judgments,
    ),
    "run-log": Resource(
        "log of the run, JSON lines with seconds, items, start, memory_bytes, for efficiency",
        "efficiency",
        _read_run_log,
    ),
}


def read_resources(name_file_pairs: Sequence[str], benchmark: Benchmark | None) -> dict[str, Any]:
    """Read the resources given as `NAME=FILE`.

    Returns:
        Field of `ScoringOptions` -> resource.

    Raises:
        UserError: Lists every problem of every resource.
    """
    problems: list[str] = []
    found: dict[str, Any] = {}
    for text in name_file_pairs:
        name, _, path = text.partition("=")
        if name not in RESOURCES or not path:
            problems.append(f"--resource {text}: expected NAME=FILE, NAME one of {', '.join(RESOURCES)}")
        elif (field := name.replace("-", "_")) in found:
            problems.append(f"--resource {name} is given twice")
        else:
            found[field] = None
            with collect_errors(problems):
                found[field] = RESOURCES[name].read(
                    path, benchmark.human_answer_words() if benchmark else set()
                )
    if problems:
        raise UserError(problems)
    return found


def find_resource_groups(options: ScoringOptions) -> list[str]:
    """Return the score groups that use the given resources."""
    groups = [
        resource.score_group
        for name, resource in RESOURCES.items()
        if getattr(options, name.replace("-", "_"))
    ]
    return list(dict.fromkeys(groups))


def lazy_score_masses(answered: JoinedPredictions, options: ScoringOptions) -> Scores:
    """Score agreement with human answers by meaning (MaSSeS)."""
    from .masses import score_masses

    return score_masses(answered, options)


def lazy_score_wups(answered: JoinedPredictions, options: ScoringOptions) -> Scores:
    """Score similarity to human answers in WordNet (WUPS)."""
    from .wups import score_wups

    return score_wups(answered, options)


def lazy_score_human_baseline(answered: JoinedPredictions, options: ScoringOptions) -> Scores:
    """Compare the model's rejections with human rejections."""
    from .human_baseline import score_human_baseline

    return score_human_baseline(answered, options)


def lazy_score_gqa(answered: JoinedPredictions, options: ScoringOptions) -> Scores:
    """Compute GQA's diagnostics."""
    from .gqa_diagnostics import score_gqa

    return score_gqa(answered, options)
