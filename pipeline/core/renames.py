"""Names of parameters, commands and options that changed in version 0.15, and messages with their new names.

The module uses the standard library only, because the wheel of the scorers contains it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Any

# Parameters of params.yaml: section -> name until version 0.11 -> name now.
RENAMED_PARAMETERS: dict[str, dict[str, str]] = {
    "annotate": {
        "votes": "max_votes",
        "sure": "min_posterior",
        "overlap": "overlap_rate",
        "wave": "wave_size",
        "budget": "max_judgements",
        "most_tasks": "max_tasks_per_annotator",
        "training": "training_tasks",
        "test": "qualification_tasks",
        "test_share": "min_qualification_accuracy",
        "pictures": "image_base_url",
    },
    "collect": {
        "rule": "aggregation",
        "window": "drift_window",
        "max_fallen": "max_discarded_rate",
        "excluding": "exclusion_checks",
        "fast_seconds": "min_task_seconds",
        "max_fast": "max_fast_rate",
        "votes": "simulated_votes",
    },
    "audit": {
        "limits": "max_text_auroc",
        "foreign": "num_negative_trials",
        "repetitions": "num_replicates",
    },
    "batch": {
        "template_share": "template_proportion",
        "filter_share": "gold_proportion",
        "foreign_tries": "num_negative_trials",
    },
    "paper": {
        "votes": "votes_per_candidate",
    },
    "embed": {
        "picture_batch": "image_batch_size",
        "text_batch": "text_batch_size",
    },
    "rank": {
        "cap": "max_question_uses",
        "dev_share": "validation_proportion",
    },
    "perturb": {
        "even_words": "balance_words",
        "same_category": "same_category_rate",
        "weak_share": "max_query_only_proportion",
    },
    "balance": {
        "word_slack": "max_word_imbalance",
        "most_uneven": "max_dropped_proportion",
    },
    "ingest": {
        "questions": "question_set",
    },
    "release": {
        "published": "release_date",
        "licences": "licence_overrides",
        "pictures": "include_images",
        "fetch_recipe": "image_instructions",
        "collected": "annotation_dates",
        "simulated": "simulated_content",
        "limits": "limitations",
        "uses": "intended_uses",
        "folds": "num_folds",
        "origin": "data_source",
    },
    "vocabulary": {
        "listed_at_most": "max_annotation_recall",
    },
    "leaderboard": {
        "against": "baseline",
        "repetitions": "num_replicates",
    },
}
# Commands of rgqa: name until version 0.11 -> name now.
RENAMED_COMMANDS: dict[str, str] = {
    "annotate forget": "annotate erase",
    "annotate round": "annotate end-round",
    "annotate study": "annotate human-baseline",
    "annotate study draw": "annotate human-baseline sample",
    "annotate study score": "annotate human-baseline score",
    "look": "attribute",
    "table": "export",
    "vectors": "export-embeddings",
    "study blind-baseline": "study text-only-baseline",
    "study attackers": "study transformer-attacker",
    "study judge-agreement": "study verifier-agreement",
    "study judge-completeness": "study verifier-completeness",
    "study reading": "study edit-quality",
    "study reading draw": "study edit-quality create-sheets",
    "study reading score": "study edit-quality score-sheets",
    "study reader": "study abstention-classifier",
    "study reader-train": "study train-abstention-classifier",
    "study votes": "study votes-needed",
    "study looking": "study attribution",
    "study fresh": "study rank-stability",
    "study kinds": "study derive-kinds",
    "sample twins": "sample counterfactual-pairs",
    "sample draw": "sample new-world",
}
# Options: command by its name now -> name of the option until version 0.11 -> name now.
RENAMED_OPTIONS: dict[str, dict[str, str]] = {
    "annotate forecast": {
        "--rate": "--hourly-pay",
        "--people": "--annotators",
    },
    "annotate human-baseline sample": {
        "--each": "--items-per-label",
    },
    "annotate invite": {
        "--leave": "--remove",
        "--link": "--open-link",
        "--expert": "--adjudicator",
        "--ethics": "--ethics-approval",
    },
    "attribute": {
        "--grids": "--maps",
        "--of": "--release",
        "--words": "--ocr-words",
    },
    "audit": {
        "--text": "--text-column",
        "--label": "--label-column",
        "--positive": "--positive-label",
        "--group": "--image-column",
        "--repetitions": "--bootstrap",
        "--balance": "--balanced-subset",
        "--page": "--html",
    },
    "baselines": {
        "--data-set": "--dataset",
        "--train": "--train-questions",
        "--val": "--val-questions",
        "--row": "--baseline",
        "--epochs": "--base-epochs",
        "--more-epochs": "--finetune-epochs",
        "--answers": "--num-answers",
        "--check": "--num-val-questions",
        "--net": "--architecture",
        "--work": "--checkpoint-dir",
    },
    "convert visual-genome": {
        "--into": "--dataset",
    },
    "convert vqa": {
        "--into": "--dataset",
        "--prefix": "--image-prefix",
        "--digits": "--image-digits",
    },
    "diff": {
        "--full": "--list-items",
    },
    "fetch": {
        "--into": "--dataset",
        "--whole": "--full-archives",
        "--choices": "--answer-choices",
        "--archives": "--archives-from",
        "--cache": "--cache-dir",
        "--accept-changed": "--accept-changes",
    },
    "leaderboard": {
        "--by": "--sort-by",
    },
    "publish": {
        "--to": "--destination",
        "--as-demo": "--allow-simulated",
    },
    "report": {
        "--look": "--attribution",
        "--gallery": "--examples-per-subset",
    },
    "run": {
        "--recipe": "--confidence",
        "--pixels": "--max-image-size",
        "--samples": "--num-replies",
        "--connections": "--max-connections",
        "--price-in": "--input-price",
        "--price-out": "--output-price",
        "--part": "--split",
        "--pictures": "--images",
        "--no-picture": "--no-image",
    },
    "sample counterfactual-pairs": {
        "--name": "--dataset",
        "--pairs": "--num-pairs",
    },
    "sample fit-vqa": {
        "--threads": "--num-workers",
    },
    "sample serve": {
        "--delay": "--delay-seconds",
        "--fail": "--failure-rate",
        "--truncate": "--truncation-rate",
        "--rate": "--max-requests-per-second",
    },
    "sample train-clip": {
        "--chunks": "--image-chunks",
        "--small-steps": "--small-image-steps",
        "--picture-steps": "--image-steps",
        "--start": "--resume-from",
        "--threads": "--num-threads",
    },
    "sample train-vqa": {
        "--net": "--model",
        "--threads": "--num-workers",
    },
    "score": {
        "--free-text": "--detect-abstention",
        "--dev": "--validation",
        "--judge": "--abstention-labels",
        "--by": "--group-by",
        "--extra": "--resource",
        "--without-errata": "--exclude-errata",
        "--part": "--split",
    },
    "study abstention-classifier": {
        "--part": "--split",
        "--show": "--num-examples",
    },
    "study attribution": {
        "--seeds": "--net-seed",
    },
    "study edit-quality score-sheets": {
        "--worst": "--num-worst",
    },
    "study text-only-baseline": {
        "--most": "--max-pairs",
    },
    "study transformer-attacker": {
        "--most": "--max-pairs",
        "--init": "--init-checkpoint",
    },
    "study validity": {
        "--twins": "--counterfactual-release",
        "--twins-again": "--replication-release",
        "--images-again": "--replication-images",
        "--further": "--graded-nets",
        "--no-further": "--no-graded-nets",
    },
    "study verifier-agreement": {
        "--show": "--num-examples",
        "--foreign": "--num-other-images",
    },
    "study verifier-completeness": {
        "--like": "--source",
        "--show": "--num-examples",
    },
    "study votes-needed": {
        "--crowds": "--crowd-seed",
        "--most": "--max-votes",
    },
}


def find_renamed_parameter(name: str, fields: Collection[str]) -> str | None:
    """Return the name that a parameter of params.yaml has now.

    Args:
        name: A key of a section that is not a parameter.
        fields: Names of the section's parameters.

    Returns:
        The new name, or None if the key is not an old name of one of the parameters.

    Example:
        >>> find_renamed_parameter("dev_share", {"seed", "validation_proportion"})
        'validation_proportion'
    """
    new_names = (section.get(name) for section in RENAMED_PARAMETERS.values())
    return next((new for new in new_names if new in fields), None)


def explain_renamed_command(words: Sequence[str]) -> str | None:
    """Return a message for a command line that begins with an old name of a command.

    Args:
        words: The words after `rgqa`, with options and arguments.

    Returns:
        What the command and its options are called now, or None if the command was not renamed.

    Example:
        >>> explain_renamed_command(["look", "00095300", "--grids", "maps.json"])
        '`rgqa look` is now `rgqa attribute`, --grids is now --maps'
    """
    for length in range(len(words), 0, -1):
        old = " ".join(words[:length])
        if new := RENAMED_COMMANDS.get(old):
            changes = [f"`rgqa {old}` is now `rgqa {new}`", *_list_renamed_options(new, words[length:])]
            return ", ".join(changes)
    return None


def explain_renamed_options(
    command: str, arguments: Iterable[str], known: Collection[str] = ()
) -> str | None:
    """Return a message for a command line that has old names of options.

    Args:
        command: The current name of the command, without `rgqa`.
        arguments: The words after the command.
        known: Options that the command has now. These options are never reported.

    Returns:
        What the options are called now, or None if no option was renamed.

    Example:
        >>> explain_renamed_options("run", ["release", "--part=test", "--recipe", "verbal"])
        '--part is now --split, --recipe is now --confidence'
    """
    return ", ".join(_list_renamed_options(command, arguments, known)) or None


def _list_renamed_options(command: str, arguments: Iterable[str], known: Collection[str] = ()) -> list[str]:
    renamed, found = RENAMED_OPTIONS.get(command, {}), []
    for argument in arguments:
        # Words after `--` are not options.
        if argument == "--":
            break
        option = argument.partition("=")[0]
        if option in renamed and option not in known:
            found.append(f"{option} is now {renamed[option]}")
    return list(dict.fromkeys(found))


class RenamingArgumentParser(argparse.ArgumentParser):
    """A parser that refuses old names of options, with a message that states the new names.

    Args:
        command: Name of the command in `RENAMED_OPTIONS`.
        kwargs: Arguments of `argparse.ArgumentParser`.
    """

    def __init__(self, command: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.command = command

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        given = sys.argv[1:] if args is None else list(args)
        # This check comes before parsing, because the value of an unknown option would be taken as another
        # argument.
        if message := explain_renamed_options(self.command, given, self._option_string_actions):
            self.error(message)
        return super().parse_known_args(given, namespace)
