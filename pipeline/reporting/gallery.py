"""A gallery: some UQs of every subset, drawn by lot, each with all that the pipeline knows of it."""

from __future__ import annotations

from collections.abc import Sequence

from annotation.study.judged import judged_task
from pipeline.core.progress import track
from pipeline.core.randomness import generator
from pipeline.core.records import Item, Judgement, Question, Record, Subset, Task, Verdict
from pipeline.judge.citing import Cited, cite
from pipeline.reporting.marking import Piece, marked
from pipeline.reporting.object_boxes import Concerned, concerned
from pipeline.reporting.run_files import Run
from pipeline.reporting.thumbnails import LARGE, SMALL, data_uri
from pipeline.words.lexicon import Lexicon

SEED = 20231001  # of the draw: the same run shows the same items
MOST = 25  # items of a subset, so that the page stays below 10 MB


class Vote(Record):
    """What one annotator said of the candidate. `aside` is why it does not count, "" if it does."""

    annotator: str
    said: str
    reason: str = ""
    aside: str = ""


class Card(Record):
    """One UQ as shown. `text` and `source` are in pieces, so that edits can be marked; `own`: the source question was
    asked of this picture. `known`: facts stated by the picture's questions, where the judgement is by them. `beside` is
    the AQ of its pair, `beside_picture` its picture if that is another one."""

    item: Item
    picture: str
    width: int
    height: int
    concerned: Concerned
    text: list[Piece]
    source: Question
    source_pieces: list[Piece]
    own: bool
    judgement: Judgement
    known: list[Cited]
    votes: list[Vote]
    counted: str
    beside: Question | None
    beside_picture: str


def drawn(items: Sequence[Item], count: int, subset: Subset) -> list[Item]:
    """`count` of the UQs, or all if there are fewer, by lot; in the order of their ids."""
    uqs = sorted((item for item in items if item.unanswerable), key=lambda item: item.item_id)
    lot = generator(SEED, "report", subset).permutation(len(uqs))[:count]
    return [uqs[i] for i in sorted(lot)]


def gallery(run: Run, count: int) -> dict[Subset, list[Card]]:
    """`count` cards of every subset."""
    lexicon = Lexicon(run.vocabulary.categories, run.vocabulary.attribute_types)
    chosen = [item for subset, items in run.items.items() for item in drawn(items, count, subset)]
    cards: dict[Subset, list[Card]] = {}
    cards.update((subset, []) for subset in run.items)
    for item in track(chosen, "report: gallery", unit="item"):
        cards[item.subset].append(card(item, run, lexicon))
    return cards


def card(item: Item, run: Run, lexicon: Lexicon) -> Card:
    """All that is shown of one UQ."""
    source, picture = run.questions[item.question_id], run.pictures[item.picture_id]
    verified = run.verified[item.item_id]
    before, after = marked(source.text, item.text, item.edits)
    beside = run.questions.get(item.pair_id.partition("+")[2])
    elsewhere = beside is not None and beside.picture_id != item.picture_id
    return Card(
        item=item,
        picture=data_uri(picture.path, LARGE),
        width=picture.width,
        height=picture.height,
        concerned=concerned(item, source, run.scenes.get(item.picture_id), lexicon),
        text=after,
        source=source,
        source_pieces=before,
        own=source.picture_id == item.picture_id,
        judgement=verified.judgement,
        known=cite(verified.candidate.program, run.reconstructed[item.picture_id], lexicon)
        if verified.judgement.evidence == "other questions"
        else [],
        votes=[
            vote(run.tasks[v.task_id], v, run.aside.get(v.verdict_id, ""))
            for v in (run.verdicts[key] for key in verified.verdict_ids)
        ],
        counted=f"{verified.votes_invalid} invalid, {verified.votes_valid} valid, {verified.votes_set_aside} set aside",
        beside=beside,
        beside_picture=data_uri(run.pictures[beside.picture_id].path, SMALL) if beside and elsewhere else "",
    )


def vote(task: Task, verdict: Verdict, aside: str) -> Vote:
    """An annotator's word on the candidate of a task."""
    answer = judged_task(task, verdict).candidate
    words = "unsure (counts as valid)" if answer.choice == "unsure" else answer.choice
    return Vote(annotator=verdict.annotator, said=words, reason=answer.reason, aside=aside)
