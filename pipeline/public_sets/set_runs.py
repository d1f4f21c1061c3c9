"""Ask a model the questions of a public set, with the engine of `rgqa run` and the prompt of the set's authors."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pipeline.core.errors import UserError, collect_errors, no_effect_message
from pipeline.core.output_paths import Output, check_output_paths
from pipeline.inference.confidence_methods import get_confidence_method
from pipeline.inference.prompts import PROMPTS, Prompt, get_prompt, hash_texts
from pipeline.inference.release_questions import ReleaseQuestions, choose_questions
from pipeline.inference.run_options import RunOptions, find_incompatible_options
from pipeline.inference.runner import RunSubject
from pipeline.public_sets.author_prompts import format_prompt
from pipeline.public_sets.open_set import PublicSet
from pipeline.public_sets.set_images import SetImages
from pipeline.public_sets.set_scores import make_benchmark, select_groups
from pipeline.scoring.items import Benchmark

# Name of the prompt that words each question as the set's authors do.
AUTHORS_PROMPT = "authors"
# Options of `rgqa run` that need a release -> why they have no effect on a public set.
RELEASE_OPTIONS = {
    "split": "a public set has no splits",
    "shots": "a public set has no validation items to show as examples",
}


def with_set_defaults(options: RunOptions, public_set: PublicSet) -> RunOptions:
    """Return the options with the defaults for a public set: its authors' prompt and length of replies."""
    # The authors of RGQA state no prompt, because they train models. It is asked as a release.
    prompt = options.prompt or ("" if options.is_classifier or public_set.name == "RGQA" else AUTHORS_PROMPT)
    # A classifier gives an answer of its own length.
    if options.is_classifier or options.max_tokens:
        length = options.max_tokens
    else:
        length = max(public_set.known.max_tokens, PROMPTS[prompt].max_tokens if prompt in PROMPTS else 0)
    options = options._replace(prompt=prompt, max_tokens=length).with_defaults
    if options.out is None:
        # The default folder of a run does not name the release. Runs of several sets need folders of their own.
        name = public_set.name.lower().replace(" ", "-")
        folder = options.output_folder
        options = options._replace(out=folder.with_name(f"{folder.name}-{name}"))
    return options


def make_subject(options: RunOptions, public_set: PublicSet) -> RunSubject:
    """Check the options of a run on a public set.

    Args:
        options: The options, with the set's defaults (`with_set_defaults`).
        public_set: The set.

    Raises:
        UserError: An option is wrong or has no effect. All faults are listed.
    """
    problems: list[str] = []
    is_worded_by_authors = options.prompt == AUTHORS_PROMPT
    names = ", ".join((AUTHORS_PROMPT, *PROMPTS))
    prompt = None
    if is_worded_by_authors:
        prompt = Prompt(AUTHORS_PROMPT, "word each question as the set's authors do", "{question}")
    elif options.prompt not in PROMPTS:
        problems.append(f"--prompt {options.prompt}: no such prompt; choose from {names}")
    else:
        prompt = get_prompt(options.prompt)
    method = None
    with collect_errors(problems):
        method = get_confidence_method(options.confidence)
    defaults = RunOptions._field_defaults
    problems += [
        no_effect_message(f"--{name}", reason)
        for name, reason in RELEASE_OPTIONS.items()
        if getattr(options, name) != defaults[name]
    ]
    if prompt and method:
        # The default length of a classifier's replies is no option that the user gave.
        given = options._replace(max_tokens=0) if options.is_classifier else options
        problems += find_incompatible_options(given, prompt.name, method)
    outputs = [Output("--out", options.output_folder, "folder")]
    if options.inspect_log:
        outputs.append(Output("--inspect-log", options.inspect_log, "file"))
        if options.inspect_log.suffix not in (".eval", ".json"):
            problems.append(
                f"--inspect-log {options.inspect_log}: wanted a name that ends with .eval or .json"
            )
    with collect_errors(problems):
        check_output_paths(outputs, [options.release, *public_set.rows.paths])
    benchmark = None
    with collect_errors(problems):
        benchmark = select_groups(make_benchmark(public_set), options.subsets)
    if problems or not (prompt and method and benchmark):
        raise UserError(problems)
    texts = _prompt_texts(public_set) if is_worded_by_authors else {}
    if not is_worded_by_authors:
        benchmark = _with_options_in_question(benchmark, public_set)
    settings: dict[str, Any] = {
        "release": {"name": benchmark.name, "version": "", "sha256": public_set.fingerprint},
        "public_set": public_set.name,
        "model": options.model,
        "model_args": dict(options.model_args),
        "prompt": {
            "name": prompt.name,
            "hash": hash_texts(*(texts[name] for name in sorted(texts))) if texts else prompt.hash,
        },
        "confidence": {"name": method.name, "hash": method.hash},
        "split": options.split,
        "subsets": sorted(benchmark.subsets),
        "limit": options.limit,
        "max_image_size": options.max_image_size,
        "images": str(options.images or ""),
        "shots": options.shots,
        "num_replies": options.num_replies if method.needs_several_replies else 1,
        "max_tokens": options.max_tokens,
        "seed": options.seed,
        "no_image": options.no_image,
    }

    def choose(options: RunOptions, benchmark: Benchmark) -> ReleaseQuestions:
        def open_images(image_ids: Collection[str]) -> SetImages:
            return SetImages(public_set, image_ids, options.images, options.max_image_size)

        return choose_questions(
            benchmark,
            options.release,
            split="all",
            prompt=prompt,
            confidence=options.confidence,
            max_image_size=options.max_image_size,
            seed=options.seed,
            num_replies=options.num_replies,
            max_tokens=options.max_tokens,
            no_image=options.no_image,
            limit=options.limit,
            prompt_texts=texts,
            open_images=open_images,
        )

    return RunSubject(settings, benchmark, choose)


def _prompt_texts(public_set: PublicSet) -> dict[str, str]:
    """Return the text with which each item is asked, by the id of the item."""
    return {item.id: format_prompt(public_set.name, item) for item in public_set.items}


def _with_options_in_question(benchmark: Benchmark, public_set: PublicSet) -> Benchmark:
    """Return the benchmark with hint and options in the text of each question, for prompts that only know a question."""
    texts = {
        item.id: "\n".join(
            [
                *([item.hint] if item.hint else []),
                item.question,
                *(f"{letter}. {text}" for letter, text in item.options.items()),
            ]
        )
        for item in public_set.items
    }
    subsets = {
        name: items.with_columns(question_text=[texts[key] for key in items["id"]])
        for name, items in benchmark.subsets.items()
    }
    return benchmark._replace(subsets=subsets)
