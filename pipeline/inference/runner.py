"""Run a model on a release (docs/guides/run_a_model.md)."""

from __future__ import annotations

import asyncio
import importlib.metadata
import platform
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.errors import UserError, format_count, warn
from ..scoring.abstention import classify_abstention
from ..scoring.harness_logs import EMPTY
from ..scoring.items import Benchmark
from ..scoring.joined_predictions import warn_of_empty_replies
from ..scoring.normalize import has_text
from ..scoring.version import VERSION
from .confidence_methods import SAMPLING_TEMPERATURE, get_confidence_method
from .cost_forecast import Prices
from .probe import INSPECT_MISSING_MESSAGE, open_and_probe
from .prompts import hash_texts
from .release_questions import DistinctQuestion, ReleaseQuestions, choose_questions
from .request_pool import ask_requests, recover_sessions, redirect_inspect_files
from .run_folder import ANSWER_VOCABULARY_FILE, JournalRow, RunFolder
from .run_monitor import UNUSABLE_REPLY_KINDS
from .run_options import RunOptions, resolve_settings

if TYPE_CHECKING:
    from .chat_model import ChatSender

# Maximum number of replies that are classified together.
MAX_CLASSIFIED_TOGETHER = 256


class RunOutcome(NamedTuple):
    """The result of a run.

    Attributes:
        folder: Folder of the run.
        item_ids: Ids of the items whose questions the run asks.
        record: The content of run.json.
        benchmark: The release, with the subsets that were asked.
        stop_reason: Why the run stopped early; "" if it is complete.
    """

    folder: RunFolder
    item_ids: frozenset[str]
    record: dict[str, Any]
    benchmark: Benchmark
    stop_reason: str = ""


class RunSubject(NamedTuple):
    """What a run asks.

    Attributes:
        settings: The settings that must be equal for a run to be resumed, as in run.json.
        benchmark: The items, with the subsets that are asked.
        choose: Chooses the questions: (options, benchmark) -> questions.
    """

    settings: dict[str, Any]
    benchmark: Benchmark
    choose: Callable[[RunOptions, Benchmark], ReleaseQuestions]


def run_model(options: RunOptions, subject: RunSubject | None = None) -> RunOutcome:
    """Ask the model all questions that have no reply yet, and write run.json and predictions.jsonl.

    Args:
        options: The options of the run.
        subject: What is asked; None for the release that the options name.

    Raises:
        UserError: The run cannot start. All faults are listed.
    """
    # The settings are checked before the defaults are filled in, which the user did not give.
    subject = subject or RunSubject(*resolve_settings(options), _choose_questions)
    options = options.with_defaults
    settings, benchmark = subject.settings, subject.benchmark
    write_inspect_log = _import_log_writer() if options.inspect_log else None
    needs_several = get_confidence_method(options.confidence).needs_several_replies
    order = [*dict.fromkeys(name for items in benchmark.subsets.values() for name in items["id"])]
    folder, stop_reason, failures = RunFolder(options.output_folder), "", {}
    with folder.hold_lock():
        before = folder.load_previous(settings)
        questions = subject.choose(options, benchmark)
        if options.limit:
            print(_describe_limit(questions, order), file=sys.stderr)
        asked = frozenset(name for row in questions.rows for name in row.item_ids)
        order = [name for name in order if name in asked]
        record = {
            **settings,
            "server": options.server,
            "release_path": str(options.release),
            "model_info": before.get("model_info", {}),
            "warnings": before.get("warnings", []),
        }
        record["sessions"] = recover_sessions(before.get("sessions", []), folder.rows)
        question_ids = {row.id for row in questions.rows}
        if question_ids - {row["id"] for row in folder.rows}:
            with redirect_inspect_files(folder.path):
                stop_reason, failures = _ask_remaining(options, questions, folder, record)
        folder.write_predictions(order)
        _warn_of_empty_replies(folder.rows, record)
        folder.write_distribution(order)
        rows = [row for row in folder.rows if row["id"] in question_ids]
        record |= _summarize_replies(rows, len(question_ids), asked, failures, options.prices) | {
            "generate_config": {
                "temperature": SAMPLING_TEMPERATURE if needs_several else 0.0,
                "max_tokens": options.max_tokens,
                "seed": options.seed,
            },
            "versions": {
                "rgqa_scorers": VERSION,
                "python": platform.python_version(),
                **_find_client_version(options),
            },
        }
        folder.write_json("run.json", record)
        if options.inspect_log and write_inspect_log and not stop_reason:
            write_inspect_log(options.inspect_log, questions, rows, record)
    return RunOutcome(folder, asked, record, benchmark, stop_reason)


def _import_log_writer() -> Callable[..., None]:
    try:
        from .inspect_log import write_inspect_log
    except ModuleNotFoundError:
        raise UserError(INSPECT_MISSING_MESSAGE) from None
    return write_inspect_log


def _find_client_version(options: RunOptions) -> dict[str, str]:
    """Return the package that sends the requests, with its version; {} if it is not installed."""
    client = "aiohttp" if options.is_asked_directly else "inspect_ai"
    try:
        return {client: importlib.metadata.version(client)}
    except importlib.metadata.PackageNotFoundError:
        return {}


def _describe_limit(questions: ReleaseQuestions, all_item_ids: Sequence[str]) -> str:
    whole = f" in {format_count(questions.num_pairs, 'pair')}" if questions.num_pairs else ""
    return (
        f"run: {format_count(len(questions.rows), 'question')}{whole}, sampled at random from "
        f"{format_count(len(all_item_ids), 'item')}"
    )


def _choose_questions(options: RunOptions, benchmark: Benchmark) -> ReleaseQuestions:
    return choose_questions(
        benchmark,
        options.release.resolve(),
        split=options.split,
        prompt=options.prompt,
        confidence=options.confidence,
        max_image_size=options.max_image_size,
        images=options.images or "",
        shots=options.shots,
        seed=options.seed,
        num_replies=options.num_replies,
        max_tokens=options.max_tokens,
        no_image=options.no_image,
        limit=options.limit,
    )


def _ask_remaining(
    options: RunOptions, questions: ReleaseQuestions, folder: RunFolder, record: dict[str, Any]
) -> tuple[str, dict[str, str]]:
    """Probe the server and ask all questions that have no reply yet.

    Returns:
        Why the run stopped early ("" if it did not), and question id -> failure.
    """
    model, capabilities = open_and_probe(options)
    from .dynamic_batching import DynamicBatcher
    from .question_dialog import Transcript, UnusableReply, ask_question

    model_info = dict(model.model_info)
    if model.answer_vocabulary:
        model_info["answer_vocabulary"] = hash_texts(*model.answer_vocabulary)
    for key in ("revision", "answer_vocabulary") if folder.rows else ():
        if (known := record["model_info"].get(key)) != (now := model_info.get(key)):
            raise UserError(
                f"{folder.path}: its replies are of {key.replace('_', ' ')} {known}, now {now}; choose another --out"
            )
    record["model_info"] = model_info
    if model.answer_vocabulary:
        folder.write_json(ANSWER_VOCABULARY_FILE, [*model.answer_vocabulary])
    record["warnings"] = [*dict.fromkeys([*record["warnings"], *capabilities.warnings])]
    for line in capabilities.warnings:
        warn(line)
    prompted_run = questions.prompted_run._replace(use_num_choices=capabilities.supports_num_choices)

    # Classifying many replies together takes a small part of the time of one after the other.
    def classify_pairs(pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        asked, texts = zip(*pairs, strict=True)
        return classify_abstention(asked, texts, prompted_run.answer_words).tolist()

    classify_batch = DynamicBatcher(classify_pairs, MAX_CLASSIFIED_TOGETHER)

    async def classify(asked: Sequence[str], texts: Sequence[str]) -> Sequence[float]:
        return await asyncio.gather(*map(classify_batch, zip(asked, texts, strict=True)))

    async def ask(question: DistinctQuestion, model: ChatSender) -> JournalRow:
        transcript, started, failure, answer = Transcript(), time.time(), "", None
        try:
            item = question.item
            answer = await ask_question(
                prompted_run,
                model,
                question.asked_text,
                item.image,
                transcript,
                classify,
                item.question_text,
            )
        except UnusableReply as error:
            failure = str(error)
            if not failure.startswith(UNUSABLE_REPLY_KINDS):
                raise
        return {
            "id": question.id,
            "item_ids": question.item_ids,
            "prediction": answer.prediction if answer else None,
            "confidence": answer.confidence if answer else None,
            "abstained": bool(answer and answer.has_abstained),
            "raw_replies": transcript.raw_replies,
            "failure": failure,
            "started_at": started,
            "seconds": time.time() - started,
            "tokens": [transcript.num_input_tokens, transcript.num_output_tokens],
            **({"token_logprobs": transcript.token_logprobs} if any(transcript.token_logprobs) else {}),
            **({"distribution": answer.distribution} if answer and answer.distribution else {}),
            **({"is_question_truncated": True} if transcript.is_question_truncated else {}),
        }

    done = {row["id"] for row in folder.rows}
    remaining = [row for row in questions.rows if row.id not in done]
    folder.write_json("run.json", record)
    outcome = ask_requests(options, model, remaining, ask, folder, len(done))
    record["sessions"].append(outcome.session)
    return outcome.stop_reason, outcome.failures


def _warn_of_empty_replies(rows: Sequence[Mapping[str, Any]], record: dict[str, Any]) -> None:
    """Warn if many replies are empty: the model left them empty, or a filter withheld them.

    Replies without text count as abstentions.
    """
    answered = [row for row in rows if not row["failure"]]
    empty = [EMPTY for row in answered if not has_text(row["prediction"] or "")]
    if (warning := warn_of_empty_replies(empty, len(answered))) and warning not in record["warnings"]:
        record["warnings"] = [*record["warnings"], warning]
        warn(warning)


def _summarize_replies(
    rows: Sequence[Mapping[str, Any]],
    num_questions: int,
    item_ids: Collection[str],
    failures: Mapping[str, str],
    prices: Prices,
) -> dict[str, Any]:
    """Count the replies, tokens, costs and failures of all sessions."""
    answered = [row for row in rows if not row["failure"]]
    tokens = [sum(row["tokens"][i] for row in rows) for i in (0, 1)]
    return {
        "counts": {
            "items": len(item_ids),
            "answered": sum(len(row["item_ids"]) for row in answered),
            "abstained": sum(len(row["item_ids"]) for row in answered if row["abstained"]),
            "questions": num_questions,
            "replies": len(rows),
            "failed": len(failures),
            **{
                name.replace(" ", "_"): sum(row["failure"].startswith(name) for row in rows)
                for name in UNUSABLE_REPLY_KINDS
            },
        },
        "tokens": {"input": tokens[0], "output": tokens[1]},
        "cost": prices.compute_cost(tokens[0], tokens[1]) if prices.is_known else None,
        "failures": {**failures, **{row["id"]: row["failure"] for row in rows if row["failure"]}},
    }
