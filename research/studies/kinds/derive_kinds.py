"""Derive kinds.tsv, the table of synonyms and kinds of everyday things, from WordNet 3.0.

    rgqa study derive-kinds /usr/share/wordnet

FOLDER holds WordNet's dictionary files data.noun, index.noun and cntlist.rev (Debian: package wordnet-base).
Only whoever changes `choices` needs them: the table is part of the project.

A name gets the kinds above the sense that images show: the one that `choices` tells, else what all senses
have in common that are common in WordNet's tagged texts. A name that is commonly something invisible (wind)
or no noun (snug), and one for people that also names things (dish), gets none. Of synonyms only those are
taken that `choices` trusts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace

from pipeline.core.atomic_files import write_text
from pipeline.core.errors import Problems
from pipeline.language.lexicon import WORDNET_TABLE_PATH, WordNetEntry
from pipeline.language.nouns import PLURAL_ONLY_NOUNS, singularize
from research.studies.kinds import wordnet_choices
from research.studies.kinds.wordnet_choices import parse_entries, parse_words
from research.studies.kinds.wordnet_files import WordNet

TABLE_HEADER = (
    "# Derived from WordNet 3.0, Copyright 2006 by Princeton University; its licence is in LICENSE.\n"
    "# Made by python -m research.studies.kinds.derive_kinds; edit choices.py, not this file.\n"
    "# name\tsynonym of\tkinds\n"
)
# Lexicographer files of what an image can show: animal, artifact, body, food, group, location, object,
# person, plant, substance.
VISIBLE_LEXNAMES = frozenset((5, 6, 8, 13, 14, 15, 17, 18, 20, 27))
_ARTIFACT, _FOOD, _PERSON, _PLANT = 6, 13, 18, 20
_OBJECT_LEXNAMES = frozenset((5, _ARTIFACT, _FOOD, _PERSON, _PLANT))
_MIN_RELATIVE_SENSE_COUNT = (
    0.25  # a sense tagged at least so often, relative to the commonest, may be meant as well
)
_MIN_MENTIONS = 4  # a word in so many definitions is an everyday word
_MIN_MENTIONS_OF_PARTS = 100  # a name of several such words is an everyday name


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a name means in images.

    Attributes:
        synset: the sense meant, "" when several are common.
        kinds: the kinds above every sense that is common.
        everyday: whether the name is in common use.
    """

    synset: str
    kinds: frozenset[str]
    is_everyday: bool


class KindsDerivation:
    """The rows of the table.

    Args:
        made: the lists of `choices`.

    Raises:
        UserError: lists the senses that the choices name and this WordNet lacks.
    """

    def __init__(self, wordnet: WordNet, made: ModuleType | SimpleNamespace = wordnet_choices) -> None:
        self.wordnet, self.choices = wordnet, made
        self._check_senses()
        self.roots = []
        for kind, specs in parse_entries(made.KINDS):
            of, _, but = specs.partition(" but ")
            senses = ({wordnet.synset_by_sense[spec] for spec in part.split()} for part in (of, but))
            self.roots.append((kind, *senses))
        # Lemma -> the sense that `choices` tells: as such, or as what a kind itself is.
        own = {kind.replace(" ", "_") for kind, _ in parse_entries(made.KINDS)}
        roots = [
            spec for _, specs in parse_entries(made.KINDS) for spec in specs.partition(" but ")[0].split()
        ]
        named = ((spec.partition("#")[0], spec) for spec in reversed(roots))
        self.chosen_senses = {lemma: spec for lemma, spec in named if lemma in own}
        self.chosen_senses |= {name.replace(" ", "_"): spec for name, spec in parse_entries(made.SENSES)}
        self.excluded_lemmas = {name.replace(" ", "_") for name in parse_words(made.SILENT)}
        self.meanings: dict[str, Meaning] = {}
        for lemma in sorted(
            {*wordnet.index, *self.chosen_senses}, key=lambda lemma: (lemma in self.chosen_senses, lemma)
        ):
            name = self._lookup_name(lemma)
            its_own = (
                lemma in self.chosen_senses or name == lemma.replace("_", " ") or name not in wordnet.index
            )
            if its_own and (meaning := self._find_meaning(lemma)):
                self.meanings[name] = meaning

    def _check_senses(self) -> None:
        entries = [*parse_entries(self.choices.KINDS), *parse_entries(self.choices.SENSES)]
        named = {word for _, specs in entries for word in specs.split()} - {"but"}
        problems = Problems("the senses named in choices.py")
        for spec in sorted(
            named.union(parse_words(self.choices.SYNONYMS)) - self.wordnet.synset_by_sense.keys()
        ):
            problems.add(spec, "this WordNet has no such sense; is it WordNet 3.0?")
        problems.raise_if_any()

    def build_rows(self) -> dict[str, WordNetEntry]:
        """Name -> row, of all everyday names of which something is known."""
        same = self._find_synonyms()
        found = {singularize(name): WordNetEntry() for name in parse_words(self.choices.SILENT)}
        for name, meaning in self.meanings.items():
            word = name.rpartition(" ")[2]
            head = self.meanings.get(word) if word != name else None
            kinds = meaning.kinds - {name}
            above = self.wordnet.hypernym_closure(meaning.synset) if meaning.synset else ()
            if head and head.kinds and head.is_everyday and head.synset in above:
                kinds |= {word}  # a pool table is a table, a home plate is no plate
            misleading = head and head.kinds and word not in kinds
            known = all(self.wordnet.mentions[word] >= _MIN_MENTIONS for word in name.split())
            wanted = (misleading and known) or (meaning.is_everyday and kinds)
            if wanted or name in same or name in same.values():
                found[name] = WordNetEntry(same.get(name, ""), kinds)
        self._add_choices(found)
        for name, row in found.items():  # synonyms are of the same kinds
            found[name] = WordNetEntry(row.canonical_name, found.get(row.canonical_name, row).hypernyms)
        return {
            name: WordNetEntry(row.canonical_name, row.hypernyms - {name, row.canonical_name})
            for name, row in sorted(found.items())
        }

    def _add_choices(self, found: dict[str, WordNetEntry]) -> None:
        """What the project's own lists add and take away."""
        for kinds, names in parse_entries(self.choices.ALSO):
            for name in map(singularize, parse_words(names)):
                row = found.get(name, WordNetEntry())
                more = (found.get(kind, WordNetEntry()).hypernyms | {kind} for kind in parse_words(kinds))
                found[name] = WordNetEntry(row.canonical_name, row.hypernyms.union(*more))
        for said, kinds in parse_entries(self.choices.NOT):
            name = singularize(said)
            if row := found.get(name):
                found[name] = WordNetEntry(row.canonical_name, row.hypernyms.difference(parse_words(kinds)))
        for said, other in parse_entries(self.choices.SAME):
            found[singularize(said)] = WordNetEntry(singularize(other))

    def _find_meaning(self, lemma: str) -> Meaning | None:
        """The meaning of a lemma; None if it cannot be seen, is a proper name or is used in too many ways,
        or offends."""
        wordnet = self.wordnet
        if chosen := self.chosen_senses.get(lemma):
            synset = wordnet.synset_by_sense[chosen]
            return Meaning(synset, self._find_kinds(synset), True)
        visible = self._visible_senses(lemma)
        if not visible or lemma in self.excluded_lemmas:
            return None
        senses = wordnet.index[lemma]
        counts = {synset: wordnet.sense_counts[f"{lemma}#{n}"] for n, synset in enumerate(senses, 1)}
        most = max(counts[synset] for synset in visible)
        if most < _MIN_RELATIVE_SENSE_COUNT * max(wordnet.other_pos_counts[lemma], *counts.values()):
            return None  # the wind is not first of all an instrument, nor snug a room
        common = [synset for synset in visible if counts[synset] >= _MIN_RELATIVE_SENSE_COUNT * most]
        people = [synset for synset in common if wordnet.senses[synset].lexname == _PERSON]
        if any(wordnet.senses[synset].is_offensive for synset in people):
            return None
        kinds = frozenset.intersection(*map(self._find_kinds, common))
        files = {wordnet.senses[synset].lexname for synset in senses} & VISIBLE_LEXNAMES
        if common[0] in people and files != {_PERSON}:
            kinds = frozenset()  # "dish", "lump": words for people are often borrowed from things
        everyday = self._is_everyday(lemma, common[0], sum(counts[synset] for synset in visible))
        return Meaning(common[0] if len(common) == 1 else "", kinds, everyday)

    def _visible_senses(self, lemma: str) -> list[str]:
        """The senses of a lemma that an image can show: things rather than stuff, groups and places, and
        food rather than the plant it grows on."""
        files: dict[str, int] = {}
        for synset in self.wordnet.index[lemma]:
            sense = self.wordnet.senses[synset]
            word = next(word for word in sense.words if word.lower().partition("(")[0] == lemma)
            proper = word[0].isupper() and not word.isupper() and "-" not in word[:2] and "_" not in word
            if sense.lexname in VISIBLE_LEXNAMES and not sense.is_instance and not proper and len(lemma) > 2:
                files[synset] = sense.lexname
        seen = {*files.values()}
        wanted = (seen & _OBJECT_LEXNAMES or seen) - ({_PLANT} if _FOOD in seen else set())
        return [synset for synset, file in files.items() if file in wanted]

    def _is_everyday(self, lemma: str, synset: str, tagged: int) -> bool:
        file = self.wordnet.senses[synset].lexname
        least = _MIN_MENTIONS_OF_PARTS if "_" in lemma else _MIN_MENTIONS
        if file in (_ARTIFACT, _FOOD):  # most of these may be seen in a kitchen or a street
            least = least // 10 if "_" in lemma else 0
        used = self.wordnet.mentions
        return tagged > 0 or all(used[word] + used[word + "s"] >= least for word in lemma.split("_"))

    def _find_kinds(self, synset: str) -> frozenset[str]:
        above = self.wordnet.hypernym_closure(synset)
        return frozenset(
            kind for kind, of, but in self.roots if not of.isdisjoint(above) and but.isdisjoint(above)
        )

    def _lookup_name(self, lemma: str) -> str:
        """The name as questions are looked up by: headphone -> headphones, french fries -> french fry."""
        name = lemma.replace("_", " ")
        only_plural = name + "s" in PLURAL_ONLY_NOUNS and lemma + "s" not in self.wordnet.index
        return singularize(name + "s" if only_plural else name)

    def _find_synonyms(self) -> dict[str, str]:
        """Name -> the name that stands for all that share its sense."""
        same = {}
        for spec in parse_words(self.choices.SYNONYMS):
            synset, first = self.wordnet.synset_by_sense[spec], self._lookup_name(spec.partition("#")[0])
            names = {self._lookup_name(word.lower()) for word in self.wordnet.senses[synset].words} - {first}
            meant = (name for name in names & self.meanings.keys() if self.meanings[name].synset == synset)
            same |= dict.fromkeys(meant, first)
        return same


def format_table(rows: Mapping[str, WordNetEntry]) -> str:
    """The table's text."""
    lines = (
        f"{name}\t{row.canonical_name}\t{','.join(sorted(row.hypernyms))}\n" for name, row in rows.items()
    )
    return TABLE_HEADER + "".join(lines)


def write_kinds_table(folder: Path) -> str:
    """Write the table from WordNet's dictionary files and say how many names it has."""
    rows = KindsDerivation(WordNet(folder)).build_rows()
    write_text(WORDNET_TABLE_PATH, format_table(rows))
    return f"{len(rows):,} names in {WORDNET_TABLE_PATH.name}"
