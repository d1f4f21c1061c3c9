"""Derive kinds.tsv, the table of synonyms and hypernyms of everyday objects, from WordNet 3.0.

    rgqa study derive-kinds /usr/share/wordnet

The folder holds WordNet's dictionary files data.noun, index.noun and cntlist.rev (Debian: package
wordnet-base). They are needed only after a change of `wordnet_choices`, as the table is part of the project.

A name gets the kinds above the sense that images show. This is the sense in `wordnet_choices`, or what all
senses have in common that are frequent in WordNet's tagged texts. No kind is given to names that are commonly
something invisible (wind) or no noun (snug), and to names for people that also name objects (dish). Only
synonyms in `wordnet_choices` are used.
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
    "# Made by rgqa study derive-kinds; edit research/studies/kinds/wordnet_choices.py, not this file.\n"
    "# name\tsynonym of\tkinds\n"
)
# Lexicographer files of what an image can show: animal, artifact, body, food, group, location, object,
# person, plant, substance.
VISIBLE_LEXNAMES = frozenset((5, 6, 8, 13, 14, 15, 17, 18, 20, 27))
_ARTIFACT, _FOOD, _PERSON, _PLANT = 6, 13, 18, 20
_OBJECT_LEXNAMES = frozenset((5, _ARTIFACT, _FOOD, _PERSON, _PLANT))
# A sense counts as common if it is tagged this often relative to the most common one.
_MIN_RELATIVE_SENSE_COUNT = 0.25
# A word in this many definitions is an everyday word.
_MIN_MENTIONS = 4
# A name of several words is an everyday name if each word is in this many definitions.
_MIN_MENTIONS_OF_PARTS = 100


@dataclass(frozen=True, slots=True)
class Meaning:
    """The meaning of a name in images.

    Attributes:
        synset: The sense meant, "" if several are common.
        kinds: The kinds above every common sense.
        is_everyday: The name is in common use.
    """

    synset: str
    kinds: frozenset[str]
    is_everyday: bool


class KindsDerivation:
    """Derive the rows of the table.

    Args:
        wordnet: WordNet's nouns.
        choices: The lists of `wordnet_choices`.

    Raises:
        UserError: Lists the senses in the choices that this WordNet does not have.
    """

    def __init__(self, wordnet: WordNet, choices: ModuleType | SimpleNamespace = wordnet_choices) -> None:
        self.wordnet, self.choices = wordnet, choices
        self._check_senses()
        self.roots = []
        for kind, specs in parse_entries(choices.KINDS):
            of, _, but = specs.partition(" but ")
            senses = ({wordnet.synset_by_sense[spec] for spec in part.split()} for part in (of, but))
            self.roots.append((kind, *senses))
        # Lemma -> the sense in the choices: listed for the lemma itself, or for the kind of this name.
        own = {kind.replace(" ", "_") for kind, _ in parse_entries(choices.KINDS)}
        roots = [
            spec for _, specs in parse_entries(choices.KINDS) for spec in specs.partition(" but ")[0].split()
        ]
        named = ((spec.partition("#")[0], spec) for spec in reversed(roots))
        self.chosen_senses = {lemma: spec for lemma, spec in named if lemma in own}
        self.chosen_senses |= {
            name.replace(" ", "_"): spec for name, spec in parse_entries(choices.MEANT_SENSES)
        }
        self.excluded_lemmas = {name.replace(" ", "_") for name in parse_words(choices.EXCLUDED_NAMES)}
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
        entries = [*parse_entries(self.choices.KINDS), *parse_entries(self.choices.MEANT_SENSES)]
        named = {word for _, specs in entries for word in specs.split()} - {"but"}
        problems = Problems("the senses named in wordnet_choices.py")
        for spec in sorted(
            named.union(parse_words(self.choices.SYNONYMS)) - self.wordnet.synset_by_sense.keys()
        ):
            problems.add(spec, "this WordNet has no such sense. Use WordNet 3.0")
        problems.raise_if_any()

    def build_rows(self) -> dict[str, WordNetEntry]:
        """Return the rows of all everyday names with known kinds or synonyms, by name."""
        same = self._find_synonyms()
        found = {singularize(name): WordNetEntry() for name in parse_words(self.choices.EXCLUDED_NAMES)}
        for name, meaning in self.meanings.items():
            word = name.rpartition(" ")[2]
            head = self.meanings.get(word) if word != name else None
            kinds = meaning.kinds - {name}
            above = self.wordnet.hypernym_closure(meaning.synset) if meaning.synset else ()
            if head and head.kinds and head.is_everyday and head.synset in above:
                # A pool table is a table; a home plate is not a plate.
                kinds |= {word}
            misleading = head and head.kinds and word not in kinds
            known = all(self.wordnet.mentions[word] >= _MIN_MENTIONS for word in name.split())
            wanted = (misleading and known) or (meaning.is_everyday and kinds)
            if wanted or name in same or name in same.values():
                found[name] = WordNetEntry(same.get(name, ""), kinds)
        self._add_choices(found)
        # Synonyms are of the same kinds.
        for name, row in found.items():
            found[name] = WordNetEntry(row.canonical_name, found.get(row.canonical_name, row).hypernyms)
        return {
            name: WordNetEntry(row.canonical_name, row.hypernyms - {name, row.canonical_name})
            for name, row in sorted(found.items())
        }

    def _add_choices(self, found: dict[str, WordNetEntry]) -> None:
        """Apply the project's own lists of additional and excluded kinds and synonyms."""
        for kinds, names in parse_entries(self.choices.EXTRA_KINDS):
            for name in map(singularize, parse_words(names)):
                row = found.get(name, WordNetEntry())
                more = (found.get(kind, WordNetEntry()).hypernyms | {kind} for kind in parse_words(kinds))
                found[name] = WordNetEntry(row.canonical_name, row.hypernyms.union(*more))
        for said, kinds in parse_entries(self.choices.EXCLUDED_KINDS):
            name = singularize(said)
            if row := found.get(name):
                found[name] = WordNetEntry(row.canonical_name, row.hypernyms.difference(parse_words(kinds)))
        for said, other in parse_entries(self.choices.EXTRA_SYNONYMS):
            found[singularize(said)] = WordNetEntry(singularize(other))

    def _find_meaning(self, lemma: str) -> Meaning | None:
        """Return the meaning of a lemma; None if it is invisible, a proper name, too ambiguous or offensive."""
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
            # The wind is not primarily an instrument, nor snug a room.
            return None
        common = [synset for synset in visible if counts[synset] >= _MIN_RELATIVE_SENSE_COUNT * most]
        people = [synset for synset in common if wordnet.senses[synset].lexname == _PERSON]
        if any(wordnet.senses[synset].is_offensive for synset in people):
            return None
        kinds = frozenset.intersection(*map(self._find_kinds, common))
        files = {wordnet.senses[synset].lexname for synset in senses} & VISIBLE_LEXNAMES
        if common[0] in people and files != {_PERSON}:
            # "dish", "lump": words for people are often borrowed from objects.
            kinds = frozenset()
        everyday = self._is_everyday(lemma, common[0], sum(counts[synset] for synset in visible))
        return Meaning(common[0] if len(common) == 1 else "", kinds, everyday)

    def _visible_senses(self, lemma: str) -> list[str]:
        """Return the senses of a lemma that an image can show.

        Objects take precedence over substances, groups and places, and food over the plant it grows on.
        """
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
        # Most artifacts and foods may be seen in a kitchen or a street.
        if file in (_ARTIFACT, _FOOD):
            least = least // 10 if "_" in lemma else 0
        used = self.wordnet.mentions
        return tagged > 0 or all(used[word] + used[word + "s"] >= least for word in lemma.split("_"))

    def _find_kinds(self, synset: str) -> frozenset[str]:
        above = self.wordnet.hypernym_closure(synset)
        return frozenset(
            kind for kind, of, but in self.roots if not of.isdisjoint(above) and but.isdisjoint(above)
        )

    def _lookup_name(self, lemma: str) -> str:
        """Return the name as questions are looked up: headphone -> headphones, french fries -> french fry."""
        name = lemma.replace("_", " ")
        only_plural = name + "s" in PLURAL_ONLY_NOUNS and lemma + "s" not in self.wordnet.index
        return singularize(name + "s" if only_plural else name)

    def _find_synonyms(self) -> dict[str, str]:
        """Return for each synonym the name that stands for all words of the sense."""
        same = {}
        for spec in parse_words(self.choices.SYNONYMS):
            synset, first = self.wordnet.synset_by_sense[spec], self._lookup_name(spec.partition("#")[0])
            names = {self._lookup_name(word.lower()) for word in self.wordnet.senses[synset].words} - {first}
            meant = (name for name in names & self.meanings.keys() if self.meanings[name].synset == synset)
            same |= dict.fromkeys(meant, first)
        return same


def format_table(rows: Mapping[str, WordNetEntry]) -> str:
    """Return the table's text."""
    lines = (
        f"{name}\t{row.canonical_name}\t{','.join(sorted(row.hypernyms))}\n" for name, row in rows.items()
    )
    return TABLE_HEADER + "".join(lines)


def write_kinds_table(folder: Path) -> str:
    """Write the table from WordNet's dictionary files and return a line with its size."""
    rows = KindsDerivation(WordNet(folder)).build_rows()
    write_text(WORDNET_TABLE_PATH, format_table(rows))
    return f"{len(rows):,} names in {WORDNET_TABLE_PATH.name}"
