"""What a release says of itself: the dataset card, README.md, front matter for `datasets` included; and croissant.json,
a description of its tables for machines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import date, datetime, time
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from pipeline.core.files import sha256_file
from pipeline.core.pages import render
from pipeline.core.records import SUBSETS, Item, Record, Subset
from pipeline.releasing.provenance import ReleaseParams

HOW: dict[Subset, str] = {
    "clip-easy": "questions of other pictures, least similar to the picture by CLIP",
    "clip-hard": "questions of other pictures, among the most similar by CLIP",
    "pt-easy": "own questions with objects replaced",
    "pt-hard": "own questions with attributes or spatial relations replaced",
}
PAIRING = {
    "image_and_text": "In the CLIP subsets every text appears as often as UQ as it does as AQ (of another picture), and every "
    "picture has as many of either, so that neither alone gives the label away. Judging items against each other "
    '("I have seen this text as an AQ, so here it must be a UQ") defeats the test.',
    "image": "Each UQ of the CLIP subsets stands beside an AQ of the same picture (the rule of the RGQA paper).",
}


# Types of columns, by those of Parquet; a column of another type (lists, pictures) is not described.
TYPES = {"string": "Text", "int32": "Integer", "int64": "Integer", "double": "Float", "bool": "Bool"}


class SubsetCounts(Record):
    """What a subset holds: `texts` are the distinct texts of its UQs, `words` their mean number of words, `how` is how
    they came about, `difficulties` how many UQs are of each."""

    name: Subset
    how: str
    uqs: int
    aqs: int
    texts: int
    words: float
    pictures: int
    difficulties: dict[str, int]


class VoteCounts(Record):
    """What the UQs rest on.

    Attributes:
        annotators, excluded: how many judged, and how many of them count for nothing or not to the end.
        votes: votes that count -> UQs with so many.
        agreement: Krippendorff's alpha and Gwet's AC1, as they are told, each with its interval.
        wrong: the share expected to have an answer after all, as it is told; "" where no probabilities are known.
    """

    annotators: int
    excluded: int
    votes: dict[int, int]
    agreement: str
    wrong: str = ""

    @property
    def mean(self) -> float:
        """Votes per UQ."""
        return sum(votes * count for votes, count in self.votes.items()) / max(1, sum(self.votes.values()))

    @property
    def single(self) -> int:
        """UQs that rest on a single vote."""
        return self.votes.get(1, 0)

    @property
    def few(self) -> bool:
        """Whether this is a trial: fewer than two votes each on average, or fewer than three people."""
        return self.mean < 2 or self.annotators - self.excluded < 3


def card(items: Sequence[Item], p: ReleaseParams, balance_rule: str, judged: VoteCounts, **facts: Any) -> str:
    """The text of README.md. Counts are of these items.

    Args:
        judged: what the UQs rest on. facts: what else the template names: version, canary, model, weights, warnings, audit_table.
    """
    simulated, rehearsal = any(item.simulated for item in items), any(item.rehearsal for item in items)
    title = f"{'REHEARSAL of ' if rehearsal else ''}{p.title} {facts['version']}"
    marks = {"unanswerable questions": True, "simulated annotation": simulated, "rehearsal": rehearsal}
    return render(
        Path(__file__).parent / "card.md.jinja",
        front_matter=_front_matter(items, title, [tag for tag, present in marks.items() if present]),
        subsets=[counted(subset, items) for subset in SUBSETS if any(i.subset == subset for i in items)],
        title=title,
        simulated=simulated,
        rehearsal=rehearsal,
        pairing=PAIRING[balance_rule],
        judged=judged,
        p=p,
        **facts,
    )


def counted(subset: Subset, items: Sequence[Item]) -> SubsetCounts:
    """Counts of those items that are of the subset."""
    members = [item for item in items if item.subset == subset]
    uqs = [item for item in members if item.unanswerable]
    return SubsetCounts(
        name=subset,
        how=HOW[subset],
        uqs=len(uqs),
        aqs=len(members) - len(uqs),
        texts=len({item.text for item in uqs}),
        words=mean_words(uqs),
        pictures=len({item.picture_id for item in members}),
        difficulties=Counter(item.difficulty for item in uqs if item.difficulty),
    )


def mean_words(items: Collection[Item]) -> float:
    """Mean number of words, as split by blanks. (The RGQA paper does not say how it counts.)"""
    return sum(len(item.text.split()) for item in items) / len(items) if items else 0.0


def _front_matter(items: Sequence[Item], title: str, tags: list[str]) -> str:
    """What the hub and `datasets.load_dataset` read: the tables of each subset and part."""
    from huggingface_hub import DatasetCardData

    tables = sorted({(item.subset, item.part) for item in items})
    return DatasetCardData(
        pretty_name=title,
        task_categories=["visual-question-answering"],
        language=["en"],
        tags=tags,
        configs=[
            {
                "config_name": subset,
                "data_files": [{"split": part, "path": f"data/{subset}-{part}.parquet"} for _, part in parts],
            }
            for subset, parts in groupby(tables, key=itemgetter(0))
        ],
    ).to_yaml()


def croissant(
    folder: Path, *, name: str, version: str, description: str, licence_url: str, published: date
) -> dict[str, Any]:
    """The description (Croissant 1.0) of every Parquet table in `folder/data`, one record set each, made and checked by
    mlcroissant."""
    import mlcroissant as mlc
    from pyarrow.parquet import read_schema

    tables = sorted((folder / "data").glob("*.parquet"))
    metadata = mlc.Metadata(
        name=name,
        version=version,
        description=description,
        license=[licence_url],
        date_published=datetime.combine(published, time()),
        url=f"https://example.org/{name}",
        cite_as=f"{name} {version}",
        distribution=[
            mlc.FileObject(
                id=table.name,
                name=table.name,
                content_url=f"data/{table.name}",
                encoding_formats=["application/x-parquet"],
                sha256=sha256_file(table),
            )
            for table in tables
        ],
        record_sets=[
            mlc.RecordSet(
                id=table.stem,
                name=table.stem,
                fields=[
                    mlc.Field(
                        id=f"{table.stem}/{column.name}",
                        name=column.name,
                        data_types=[getattr(mlc.DataType, TYPES[str(column.type)].upper())],
                        source=mlc.Source(file_object=table.name, extract=mlc.Extract(column=column.name)),
                    )
                    for column in read_schema(table)
                    if str(column.type) in TYPES
                ],
            )
            for table in tables
        ],
    )
    return json.loads(json.dumps(metadata.to_json(), default=str))
