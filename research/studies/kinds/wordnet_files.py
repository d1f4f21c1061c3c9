"""Read the nouns of WordNet 3.0 from its dictionary files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pipeline.core.errors import Problems
from pipeline.language.lexicon import compute_closure

WORDNET_FILES = ("data.noun", "index.noun", "cntlist.rev")
_OFFENSIVE_PATTERN = re.compile(
    r"slur|offensive|disparag|derogat|obscene|vulgar|insult|taboo|contempt|prostitut|intercourse"
)


@dataclass(frozen=True, slots=True)
class Sense:
    """A synset.

    Attributes:
        lexname: Number of its lexicographer file.
        words: Its words.
        hypernyms: Ids of its hypernyms.
        is_instance: It is an individual, such as London.
        is_offensive: Its words may offend.
    """

    lexname: int
    words: tuple[str, ...]
    hypernyms: tuple[str, ...]
    is_instance: bool
    is_offensive: bool


class WordNet:
    """WordNet's nouns.

    Attributes:
        senses: Id of a synset -> sense.
        index: Lemma -> ids of its synsets, in WordNet's order.
        synset_by_sense: `lemma#n` -> id of the lemma's n-th synset.
        sense_counts: `lemma#n` -> how often the sense is tagged in WordNet's texts.
        other_pos_counts: Lemma -> how often it is tagged as another part of speech.
        mentions: Word -> number of definitions and examples that use it.

    Raises:
        UserError: Lists the missing files.
    """

    def __init__(self, folder: Path) -> None:
        problems = Problems(f"WordNet in {folder}")
        for name in WORDNET_FILES:
            if not (folder / name).is_file():
                problems.add(name, "no such file. Name the folder of WordNet 3.0's dictionary files")
        problems.raise_if_any()
        self.senses: dict[str, Sense] = {}
        self.sense_counts, self.other_pos_counts, self.mentions = (
            Counter[str](),
            Counter[str](),
            Counter[str](),
        )
        for line in _read_lines(folder / "data.noun"):
            self._read_synset(line)
        index = map(str.split, _read_lines(folder / "index.noun"))
        self.index = {fields[0]: tuple(fields[-int(fields[2]) :]) for fields in index}
        self.synset_by_sense = {
            f"{lemma}#{n}": id_ for lemma, ids in self.index.items() for n, id_ in enumerate(ids, 1)
        }
        for key, number, count in map(str.split, _read_lines(folder / "cntlist.rev")):
            lemma, _, rest = key.partition("%")
            if rest.startswith("1:"):
                self.sense_counts[f"{lemma}#{number}"] = int(count)
            else:
                self.other_pos_counts[lemma] += int(count)

    def _read_synset(self, line: str) -> None:
        data, _, definition = line.partition(" | ")
        fields = data.split()
        end = 4 + 2 * int(fields[3], 16)
        pointers = [(fields[i], fields[i + 1]) for i in range(end + 1, end + 1 + 4 * int(fields[end]), 4)]
        self.senses[fields[0]] = Sense(
            lexname=int(fields[1]),
            words=tuple(fields[4:end:2]),
            hypernyms=tuple(target for kind, target in pointers if kind == "@"),
            is_instance=any(kind == "@i" for kind, _ in pointers),
            is_offensive=bool(_OFFENSIVE_PATTERN.search(definition)),
        )
        self.mentions.update(set(re.findall(r"[a-z][a-z'-]*", definition.lower())))

    def hypernym_closure(self, synset: str) -> frozenset[str]:
        """Return a synset and all its hypernyms."""
        return compute_closure(synset, lambda one: self.senses[one].hypernyms)


def _read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a dictionary file without the indented licence at its top."""

    with path.open(encoding="utf-8", errors="replace") as file:
        yield from (line for line in file if not line.startswith(" "))
