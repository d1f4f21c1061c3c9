"""Reads the nouns of WordNet 3.0 from its dictionary files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pipeline.core.errors import Problems

FILES = ("data.noun", "index.noun", "cntlist.rev")
_RUDE = re.compile(
    r"slur|offensive|disparag|derogat|obscene|vulgar|insult|taboo|contempt|prostitut|intercourse"
)


@dataclass(frozen=True, slots=True)
class Sense:
    """A synset: its lexicographer file, its words, its more general synsets, whether it is an individual
    (London) and whether its words may offend."""

    file: int
    words: tuple[str, ...]
    above: tuple[str, ...]
    individual: bool
    rude: bool


class WordNet:
    """WordNet's nouns.

    Attributes:
        senses: synset's id -> sense. index: lemma -> ids of its synsets, in WordNet's order.
        counts: (lemma, number of its sense) -> how often the sense is tagged in WordNet's texts.
        other: lemma -> how often it is tagged as another part of speech.
        mentions: word -> how many definitions and examples use it.

    Raises:
        UserError: lists the files that are missing.
    """

    def __init__(self, folder: Path) -> None:
        problems = Problems(f"WordNet in {folder}")
        for name in FILES:
            if not (folder / name).is_file():
                problems.add(name, "not there; give the folder of WordNet 3.0's dictionary files")
        problems.raise_if_any()
        self.senses: dict[str, Sense] = {}
        self.mentions: Counter[str] = Counter()
        for line in _lines(folder / "data.noun"):
            self._read_synset(line)
        self.index = {
            fields[0]: tuple(fields[-int(fields[2]) :])
            for fields in map(str.split, _lines(folder / "index.noun"))
        }
        self.counts: dict[tuple[str, int], int] = {}
        self.other: Counter[str] = Counter()
        for line in _lines(folder / "cntlist.rev"):
            key, number, count = line.split()
            lemma, _, rest = key.partition("%")
            if rest.startswith("1:"):
                self.counts[lemma, int(number)] = int(count)
            else:
                self.other[lemma] += int(count)

    def _read_synset(self, line: str) -> None:
        data, _, definition = line.partition(" | ")
        fields = data.split()
        number = int(fields[3], 16)
        words = tuple(fields[4 : 4 + 2 * number : 2])
        rest = fields[4 + 2 * number :]
        pointers = [rest[1 + 4 * i : 3 + 4 * i] for i in range(int(rest[0]))]
        above = tuple(target for kind, target in pointers if kind == "@")
        individual = any(kind == "@i" for kind, _ in pointers)
        rude = bool(_RUDE.search(definition))
        self.senses[fields[0]] = Sense(int(fields[1]), words, above, individual, rude)
        self.mentions.update(set(re.findall(r"[a-z][a-z'-]*", definition.lower())))

    def has(self, spec: str) -> bool:
        """Whether there is a sense `lemma#n`."""
        lemma, _, number = spec.partition("#")
        return 0 < int(number) <= len(self.index.get(lemma, ()))

    def numbered(self, spec: str) -> str:
        """The synset of `lemma#n`."""
        lemma, _, number = spec.partition("#")
        return self.index[lemma][int(number) - 1]

    def count(self, lemma: str, synset: str) -> int:
        """How often a lemma is tagged with a sense."""
        return self.counts.get((lemma, self.index[lemma].index(synset) + 1), 0)

    def up(self, synset: str) -> frozenset[str]:
        """A synset and all above it."""
        found, waiting = set(), [synset]
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                waiting += self.senses[one].above
        return frozenset(found)


def _lines(path: Path) -> Iterator[str]:
    """The lines of a dictionary file, the licence at its top (indented) left out."""
    with path.open(encoding="utf-8", errors="replace") as file:
        yield from (line for line in file if not line.startswith(" "))
