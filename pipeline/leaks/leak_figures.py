"""What of a set can be told without its pictures: the audit's attackers on texts, words that tell, margins.

Attackers learn twice. In folds by text no text is on both sides: what they tell then is in how the labels' texts are made.
In folds by picture the same text comes again beside another picture, as it does for whoever trains on the like: what
they tell then is also which texts are mostly which.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from msgspec.structs import asdict
from threadpoolctl import threadpool_limits

from pipeline.auditing.attackers import UNLEARNED, Attack, Folds, attack, text_groups
from pipeline.auditing.margins import Margin, margin_of
from pipeline.auditing.text_attackers import TEXT_ATTACKERS, TOLD_APART
from pipeline.core.engine import ordered_map, threads
from pipeline.core.progress import track
from pipeline.core.randomness import generator
from pipeline.core.records import Record
from pipeline.leaks.read_set import LabelledSet
from pipeline.leaks.word_shares import TellingWord, telling_words
from pipeline.scorers import auroc

By = Literal["text", "picture"]
# Those of the audit that need to know nothing but the set.
ATTACKERS = {
    name: guess
    for name, guess in (TEXT_ATTACKERS | TOLD_APART).items()
    if name not in ("other questions", "verbatim")
}
SMALL = 2000  # rows that are attacked faster than a second process starts

SIDELESS = ("language model", "length")  # what is high for them is of neither label, so they are never wrong


class LeakAttack(Attack):
    """What an attacker reaches. `turned`: it is wrong oftener than right, so its AUROC stands as 1 - AUROC; that mostly comes
    where labels were evened out."""

    turned: bool


class LeakParams(NamedTuple):
    """Folds of every attacker, bootstrap samples of every interval, the seed of both."""

    folds: int = 5
    repetitions: int = 500
    seed: int = 0


class Leaks(Record):
    """All figures of a set. `attacks`: by what folds keep apart, then by attacker; `strongest`: of each the one whose interval
    begins highest, if that is beyond chance. `pictures`, `picture_margin`: None where pictures are not known. In margins UQ is the label `one`.
    `repeated`: rows whose text, picture and label stood before; `contradicted`: rows whose text and picture have both
    labels. `left_out`: rows of the source that do not count, by reason."""

    name: str
    form: str
    zero: str
    one: str
    zeros: int
    ones: int
    texts: int
    pictures: int | None
    repeated: int
    contradicted: int
    left_out: Mapping[str, int]
    attacks: Mapping[By, Mapping[str, LeakAttack]]
    strongest: Mapping[By, str | None]
    words: Sequence[TellingWord]
    text_margin: Margin
    picture_margin: Margin | None


def leaks_of(name: str, rows: LabelledSet, p: LeakParams) -> Leaks:
    """Measure a set; on several processes, whose number changes no figure."""
    groups: dict[By, np.ndarray] = {"text": text_groups(rows.texts, rows.linked or rows.texts)}
    if rows.pictures is not None:
        groups["picture"] = rows.pictures
    attacks = attacks_on(rows, groups, p)
    pictures: Sequence[object] = [0] * len(rows) if rows.pictures is None else rows.pictures.tolist()
    told = Counter(zip(rows.texts, pictures, rows.labels.tolist(), strict=True))
    both = [count for (text, picture, label), count in told.items() if (text, picture, 1 - label) in told]
    labels = (rows.labels == 1).tolist()
    return Leaks(
        name=name,
        form=rows.form,
        zero=rows.meaning[0],
        one=rows.meaning[1],
        zeros=labels.count(False),
        ones=labels.count(True),
        texts=len(set(rows.texts)),
        pictures=None if rows.pictures is None else len(set(pictures)),
        repeated=0 if rows.pictures is None else len(rows) - len(told),
        contradicted=0 if rows.pictures is None else sum(both),
        left_out=rows.left_out,
        attacks=attacks,
        strongest={by: strongest(found) for by, found in attacks.items()},
        words=telling_words(rows.texts, rows.labels, groups.get("picture", groups["text"])),
        text_margin=margin_of(zip(rows.texts, labels, strict=True)),
        picture_margin=None
        if rows.pictures is None
        else margin_of(zip(rows.pictures.tolist(), labels, strict=True)),
    )


def attacks_on(
    rows: LabelledSet, groups: Mapping[By, np.ndarray], p: LeakParams
) -> dict[By, dict[str, LeakAttack]]:
    """What each attacker reaches in each kind of folds."""
    tasks: list[tuple[By, str]] = [(by, name) for name in ATTACKERS for by in groups]
    workers = min(threads(), len(tasks)) if len(rows) > SMALL else 1
    set_up = partial(_Target, rows.texts, rows.labels, groups, p)
    results = track(ordered_map(_attack, tasks, set_up, workers, 1), "leaks", len(tasks), "attack")
    found: dict[By, dict[str, LeakAttack]] = {by: {} for by in groups}
    for (by, name), result in zip(tasks, results, strict=True):
        found[by][name] = result
    return found


class _Target(NamedTuple):
    """What a process works on."""

    texts: list[str]
    labels: np.ndarray
    groups: Mapping[By, np.ndarray]
    params: LeakParams


def _attack(target: _Target, task: tuple[By, str]) -> LeakAttack:
    by, name = task
    p = target.params
    folds = Folds(target.labels, target.groups[by], p.folds, p.seed)
    with threadpool_limits(1):  # processes work side by side, and sums do not depend on their number
        scores = ATTACKERS[name](target.texts, folds)
    found = attack(scores, folds, p.repetitions, generator(p.seed, "leaks", by, name), name not in UNLEARNED)
    turned = name not in SIDELESS and found.auroc is not None and auroc(scores, target.labels == 1) < 0.5
    return LeakAttack(**asdict(found), turned=turned)


def strongest(attacks: Mapping[str, LeakAttack]) -> str | None:
    """Of those beyond chance the attacker whose interval begins highest, else the one that reaches most; None if none was
    applicable."""
    known = {
        name: (max(attack.low or 0.0, 0.5), attack.auroc)
        for name, attack in attacks.items()
        if attack.auroc is not None
    }
    return max(known, key=lambda name: known[name]) if known else None
