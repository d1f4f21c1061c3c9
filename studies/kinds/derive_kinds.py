"""Derive kinds.tsv, the table of synonyms and kinds of everyday things, from WordNet 3.0.

    rgqa study kinds /usr/share/wordnet

FOLDER holds WordNet's dictionary files data.noun, index.noun and cntlist.rev (Debian: package wordnet-base).
Only whoever changes `choices` needs them: the table is part of the project.

A name gets the kinds above the sense that pictures show: the one that `choices` tells, else what all senses
have in common that are common in WordNet's tagged texts. A name that is commonly something invisible (wind)
or no noun (snug), and one for people that also names things (dish), gets none. Of synonyms only those are
taken that `choices` trusts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace

from pipeline.core.errors import Problems
from pipeline.core.files import write_text
from pipeline.words.kinds import HEADER, TABLE, NameEntry
from pipeline.words.nouns import PLURAL_ONLY, singular
from studies.kinds import derivation_choices
from studies.kinds.wordnet_files import WordNet

# Lexicographer files of what a picture can show: animal, artifact, body, food, group, location, object,
# person, plant, substance.
VISIBLE = frozenset((5, 6, 8, 13, 14, 15, 17, 18, 20, 27))
_ARTIFACT, _FOOD, _PERSON, _PLANT = 6, 13, 18, 20
_NONE: frozenset[str] = frozenset()
_THINGS = frozenset((5, _ARTIFACT, _FOOD, _PERSON, _PLANT))
_RIVAL = 0.25  # a sense tagged at least so often, relative to the commonest, may be meant as well
_MENTIONS = 4  # a word in so many definitions is an everyday word
_MENTIONS_OF_PARTS = 100  # a name of several such words is an everyday name


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a name means in pictures.

    Attributes:
        synset: the sense meant, "" when several are common.
        kinds: the kinds above every sense that is common.
        everyday: whether the name is in common use.
    """

    synset: str
    kinds: frozenset[str]
    everyday: bool


class Derivation:
    """The rows of the table.

    Args:
        made: the lists of `choices`.

    Raises:
        UserError: lists the senses that the choices name and this WordNet lacks.
    """

    def __init__(self, wordnet: WordNet, made: ModuleType | SimpleNamespace = derivation_choices) -> None:
        self.wordnet, self.made = wordnet, made
        self._check()
        self.roots = []
        for kind, specs in derivation_choices.pairs(made.KINDS):
            of, _, but = specs.partition(" but ")
            self.roots.append((kind, *(frozenset(map(wordnet.numbered, part.split())) for part in (of, but))))
        self.chosen = _senses_chosen(made)
        self.silent = {name.replace(" ", "_") for name in derivation_choices.listed(made.SILENT)}
        self.meanings: dict[str, Meaning] = {}
        for lemma in sorted({*wordnet.index, *self.chosen}, key=lambda lemma: (lemma in self.chosen, lemma)):
            name = self._said(lemma)
            its_own = lemma in self.chosen or name == lemma.replace("_", " ") or name not in wordnet.index
            if its_own and (meaning := self._meaning(lemma)):
                self.meanings[name] = meaning

    def _check(self) -> None:
        lists = (self.made.KINDS, self.made.SENSES)
        named = {
            word for text in lists for _, specs in derivation_choices.pairs(text) for word in specs.split()
        } - {"but"}
        problems = Problems("the senses named in choices.py")
        for spec in sorted({*named, *derivation_choices.listed(self.made.SYNONYMS)}):
            if not self.wordnet.has(spec):
                problems.add(spec, "this WordNet has no such sense; is it WordNet 3.0?")
        problems.raise_if_any()

    def rows(self) -> dict[str, NameEntry]:
        """Name -> row, of all everyday names of which something is known."""
        same = self._synonyms()
        found = {singular(name): NameEntry("", _NONE) for name in derivation_choices.listed(self.made.SILENT)}
        for name, meaning in self.meanings.items():
            word = name.rpartition(" ")[2]
            head = self.meanings.get(word)
            kinds = (meaning.kinds | self._head(name)) - {name}
            misleading = word != name and head and head.kinds and word not in kinds
            known = all(self.wordnet.mentions[word] >= _MENTIONS for word in name.split())
            if (
                (misleading and known)
                or (meaning.everyday and kinds)
                or name in same
                or name in same.values()
            ):
                found[name] = NameEntry(same.get(name, ""), kinds)
        for name, kinds in _by_name(self.made.ALSO):
            row = found.get(name, NameEntry("", _NONE))
            more = (self._up(kind, found) for kind in derivation_choices.listed(kinds))
            found[name] = NameEntry(row.same, row.kinds.union(*more))
        for name, kinds in _by_name(self.made.NOT):
            if name in found:
                found[name] = NameEntry(
                    found[name].same, found[name].kinds.difference(derivation_choices.listed(kinds))
                )
        for name, other in _by_name(self.made.SAME):
            found[name] = NameEntry(singular(other), _NONE)
        for name, row in found.items():  # synonyms are of the same kinds
            if row.same:
                found[name] = NameEntry(row.same, found[row.same].kinds if row.same in found else row.kinds)
        return {
            name: NameEntry(row.same, row.kinds - {name, row.same}) for name, row in sorted(found.items())
        }

    @staticmethod
    def _up(kind: str, found: Mapping[str, NameEntry]) -> frozenset[str]:
        return found[kind].kinds | {kind} if kind in found else frozenset((kind,))

    def _meaning(self, lemma: str) -> Meaning | None:
        """The meaning of a lemma; None if it cannot be seen, is a proper name or is used in too many ways,
        or offends."""
        if chosen := self.chosen.get(lemma):
            synset = self.wordnet.numbered(chosen)
            return Meaning(synset, self._kinds(synset), True)
        visible = self._visible(lemma)
        if not visible or lemma in self.silent:
            return None
        counts = {synset: self.wordnet.count(lemma, synset) for synset in visible}
        elsewhere = (self.wordnet.count(lemma, synset) for synset in self.wordnet.index[lemma])
        if max(counts.values()) < _RIVAL * max(self.wordnet.other[lemma], *elsewhere):
            return None  # the wind is not first of all an instrument, nor snug a room
        enough = _RIVAL * max(counts.values())
        common = [synset for synset in visible if counts[synset] >= enough]
        if any(self.wordnet.senses[synset].rude and self._is_of_people(synset) for synset in common):
            return None
        kinds = frozenset.intersection(*map(self._kinds, common))
        files = {self.wordnet.senses[synset].file for synset in self.wordnet.index[lemma]} & VISIBLE
        if self._is_of_people(common[0]) and files != {_PERSON}:
            kinds = _NONE  # "dish", "lump": words for people are often borrowed from things
        everyday = self._everyday(lemma, common[0], sum(counts.values()))
        return Meaning(common[0] if len(common) == 1 else "", kinds, everyday)

    def _visible(self, lemma: str) -> list[str]:
        """The senses of a lemma that a picture can show: things rather than stuff, groups and places, and
        food rather than the plant it grows on."""
        senses = [synset for synset in self.wordnet.index[lemma] if self._is_visible(lemma, synset)]
        files = {self.wordnet.senses[synset].file for synset in senses}
        wanted = (files & _THINGS or files) - ({_PLANT} if _FOOD in files else set())
        return [synset for synset in senses if self.wordnet.senses[synset].file in wanted]

    def _is_visible(self, lemma: str, synset: str) -> bool:
        sense = self.wordnet.senses[synset]
        word = next(word for word in sense.words if word.lower().partition("(")[0] == lemma)
        proper = word[0].isupper() and not word.isupper() and "-" not in word[:2] and "_" not in word
        return sense.file in VISIBLE and not sense.individual and not proper and len(lemma) > 2

    def _is_of_people(self, synset: str) -> bool:
        return self.wordnet.senses[synset].file == _PERSON

    def _everyday(self, lemma: str, synset: str, tagged: int) -> bool:
        file = self.wordnet.senses[synset].file
        least = _MENTIONS_OF_PARTS if "_" in lemma else _MENTIONS
        if file in (_ARTIFACT, _FOOD):  # most of these may be seen in a kitchen or a street
            least = least // 10 if "_" in lemma else 0
        used = self.wordnet.mentions
        return tagged > 0 or all(used[word] + used[word + "s"] >= least for word in lemma.split("_"))

    def _kinds(self, synset: str) -> frozenset[str]:
        above = self.wordnet.up(synset)
        return frozenset(
            kind for kind, of, but in self.roots if not of.isdisjoint(above) and but.isdisjoint(above)
        )

    def _said(self, lemma: str) -> str:
        """The name as questions are looked up by: headphone -> headphones, french fries -> french fry."""
        name = lemma.replace("_", " ")
        only_plural = name + "s" in PLURAL_ONLY and lemma + "s" not in self.wordnet.index
        return singular(name + "s" if only_plural else name)

    def _head(self, name: str) -> frozenset[str]:
        """The last word of a name if it is its kind: a pool table is a table, a home plate is no plate."""
        word, synset = name.rpartition(" ")[2], self.meanings[name].synset
        head = self.meanings.get(word)
        if word == name or not (synset and head and head.kinds and head.everyday):
            return _NONE
        return frozenset((word,)) if head.synset in self.wordnet.up(synset) else _NONE

    def _synonyms(self) -> dict[str, str]:
        """Name -> the name that stands for all that share its sense."""
        same = {}
        for spec in derivation_choices.listed(self.made.SYNONYMS):
            synset, first = self.wordnet.numbered(spec), self._said(spec.partition("#")[0])
            for word in self.wordnet.senses[synset].words:
                name = self._said(word.lower())
                meaning = self.meanings.get(name)
                if meaning and meaning.synset == synset and name != first:
                    same[name] = first
        return same


def _senses_chosen(made: ModuleType | SimpleNamespace) -> dict[str, str]:
    """Lemma -> the sense that `choices` tells: as such, or as what a kind itself is."""
    kinds = list(derivation_choices.pairs(made.KINDS))
    own = {kind.replace(" ", "_") for kind, _ in kinds}
    roots = [spec for _, specs in kinds for spec in specs.partition(" but ")[0].split()]
    chosen = {spec.partition("#")[0]: spec for spec in reversed(roots) if spec.partition("#")[0] in own}
    return chosen | {name.replace(" ", "_"): spec for name, spec in derivation_choices.pairs(made.SENSES)}


def _by_name(text: str) -> Iterator[tuple[str, str]]:
    return ((singular(name), rest) for name, rest in derivation_choices.pairs(text))


def table(rows: Mapping[str, NameEntry]) -> str:
    """The table's text."""
    lines = (f"{name}\t{row.same}\t{','.join(sorted(row.kinds))}\n" for name, row in sorted(rows.items()))
    return HEADER + "".join(lines)


def derive(folder: Path) -> str:
    """Write the table from WordNet's dictionary files and say how many names it has."""
    rows = Derivation(WordNet(folder)).rows()
    write_text(TABLE, table(rows))
    return f"{len(rows):,} names in {TABLE.name}"
