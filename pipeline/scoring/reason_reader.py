"""Read from a reply which fault of the question it names: what the question presupposes and the image
does not show.

The rules look for words of the fault in the scope of a negation ("no dog", "isn't red", "the dog is missing",
"a cat rather than a dog"), and for the words of what is there instead outside of one. Statements about the
model's own knowledge ("I cannot tell", "too dark to see it clearly") claim no fault.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from .items import Fault
from .normalize import to_plain_text
from .reason_patterns import (
    ABSENCE,
    ABSENT_ENTRY,
    ABSTAINS,
    AFTER_GENERAL,
    AFTER_MENTION,
    AFTER_NOUN,
    AND_STARTS,
    APOSTROPHE_WORDS,
    ATTRIBUTION,
    BARE_REPLY,
    BEFORE_OF,
    CLAIM_CUE,
    CLAUSE_WORDS,
    CONFUSION,
    CONTRAST,
    CORRECTION,
    DEFINITE,
    EPISTEMIC,
    FRONTED,
    HOW_MANY,
    IMAGE,
    IMAGE_PHRASE,
    IN_TRUTH,
    IN_VAIN,
    INDEFINITE,
    LIGHT,
    MARKUP,
    MISFIT,
    MISSING_LIST,
    NEGATED,
    NEGATOR_PARTNERS,
    NEGATORS,
    NONE,
    NOT_KNOWING,
    PREPOSITIONS,
    QUESTION_FUNCTION_WORDS,
    QUOTATION,
    RHETORICAL,
    SEARCH,
    SEEING,
    SENTENCE_ENDS,
    SHOWN,
    SHOWS,
    SHOWS_IMAGE,
    SUBJECT_HEADS,
    TOKEN,
    YES_NO,
)
from .reason_words import (
    ANY_OBJECT,
    MAX_PHRASE_WORDS,
    FaultKind,
    Phrase,
    find_word_forms,
    is_object_name,
    lemmatize_word,
    stem_verb,
)
from .reasoning_parser import extract_final_answer


class ReadReason(NamedTuple):
    """What a reply says about the question.

    Attributes:
        claims_fault: Whether it says that something the question presupposes is not so.
        names_fault: Whether it names one of the faults.
        names_instead: Whether it names what is there in place of the fault.
    """

    claims_fault: bool
    names_fault: bool = False
    names_instead: bool = False


# Number of words of an answer that are read. The longest reply with a reason in research/studies/replies has far fewer.
MAX_WORDS = 300


class _Clause(NamedTuple):
    """A clause of a reply: its words, their lemmas, and the index of its sentence."""

    words: list[str]
    lemmas: list[str]
    sentence: int
    is_question: bool = False

    @property
    def text(self) -> str:
        return " " + " ".join(self.words)


def _get_beginning(answer: str) -> str:
    """Return the first `MAX_WORDS` words of an answer."""
    found = re.match(rf"(?:\s*\S+){{0,{MAX_WORDS}}}", answer)
    return found[0] if found else ""


def split_clauses(reply: str) -> list[_Clause]:
    """Split the beginning of a reply's final answer into clauses of lower-case words."""
    text = re.sub(r"\s*\n\s*", ". ", _get_beginning(extract_final_answer(reply).text.strip()))
    text = MARKUP.sub(" ", to_plain_text(text).lower().replace("-existent", "existent"))
    for pattern, replacement in APOSTROPHE_WORDS:
        text = pattern.sub(replacement, text)
    text = re.sub(r"\s-+\s", " ; ", text).replace("-", " ")
    text = MISSING_LIST.sub(r"\1\2 ", IMAGE_PHRASE.sub(f" {IMAGE} ", text))
    text = ABSENT_ENTRY.sub(" is not present ", text)
    text = re.sub(r"[|=]", " : ", text)
    clauses: list[_Clause] = []
    words: list[str] = []
    sentence = 0

    def close() -> None:
        nonlocal words
        if words:
            clauses.append(_Clause(words, [lemmatize_word(word) for word in words], sentence))
        words = []

    tokens = TOKEN.findall(text)
    for place, token in enumerate(tokens):
        following = tokens[place + 1] if place + 1 < len(tokens) else ""
        if token in SENTENCE_ENDS:
            close()
            if token == "?":
                clauses[:] = [
                    one._replace(is_question=one.is_question or one.sentence == sentence) for one in clauses
                ]
            sentence += 1
        elif token in ",:":
            if following not in ("or", "nor"):
                close()
        else:
            if token in CLAUSE_WORDS or (token == "and" and following in AND_STARTS):
                close()
            words.append(token)
    close()
    return clauses


def _find_mentions(
    clause: _Clause, phrases: Collection[Phrase], verbs: bool = False
) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each longest mention of a phrase in a clause."""
    lemmas, start = clause.lemmas, 0
    while start < len(lemmas):
        for size in range(min(MAX_PHRASE_WORDS, len(lemmas) - start), 0, -1):
            piece = tuple(lemmas[start : start + size])
            if piece in phrases or (verbs and size == 1 and (stem_verb(clause.words[start]),) in phrases):
                yield start, start + size
                start += size - 1
                break
        start += 1


def _find_negators(clause: _Clause) -> list[int]:
    """Return the places of the negations in a clause that are not about what the model can know."""
    words = clause.words
    places = []
    for place, word in enumerate(words):
        if word == "than" and {"more", "other"} & {*words[:place]}:
            places.append(place)
        if word not in NEGATORS:
            continue
        scope = words[place + 1 :]
        if word == "without":
            scope = words
        if word in ("doubt", "doubtful"):
            if words[place - 1 : place] != ["no"] and "whether" not in scope:
                places.append(place)
            continue
        if word in NEGATOR_PARTNERS and not NEGATOR_PARTNERS[word] & {*scope[:1]}:
            continue
        if word == "unable" and not (SEEING | {"identify"}) & {*scope}:
            continue
        near = scope[:4] if word in ("absence", "lack") else scope
        known = {*near} - {"able"} if SEEING.intersection(scope) else {*near}
        if word in ("no", "nobody", "none", "neither", "nor"):
            known -= {"discern", "discerned", "recognized", "recognised", "confirm"}
        identifies = re.search(
            r"\b(?:identify|recognize) (?:the|this|that|his|her|him|it|them)\b", " ".join(scope)
        )
        if (
            not EPISTEMIC.isdisjoint(known)
            or identifies
            or "made out" in " ".join(scope)
            or scope[:1] in (["clear"], ["only"], ["just"], ["doubt"])
            or re.search(r"\bmake (?:\w+ ){0,3}out\b", " ".join(scope))
        ):
            continue
        places.append(place)
    return places


def _is_in_scope(clause: _Clause, negator: int, start: int, end: int, kind: FaultKind) -> bool:
    """Return whether a negation denies a mention that follows it."""
    words = clause.words
    between, after = words[negator + 1 : start], words[end : end + 1]
    if after == ["'s"]:
        return False
    if kind == "relation":
        return True
    for place in range(len(between) - 1, -1, -1):
        if between[place] not in PREPOSITIONS:
            continue
        if between[place] == "of" and place and between[place - 1] in BEFORE_OF:
            break
        has_head = any(word not in LIGHT and word not in PREPOSITIONS for word in between[:place])
        determiner = between[place + 1 : place + 2]
        if has_head and determiner and determiner[0] in DEFINITE:
            return False
        break
    return (
        kind == "attribute" or not after or after[0] in AFTER_NOUN or not is_object_name(clause.lemmas[end])
    )


def _is_denied_afterwards(clause: _Clause, start: int, end: int, kind: FaultKind) -> bool:
    """Return whether the predicate after a mention denies it: "the dog is not visible", "red is wrong"."""
    words = clause.words
    before = words[max(0, start - 3) : start]
    in_prepositional_phrase = (
        (before[-1:] and before[-1] in PREPOSITIONS)
        or (len(before) > 1 and before[-1] in DEFINITE | INDEFINITE and before[-2] in PREPOSITIONS)
        or (len(before) > 2 and before[-2] in DEFINITE | INDEFINITE and before[-3] in PREPOSITIONS)
    )
    # "Of a fork there is no trace."
    if words[0] == "of" and start < 3:
        in_prepositional_phrase = False
    is_attribute_of = kind == "attribute" and "of" in before
    if kind != "relation" and in_prepositional_phrase and not is_attribute_of:
        return False
    rest = " " + " ".join(words[end:])
    if kind == "object" and FRONTED.match(rest):
        return True
    for skipped in range(3 if kind == "attribute" else 1):
        tail = " " + " ".join(words[end + skipped :])
        if match := AFTER_MENTION.match(tail):
            return not (match["exists"] == "in" and not tail.strip().endswith(IMAGE))
    return kind == "relation" and bool(
        re.search(
            r" (?:nothing|nobody|none|no|not|empty|vacant|unoccupied|absent|missing|nonexistent) ", rest + " "
        )
    )


def _is_denied(clause: _Clause, negators: Sequence[int], start: int, end: int, kind: FaultKind) -> bool:
    """Return whether a clause denies a mention."""
    return any(
        negator < start and _is_in_scope(clause, negator, start, end, kind) for negator in negators
    ) or _is_denied_afterwards(clause, start, end, kind)


class _Reply(NamedTuple):
    """A reply in clauses.

    Attributes:
        clauses: The clauses.
        negators: For each clause the places of the words that deny something in it.
        quoted: The words in short quotations. They are often those of the question.
    """

    clauses: list[_Clause]
    negators: list[list[int]]
    quoted: str

    @property
    def text(self) -> str:
        return " ".join(clause.text for clause in self.clauses)


def _names_fault(reply: _Reply, fault: Fault, has_instead: bool) -> bool:
    """Return whether a reply denies what a fault names.

    Args:
        reply: The reply.
        fault: The fault.
        has_instead: Whether the reply names what is there instead.
    """
    forms = find_word_forms(fault.kind, fault.wrong)
    general = forms.general - forms.same
    for number, clause in enumerate(reply.clauses):
        for start, end in _find_mentions(clause, forms.same | general, verbs=fault.kind == "relation"):
            if clause.words[max(0, start - 1) : start] == ["other"]:
                continue
            if tuple(clause.lemmas[start:end]) in general:
                denies = _denies_general_name(reply, number, start, end, fault.kind)
            else:
                denies = _denies_mention(reply, number, start, end, fault.kind) or (
                    has_instead and _corrects_mention(reply, number, start, end)
                )
            if denies:
                return True
        if fault.kind == "object":
            names = ANY_OBJECT | {phrase[-1] for phrase in forms.same | general}
            if any(lemmatize_word(word) in names for word in re.findall(r"\bno such (\w+)", clause.text)):
                return True
    return False


def _denies_general_name(reply: _Reply, number: int, start: int, end: int, kind: FaultKind) -> bool:
    """Return whether a reply denies a more general name of a fault: "no animals", "the color is wrong"."""
    clause = reply.clauses[number]
    if kind != "object":
        return _is_wrong_type(clause, reply.negators[number], start, end)
    # "No vehicles with lights" does not deny that there are vehicles.
    after = clause.words[end : end + 2]
    is_restricted = bool(after) and (
        after[0] not in AFTER_GENERAL or (after[0] in ("is", "are") and not AFTER_GENERAL & {*after[1:]})
    )
    return not is_restricted and (
        (not clause.is_question and _is_denied(clause, reply.negators[number], start, end, kind))
        or _is_denied_by_next_clause(reply, number, end, kind)
        or ("presence of" in " ".join(clause.words[:start]) and "not" in clause.words[end:])
    )


def _denies_mention(reply: _Reply, number: int, start: int, end: int, kind: FaultKind) -> bool:
    """Return whether a reply denies a name of a fault."""
    clause = reply.clauses[number]
    if not clause.is_question and _is_denied(clause, reply.negators[number], start, end, kind):
        return True
    # "What dog?"
    if clause.is_question and len(clause.words) < 5 and clause.words[:1] in (["what"], ["which"]):
        return True
    if _is_denied_by_next_clause(reply, number, end, kind):
        return True
    if "presence of" in " ".join(clause.words[:start]) and "not" in clause.words[end:]:
        return True
    if CONFUSION.search(clause.text) or (clause.is_question and RHETORICAL.search(clause.text)):
        return True
    later = " ".join(one.text for one in reply.clauses[number:])
    if SEARCH.search(clause.text) and IN_VAIN.search(later):
        return True
    if not _is_attributed(reply, number, start):
        return False
    rest = [" ".join(clause.words[end:]), *(one.text for one in reply.clauses[number + 1 :])]
    shows_other = any(SHOWS.search(one) for one in rest[1:]) and CONTRAST.search(" ".join(rest))
    return any(reply.negators[number + 1 :]) or bool(shows_other)


def _corrects_mention(reply: _Reply, number: int, start: int, end: int) -> bool:
    """Return whether a reply that names what is there instead says that a name is only that of the question."""
    words = reply.clauses[number].words
    return (
        _is_attributed(reply, number, start)
        or " ".join(words[start:end]) in reply.quoted
        or IN_TRUTH.search(" ".join(words[end:])) is not None
    )


def _is_attributed(reply: _Reply, number: int, start: int) -> bool:
    """Return whether a mention is in a question, or is said to be from the question: "you ask about a dog"."""
    clause = reply.clauses[number]
    earlier = " ".join(one.text for one in reply.clauses[:number] if one.sentence == clause.sentence)
    said = ATTRIBUTION.search(earlier + " " + " ".join(clause.words[:start]))
    return clause.is_question or said is not None


def _is_denied_by_next_clause(reply: _Reply, number: int, end: int, kind: FaultKind) -> bool:
    """Return whether the next clause denies the end of a clause: "I look for a dog. There is none."."""
    following = reply.clauses[number + 1].words if number + 1 < len(reply.clauses) else []
    is_last = end == len(reply.clauses[number].words) or kind == "relation"
    return is_last and len(following) < 5 and NONE.match(" ".join(following)) is not None


def _is_wrong_type(clause: _Clause, negators: Sequence[int], start: int, end: int) -> bool:
    """Return whether a clause says that the type of an attribute is wrong: "the color does not match", "no coat of that color"."""
    rest = " " + " ".join(clause.words[end:])
    is_that = clause.words[start - 1 : start] in (["that"], ["this"], ["such"]) and any(
        place < start for place in negators
    )
    is_wrong = clause.words[max(0, start - 1) : start] in (
        ["wrong"],
        ["different"],
        ["another"],
        ["other"],
        ["incorrect"],
    )
    return (
        is_that
        or is_wrong
        or bool(
            re.match(
                r"(?: of (?:\w+ ){1,4}\w+| named| mentioned| described| given| in the question)*(?: is| are| seems| does| do)*(?: not)? (?:wrong|incorrect|different|match|fit|right|correct|true)\b",
                rest,
            )
        )
    )


def _names_instead(reply: _Reply, fault: Fault, question_words: frozenset[str]) -> bool:
    """Return whether a reply asserts what is there in place of a fault."""
    if not fault.actual:
        return False
    wrong, actual = (find_word_forms(fault.kind, text) for text in (fault.wrong, fault.actual))
    phrases = actual.same
    if fault.kind == "object":
        phrases = (phrases | actual.special | (actual.general - wrong.general)) - wrong.same
    elif fault.kind == "relation":
        phrases = phrases - wrong.same
    return any(
        _is_asserted(clause, negators, start, end, fault.kind, question_words)
        for clause, negators in zip(reply.clauses, reply.negators, strict=True)
        for start, end in _find_mentions(clause, phrases, verbs=fault.kind == "relation")
    )


def _is_asserted(
    clause: _Clause,
    negators: Sequence[int],
    start: int,
    end: int,
    kind: FaultKind,
    question_words: frozenset[str],
) -> bool:
    """Return whether a clause asserts what a mention names."""
    if clause.words[end : end + 1] == ["'s"] and kind == "attribute":
        return False
    if kind != "relation":
        return not _is_denied(clause, negators, start, end, kind)
    if any(negator < start for negator in negators):
        return False
    # A preposition states the relation only if the other object follows.
    after = clause.lemmas[end : end + 6]
    first = clause.words[start]
    if {"left", "right"} & {*clause.words[start:end]}:
        return True
    if first in PREPOSITIONS or first in ("to", "atop", "onto", "upon"):
        return (
            not after
            or bool({"it", "them", "her", "him", "there", "that"} & {*after})
            or not question_words.isdisjoint(after)
        )
    return True


def find_question_words(question: str) -> frozenset[str]:
    """Return the lemmas of the words that name what a question is about."""
    words = re.findall(r"[a-z]+", question.lower())
    return (
        frozenset(lemmatize_word(word) for word in words if word not in QUESTION_FUNCTION_WORDS)
        - QUESTION_FUNCTION_WORDS
    )


def _claims_any_fault(reply: _Reply, question_words: frozenset[str]) -> bool:
    """Return whether a reply that abstains says that something is not there or not so."""
    is_explicit = ABSTAINS.search(reply.text) is not None
    for number, clause in enumerate(reply.clauses):
        shows_other = (
            SHOWS.search(clause.text)
            and (is_explicit or SHOWS_IMAGE.search(clause.text))
            and question_words.isdisjoint(clause.lemmas)
            and len(clause.words) > 3
        )
        if EPISTEMIC.isdisjoint(clause.words) and (CLAIM_CUE.search(clause.text) or shows_other):
            return True
        for place in reply.negators[number]:
            if _denies_something(reply, number, place, question_words, is_explicit):
                return True
    # "Unanswerable" and then a statement without a word about not knowing corrects the question.
    words = [word for clause in reply.clauses for word in clause.words]
    idle = LIGHT | DEFINITE | BARE_REPLY | PREPOSITIONS | SUBJECT_HEADS | {"unanswerable", "not"}
    return (
        "unanswerable" in words
        and sum(word not in idle for word in words) > 1
        and not NOT_KNOWING.search(" ".join(words))
        and EPISTEMIC.isdisjoint(words)
    )


def _denies_something(
    reply: _Reply, number: int, place: int, question_words: frozenset[str], is_explicit: bool
) -> bool:
    """Return whether a negation in a reply that abstains denies something that the question may presuppose.

    Args:
        reply: The reply.
        number: The index of the clause.
        place: The index of the negation in the clause.
        question_words: What the question is about.
        is_explicit: Whether the reply says in words that it gives no answer. In other replies, a negation may
            belong to a description.
    """
    clause = reply.clauses[number]
    negator, before = clause.words[place], clause.lemmas[:place]
    scope = [word for word in clause.words[place + 1 :] if word not in LIGHT]
    if {"other", "else", "another"} & {*scope}:
        return False
    if {"exist", "exists"} & {*clause.words[place:]}:
        return True
    is_about_question = not question_words.isdisjoint(clause.lemmas)
    if not is_explicit and negator == "no" and number and not is_about_question:
        return False
    if not is_explicit and negator in ("not", "rather", "instead", "than") and "any" not in clause.words:
        absent = SEEING | SHOWN | {"there", "among", "part", "contain", "show", "include"}
        if question_words.isdisjoint(clause.lemmas[place + 1 :]) and absent.isdisjoint(clause.words):
            return False
    if negator in ("nothing", "nobody", "none", "neither", "nowhere"):
        is_later = number > 0 and not reply.clauses[0].is_question
        is_aside = not is_explicit and is_later and not is_about_question
        return not is_aside and not BARE_REPLY.issuperset(clause.words)
    idle = PREPOSITIONS | DEFINITE | INDEFINITE | {IMAGE}
    first = next((lemmatize_word(word) for word in scope if word not in idle), "")
    if first and first not in SUBJECT_HEADS:
        # "The color is not visible." "The cover can't be seen", where the question names no cover.
        is_of_answer = not SUBJECT_HEADS.isdisjoint(before)
        is_of_detail = "can" in before and question_words.isdisjoint(before)
        return not (first in SHOWN and (is_of_answer or is_of_detail))
    if first or negator not in ("not", "missing", "absent"):
        return False
    has_subject = any(word not in LIGHT and word not in DEFINITE for word in before)
    return has_subject and SUBJECT_HEADS.isdisjoint(before)


def _denies_question_word(reply: _Reply, question: str, question_words: frozenset[str]) -> bool:
    """Return whether a reply denies that something exists that the question names.

    This finds faults also in replies that answer a corrected question, or that do not look like abstentions.
    """
    clauses, asked = reply.clauses, question.strip()
    asks_yes_no = YES_NO.match(asked) and "can not" not in reply.text
    if asks_yes_no or HOW_MANY.match(asked) or NEGATED.search(asked.lower()):
        return False
    phrases = frozenset((word,) for word in question_words)
    if len(clauses) == 1:
        if ABSENCE.match(clauses[0].text):
            return True
        # "What dog?"
        if clauses[0].is_question and clauses[0].words[0] == "what" and len(clauses[0].words) < 4:
            return any(_find_mentions(clauses[0], phrases))
    return any(
        _denies_named_thing(clause, negators, start, end, asked, question_words)
        for clause, negators in zip(clauses, reply.negators, strict=True)
        for start, end in _find_mentions(clause, phrases)
    )


def _denies_named_thing(
    clause: _Clause,
    negators: Sequence[int],
    start: int,
    end: int,
    question: str,
    question_words: frozenset[str],
) -> bool:
    """Return whether a clause denies a word of the question: "no dog", "the chair is not blue", "the dog is missing"."""
    words = clause.words
    for place in negators:
        between = [word for word in words[place + 1 : start] if word not in LIGHT]
        is_no = words[place] == "no" or (words[place] == "not" and words[start - 1] == "any")
        if (
            is_no
            and place < start
            and len(between) <= 2
            and "other" not in between
            and PREPOSITIONS.isdisjoint(between)
            and _is_in_scope(clause, place, start, end, "object")
        ):
            return True
    predicate = clause.lemmas[end + 2 : end + 3]
    if (
        words[end : end + 2] in (["is", "not"], ["are", "not"])
        and predicate
        and predicate[0] in question_words
        and (end + 3 == len(words) or not predicate[0].endswith(("ed", "ing")))
        and not re.search(r"\bor\b", question)
    ):
        return True
    match = AFTER_MENTION.match(" " + " ".join(words[end:]))
    is_subject = words[start - 1 : start] in ([], ["the"])
    return is_subject and match is not None and bool(match["absent"] or match["wrong"])


def read_reason(question: str, reply: str, abstains: bool, faults: Sequence[Fault] = ()) -> ReadReason:
    """Read whether a reply claims that its question is faulty, and which fault it names.

    Args:
        question: The question.
        reply: The reply. Only the first `MAX_WORDS` words of its final answer count (`reasoning_parser.extract_final_answer`), because
            the time grows with the square of their number, and a model that repeats itself may write thousands.
        abstains: Whether the reply abstains (`abstention.classify_abstention`).
        faults: What the question presupposes wrongly; naming one of them is enough. Empty for an
            answerable question.

    >>> dog = [Fault("object", "dog", "cat")]
    >>> read_reason("What color is the dog?", "There is no dog in the image; I see a cat.", True, dog)
    ReadReason(claims_fault=True, names_fault=True, names_instead=True)
    >>> read_reason("What color is the dog?", "I cannot tell.", True, dog)
    ReadReason(claims_fault=False, names_fault=False, names_instead=False)
    """
    clauses = split_clauses(reply)
    quoted = " ".join(QUOTATION.findall(_get_beginning(extract_final_answer(reply).text.lower())))
    read = _Reply(clauses, [_find_negators(clause) for clause in clauses], quoted)
    words = find_question_words(question)
    instead = [_names_instead(read, fault, words) for fault in faults]
    named = any(_names_fault(read, fault, has) for fault, has in zip(faults, instead, strict=True))
    has_instead = any(instead)
    claims = (
        named
        or (abstains and (has_instead or _claims_any_fault(read, words)))
        or (has_instead and CORRECTION.search(read.text) is not None)
        or MISFIT.search(read.text) is not None
        or _denies_question_word(read, question, words)
    )
    return ReadReason(claims, named, claims and has_instead)
