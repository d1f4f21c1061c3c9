"""Read from a reply which fault of the question it names: what the question takes for granted and the image
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
        claims_fault: Whether it says that something the question takes for granted is not so.
        names_fault: Whether it names one of the faults.
        names_instead: Whether it names what is there in place of the fault.
    """

    claims_fault: bool
    names_fault: bool = False
    names_instead: bool = False


_IMAGE = "<image>"
_IMAGE_PHRASE = re.compile(
    r"\b(?:in|on|within|from|of|inside|by|across|throughout|into)\s+(?:(?:the|this|your|that|a|my|our)\s+(?:\w+\s+)?)?"
    r"(?:image|picture|photo|photograph|scene|shot|pic|frame|foto|snapshot)s?\b(?:\s+(?:that\s+)?you(?:'ve| have)?\s+(?:provided|sent|gave|uploaded|shared|attached|posted|showed)|\s+(?:provided|given|shown|above|at hand))?|\b(?:in|within)\s+(?:view|sight|frame|here)\b"
)
_APOSTROPHE_WORDS = (
    (re.compile(r"\bcan(?:no|')t\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"\b(is|are|do|does|did|was|were|could|would|have|has|ai)nt\b"), r"\1n't"),
    (re.compile(r"\bcant\b"), "can not"),
    (re.compile(r"\b(that|there)s\b"), r"\1 is"),
    (re.compile(r"\bain't\b"), "is not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"\b(it|there|that|this|he|she|what|who|here|where|which|everything|one)'s\b"), r"\1 is"),
    (re.compile(r"'re\b"), " are"),
    (re.compile(r"'(?:m|ve|ll|d)\b"), " "),
    (re.compile(r"\bno\s?one\b"), "nobody"),
    (re.compile(r"\b(non|in) (existent|visible|present)\b"), r"non\2"),
)
_MARKUP = re.compile(r"[*_`#\"~<>\[\]{}()\\]+|(?<!\w)'|'(?!\w)|(?<=s)'(?=\s)")
_MISSING_LIST = re.compile(
    r"(?<!is )(?<!are )\b(missing|absent|nonexistent|not (?:found|present|visible|detected|seen|shown|there|identified|available|included|listed|depicted)|undetected|unseen|wrong|incorrect)(?: objects?| items?| things?)?\s*[:|=]"
    r"|(?:^|(?<=[.;] ))(missing|absent)\s*[,;]"
)
# An entry such as "dog: none".
_ABSENT_ENTRY = re.compile(
    r"(?<!answer)(?<!answerable)(?<!possible)(?<!response)(?<!answered)(?<!yes)(?<!status)\s*[:,;|=]\s*(?:none|nothing|absent|missing|not found|not present|not visible|not there|not shown|nonexistent"
    r"|no|false|(?:0|zero)(?: (?:matches|match|hits|results|times|detections|found|instances))?)(?=\s*(?:[.,;:|]|$))"
)
_TOKEN = re.compile(r"<image>|'s|[a-z0-9]+|[.,;:!?]")
_SENTENCE_ENDS = frozenset(".;!?")
_CLAUSE_WORDS = frozenset(
    "but however although though whereas while because since so therefore yet except hence thus then".split()
)
# After these words, "and" begins a new clause.
_AND_STARTS = frozenset(
    "there it the nothing no none i that this is are has nobody they he she we hence therefore so its".split()
)
_NEGATORS = frozenset(
    """
    no not never without nothing nobody none neither nor nowhere lack lacks lacking absence unable fail fails failed instead
    rather unlike devoid wrong incorrect false inaccurate zero 0 non hardly missing absent nonexistent opposed doubt doubtful
    """.split()
)
# Negators that only count if a certain word follows.
_SEEING = frozenset("see find spot locate detect observe notice".split())
_NEGATOR_PARTNERS = {"instead": {"of"}, "rather": {"than"}, "opposed": {"to"}}
# Words of a clause that says that something was taken for something else.
_CONFUSION = re.compile(
    r"\b(?:confus\w+|mistak\w+ \w+|mistook|mix\w* up|mixup|mix up|misidentif\w+|mislabel\w*|misdescri\w+|misread\w*|misnam\w+|wrongly|incorrectly"
    r"|erroneously|falsely|mistakenly)\b"
)
# Words that show that a negation is about what the model can know.
_EPISTEMIC = frozenset(
    """
    tell tells say determine determined know known sure certain answer answered enough sufficient clearly well properly information info detail details
    detailed idea possible discern judge guess legible readable distinguish distinguishable necessarily ascertain infer
    indication hint clue context certainty confidently confident conclusive conclude recognize specify assess
    provide provided comment assist help problem able decipher way offer definitively definitive confirm reliably reliable knowing
    said focus ability capable trained access allowed permitted policy privacy comfortable share process load received attached
    uploaded applicable answerable determinable read verify verified estimate estimated medical professional diagnosis diagnose given going
    guessing speculate comparable recognise real judgments appropriate told judged count counted assessed measure measured
    established evaluate evaluated deduce gauge answering recognized recognised discerned resolved telling saying available respond reply response allow allows let lets angle distance support basis
    """.split()
)
_SUBJECT_HEADS = frozenset(
    """
    color material type kind brand name shape size pattern age number word text time what which who where how whether if it
    image picture photo quality resolution they them answer this that these those question view lighting writing
    """.split()
)
_DEFINITE = frozenset("the his her its their this that these those my your our".split())
_INDEFINITE = frozenset("a an any some one such either".split())
_PREPOSITIONS = frozenset(
    "on in at under behind with near beside next above below by of from around inside for beneath underneath over along between".split()
)
_BEFORE_OF = frozenset(
    "sign trace evidence kind type sort mention any one none absence lack instead pair piece picture image hint presence instance part devoid free".split()
)
_LIGHT = frozenset(
    """
    a an any the be been is are was were do does did have has had can could will would should may might seem seems appear appears
    to see find spot locate identify detect observe notice show shows contain contains include includes feature features depict
    depicts display displays there it this that image picture photo anyone anybody anything someone somebody something one ones
    i we you able actually really visible apparent single such here also at all think believe look looks like exist clear
    discernible evident obvious recognizable reveal reveals indicate indicates present portray exhibit hold holds make out of as for than with being called
    """.split()
)
# Words that may follow the head of a noun phrase.
_AFTER_NOUN = (
    _LIGHT
    | _PREPOSITIONS
    | frozenset(
        """
    and or nor not no which who whose either though but only in shown seen found anywhere pictured depicted so as when where
    because therefore missing absent nonexistent nowhere wears wear holds rides stands sits lies hangs then to just alone itself
    per according against what
    """.split()
    )
)
_EXISTS = r"(?: be| been| being)?(?: any| a| an)?(?: really| actually| even)?"
_AFTER_GENERAL = frozenset(
    "<image> at is are was were here there visible present shown seen pictured depicted anywhere and or nor to like can could be so".split()
)
_AFTER_MENTION = re.compile(
    r"(?: <image>| count| visible| present| found| shown| detected| you \w+(?: about| to)?| in question| (?:in|from|of) (?:the|your) question| mentioned| described| asked about| referred to| that| which| at all| anywhere| like that)*"
    r"(?: simply| actually| just| also| really| itself)*(?: is| are| was| were| does| do| did| can| could| will| has| have| appears| appear| seems| seem| to| be| being)*"
    r"(?: simply| actually| just| also| really)*"
    r"(?: (?P<absent>nowhere|missing|absent|nonexistent|lacking|nonvisible|unavailable|free|never appear\w*|no have|no exist\w*|no here|not have|should (?:be|read|say)|yet to be|no$|would have to be)\b"
    rf"| not{_EXISTS}(?: (?P<exists><image>|(?:present|visible|there|here|shown|depicted|pictured|seen|found|exist|appear|anywhere|"
    r"included|detected|displayed|available|contained|observed|spotted|located|featured|part|portrayed|among|one of|to be|identified|recorded|listed|captured|discernible|evident|apparent|in)\b)|\s*$)"
    r"| (?P<wrong>wrong|incorrect|false|inaccurate|mistaken|untrue|erroneous|a mistake|an error|mistake|error|invalid)\b"
    r"| (?:(?:must|may|might|could|should|seems to|appears to) )?(?:be )?(?:a |an )?(?P<slip>slip|typo|misnomer|mix up|misunderstanding|error|mistake)\b"
    r"| not (?:be )?(?:\w+ )?(?P<unfit>match|matched|fit|apply|correspond|describe|hold|agree|right|correct|true|accurate|applicable|suit)\b"
    r"| (?:there |i |we )*(?:is |are |was |were |have |has |yields |gives |returns |shows |produces |see |find |found )*(?P<none>none|no trace|no sign|nothing|zero|0)\b"
    r"| (?P<contradicts>contradicts|mismatches|conflicts)\b)"
)
# "A dog I do not see."
_FRONTED = re.compile(
    r" (?:i|we|you) (?:can|could|do|did|was|am|were)?(?: <image>| here| on \w+ \w+)*(?: not| never)(?: be)?(?: able to)?"
    r"(?: <image>| here)* (?:see|find|spot|locate|detect|discover|seeing)(?: <image>| here| anywhere| at all)*$"
)
_ATTRIBUTION = re.compile(
    r"\b(?:question|prompt|ask|asks|asked|asking|you|your|mention\w*|refer\w*|assum\w*|presuppos\w*|premise|describ\w*|call\w*|claim\w*"
    r"|suppos\w*|stat\w*|thought|expect\w*|looks? like|resembl\w*|suggest\w*|impl\w*|query|seem\w* like|taken? for|took|first|initially|supposedly)\b"
)
_CONTRAST = re.compile(
    r"\b(?:but|however|yet|whereas|while|though|although|actually|instead|in fact|in reality|only|really|no|not|nothing|nobody|none|wrong|incorrect|mistake\w*|false)\b"
)
_CORRECTION = re.compile(
    r"\b(?:actually|(?:do|did) you mean|instead|only|in fact|in reality|rather|correction|mistake\w*|wrong|incorrect|not|false|inaccurate)\b"
)
_CLAIM_CUE = re.compile(
    r"\b(?:missing|absent|absence|lacks?|nonexistent|false|wrong\w*|incorrect\w*|mismatch\w*|contradict\w*|inaccura\w*|inconsistent|mistaken|invalid|empty|deserted)\b"
    r"|\bactually\b|\bdifferent\b|\binstead\b"
)
_SHOWS_IMAGE = re.compile(r"\b(?:image|picture|photo|photograph|scene|see|visible|shown|there)\b")
# Says what the image shows. This claims a fault if the clause has no word of the question.
_SHOWS = re.compile(
    r"\bonly (?!partly|partially|barely|be\b|visible|possible|guess|say|tell|if\b|by\b|with\b|from\b|when\b|part)\w+"
    r"|\b(?:image|picture|photo|photograph|scene) (?:instead |rather |only |just )?(?:shows|contains|depicts|features|displays|is an?|is of)\b"
)
_YES_NO = re.compile(
    r"(?:is|are|was|were|do|does|did|can|could|has|have|had|will|would|am|isn't|aren't|don't|doesn't)\b(?!.*\bor\b)",
    re.I,
)
_NEGATED = re.compile(r"\b(?:no|not|without|none|never)\b|n't\b")
_HOW_MANY = re.compile(r"how (?:many|much)\b", re.I)
_QUESTION_FUNCTION_WORDS = frozenset(
    """
    a an the of in on at to is are was were be do does did what which who whom whose where when why how many much color kind type
    sort there any this that these those it its and or with for from by as have has had can could will would image picture photo
    photograph you think see name called made one item piece side part look look like not no s doing scene
    """.split()
)


_RHETORICAL = re.compile(
    r"\b(?:how (?:could|can|would|should)|since when|(?:would|could|can) (?:a|an|the|this|that|it)|really|seriously)\b"
)
_SEARCH = re.compile(r"\b(?:search|look|hunt|scan|check)\w*\b")
_IN_VAIN = re.compile(
    r"\b(?:in vain|empty hand\w*|without success|no luck|unsuccessful\w*|no avail|came up empty|no result\w*)\b"
)
_QUOTATION = re.compile(r"(?<!\w)[\"'\u201c\u2018](\w+(?: \w+){0,2})[\"'\u201d\u2019](?!\w)(?!\s*:)")
_MISFIT = re.compile(
    r"\b(?:description|question|premise) (?:does|do) not (?:match|fit|apply|correspond)\b|\bfalse premise\b"
    r"|\b(?:does|do) not (?:match|fit) the (?:question|description)\b"
)
_NONE = re.compile(
    r"(?:(?:found|seen|detected|result|status|visible|present|shown) )?(?:is )?(?:there (?:is|are) |i (?:can )?(?:see |find )?)?(?:none|nothing|no|not|never|nowhere|absent|missing)\b"
)
_IN_TRUTH = re.compile(
    r"\b(?:is|are|was|were|it|they|has|have) (?:actually|in fact|in reality|really|in truth)\b"
)


class _Clause(NamedTuple):
    """A clause of a reply: its words, their lemmas, and the index of its sentence."""

    words: list[str]
    lemmas: list[str]
    sentence: int
    is_question: bool = False

    @property
    def text(self) -> str:
        return " " + " ".join(self.words)


def split_clauses(reply: str) -> list[_Clause]:
    """Split the final answer of a reply into clauses of lower-case words."""
    text = re.sub(r"\s*\n\s*", ". ", extract_final_answer(reply).text.strip())
    text = _MARKUP.sub(" ", to_plain_text(text).lower().replace("-existent", "existent"))
    for pattern, replacement in _APOSTROPHE_WORDS:
        text = pattern.sub(replacement, text)
    text = re.sub(r"\s-+\s", " ; ", text).replace("-", " ")
    text = _MISSING_LIST.sub(r"\1\2 ", _IMAGE_PHRASE.sub(f" {_IMAGE} ", text))
    text = _ABSENT_ENTRY.sub(" is not present ", text)
    text = re.sub(r"[|=]", " : ", text)
    clauses: list[_Clause] = []
    words: list[str] = []
    sentence = 0

    def close() -> None:
        nonlocal words
        if words:
            clauses.append(_Clause(words, [lemmatize_word(word) for word in words], sentence))
        words = []

    tokens = _TOKEN.findall(text)
    for place, token in enumerate(tokens):
        following = tokens[place + 1] if place + 1 < len(tokens) else ""
        if token in _SENTENCE_ENDS:
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
            if token in _CLAUSE_WORDS or (token == "and" and following in _AND_STARTS):
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
        if word not in _NEGATORS:
            continue
        scope = words[place + 1 :]
        if word == "without":
            scope = words
        if word in ("doubt", "doubtful"):
            if words[place - 1 : place] != ["no"] and "whether" not in scope:
                places.append(place)
            continue
        if word in _NEGATOR_PARTNERS and not _NEGATOR_PARTNERS[word] & {*scope[:1]}:
            continue
        if word == "unable" and not (_SEEING | {"identify"}) & {*scope}:
            continue
        near = scope[:4] if word in ("absence", "lack") else scope
        known = {*near} - {"able"} if _SEEING.intersection(scope) else {*near}
        if word in ("no", "nobody", "none", "neither", "nor"):
            known -= {"discern", "discerned", "recognized", "recognised", "confirm"}
        identifies = re.search(
            r"\b(?:identify|recognize) (?:the|this|that|his|her|him|it|them)\b", " ".join(scope)
        )
        if (
            not _EPISTEMIC.isdisjoint(known)
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
        if between[place] not in _PREPOSITIONS:
            continue
        if between[place] == "of" and place and between[place - 1] in _BEFORE_OF:
            break
        has_head = any(word not in _LIGHT and word not in _PREPOSITIONS for word in between[:place])
        determiner = between[place + 1 : place + 2]
        if has_head and determiner and determiner[0] in _DEFINITE:
            return False
        break
    return (
        kind == "attribute" or not after or after[0] in _AFTER_NOUN or not is_object_name(clause.lemmas[end])
    )


def _is_denied_afterwards(clause: _Clause, start: int, end: int, kind: FaultKind) -> bool:
    """Return whether the predicate after a mention denies it: "the dog is not visible", "red is wrong"."""
    words = clause.words
    before = words[max(0, start - 3) : start]
    in_prepositional_phrase = (
        before[-1:]
        and before[-1] in _PREPOSITIONS
        or len(before) > 1
        and before[-1] in _DEFINITE | _INDEFINITE
        and before[-2] in _PREPOSITIONS
        or len(before) > 2
        and before[-2] in _DEFINITE | _INDEFINITE
        and before[-3] in _PREPOSITIONS
    )
    # "Of a fork there is no trace."
    if words[0] == "of" and start < 3:
        in_prepositional_phrase = False
    if (
        kind != "relation"
        and in_prepositional_phrase
        and not {"of"} & {*before} & ({"of"} if kind == "attribute" else set())
    ):
        return False
    rest = " " + " ".join(words[end:])
    if kind == "object" and _FRONTED.match(rest):
        return True
    for skipped in range(3 if kind == "attribute" else 1):
        tail = " " + " ".join(words[end + skipped :])
        if match := _AFTER_MENTION.match(tail):
            return not (match["exists"] == "in" and not tail.strip().endswith(_IMAGE))
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


def _names_fault(
    clauses: Sequence[_Clause],
    negators: Sequence[Sequence[int]],
    fault: Fault,
    has_instead: bool,
    quoted: str,
) -> bool:
    """Return whether a reply denies what a fault names. `quoted` has the short quotations of the reply."""
    forms = find_word_forms(fault.kind, fault.wrong)
    for number, clause in enumerate(clauses):
        text = clause.text
        denied = forms.same | forms.general
        for start, end in _find_mentions(clause, denied, verbs=fault.kind == "relation"):
            is_general = tuple(clause.lemmas[start:end]) in forms.general - forms.same
            if is_general and fault.kind != "object":
                if _is_wrong_type(clause, negators[number], start, end):
                    return True
                continue
            if clause.words[max(0, start - 1) : start] == ["other"]:
                continue
            # "No vehicles with lights" does not deny that there are vehicles.
            after = clause.words[end : end + 2]
            if (
                is_general
                and after
                and (
                    after[0] not in _AFTER_GENERAL
                    or (after[0] in ("is", "are") and not _AFTER_GENERAL & {*after[1:]})
                )
            ):
                continue
            if not clause.is_question and _is_denied(clause, negators[number], start, end, fault.kind):
                return True
            following = clauses[number + 1].words if number + 1 < len(clauses) else []
            if (
                clause.is_question
                and len(clause.words) < 5
                and clause.words[:1] in (["what"], ["which"])
                and not is_general
            ):
                return True
            is_last = end == len(clause.words) or fault.kind == "relation"
            if is_last and len(following) < 5 and _NONE.match(" ".join(following)):
                return True
            if "presence of" in " ".join(clause.words[:start]) and "not" in clause.words[end:]:
                return True
            if not is_general and (
                _CONFUSION.search(text) or (clause.is_question and _RHETORICAL.search(text))
            ):
                return True
            earlier = " ".join(one.text for one in clauses[:number] if one.sentence == clause.sentence)
            attributed = _ATTRIBUTION.search(earlier + " " + " ".join(clause.words[:start]))
            rest = [" ".join(clause.words[end:]), *(one.text for one in clauses[number + 1 :])]
            if (attributed or clause.is_question) and not is_general:
                others = any(_SHOWS.search(one) for one in rest[1:]) and _CONTRAST.search(" ".join(rest))
                if has_instead or any(negators[number + 1 :]) or others:
                    return True
            if (
                not is_general
                and _SEARCH.search(text)
                and _IN_VAIN.search(" ".join(one.text for one in clauses[number:]))
            ):
                return True
            if has_instead and not is_general and " ".join(clause.words[start:end]) in quoted:
                return True
            if has_instead and not is_general and _IN_TRUTH.search(rest[0]):
                return True
        if fault.kind == "object" and re.search(r"\bno such (\w+)", text):
            such = {lemmatize_word(word) for word in re.findall(r"\bno such (\w+)", text)}
            if such & (ANY_OBJECT | {phrase[-1] for phrase in denied}):
                return True
    return False


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


def _names_instead(
    clauses: Sequence[_Clause],
    negators: Sequence[Sequence[int]],
    fault: Fault,
    question_words: Collection[str],
) -> bool:
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
        _is_asserted(clause, negators[number], start, end, fault.kind, question_words)
        for number, clause in enumerate(clauses)
        for start, end in _find_mentions(clause, phrases, verbs=fault.kind == "relation")
    )


def _is_asserted(
    clause: _Clause,
    negators: Sequence[int],
    start: int,
    end: int,
    kind: FaultKind,
    question_words: Collection[str],
) -> bool:
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
    if first in _PREPOSITIONS or first in ("to", "atop", "onto", "upon"):
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
        frozenset(lemmatize_word(word) for word in words if word not in _QUESTION_FUNCTION_WORDS)
        - _QUESTION_FUNCTION_WORDS
    )


# Words with which a reply says that it gives no answer.
_ABSTAINS = re.compile(
    r"\b(?:unanswerable|can not|unable|sorry|apolog\w+|afraid|unfortunately|regret\w*|not possible|no answer|not answerable|n a|invalid)\b"
)


def _claims_any_fault(
    clauses: Sequence[_Clause], negators: Sequence[Sequence[int]], question_words: Collection[str]
) -> bool:
    """Return whether a reply that abstains says that something is not there or not so."""
    is_explicit = any(_ABSTAINS.search(clause.text) for clause in clauses)
    for clause, places in zip(clauses, negators, strict=True):
        if _EPISTEMIC.isdisjoint(clause.words) and (
            _CLAIM_CUE.search(clause.text)
            or (
                _SHOWS.search(clause.text)
                and (is_explicit or _SHOWS_IMAGE.search(clause.text))
                and question_words.isdisjoint(clause.lemmas)
                and len(clause.words) > 3
            )
        ):
            return True
        for place in places:
            scope = [word for word in clause.words[place + 1 :] if word not in _LIGHT]
            if {"other", "else", "another"} & {*scope}:
                continue
            if "exist" in clause.words[place:] or "exists" in clause.words[place:]:
                return True
            if (
                not is_explicit
                and clause.words[place] == "no"
                and clause is not clauses[0]
                and question_words.isdisjoint(clause.lemmas)
            ):
                continue
            if (
                not is_explicit
                and clause.words[place] in ("not", "rather", "instead", "than")
                and "any" not in clause.words
            ):
                says_absent = (
                    _SEEING | _SHOWN | {"there", "among", "part", "contain", "show", "include"}
                ) & {*clause.words}
                if question_words.isdisjoint(clause.lemmas[place + 1 :]) and not says_absent:
                    continue
            before = [lemma for lemma in clause.lemmas[:place]]
            if clause.words[place] in ("nothing", "nobody", "none", "neither", "nowhere"):
                is_later = clause is not clauses[0] and not clauses[0].is_question
                is_aside = not is_explicit and is_later and question_words.isdisjoint(clause.lemmas)
                if is_aside or _BARE_REPLY.issuperset(clause.words):
                    continue
                return True
            first = next(
                (
                    lemmatize_word(word)
                    for word in scope
                    if word not in _PREPOSITIONS | _DEFINITE | _INDEFINITE and word != _IMAGE
                ),
                "",
            )
            if first and first not in _SUBJECT_HEADS:
                if first in _SHOWN and not _SUBJECT_HEADS.isdisjoint(before):
                    continue
                # "The cover can't be seen" says nothing about what a question without a cover takes for granted.
                if first in _SHOWN and "can" in before and question_words.isdisjoint(before):
                    continue
                return True
            if not first and clause.words[place] in ("not", "missing", "absent"):
                content = [word for word in before if word not in _LIGHT and word not in _DEFINITE]
                if content and _SUBJECT_HEADS.isdisjoint(before):
                    return True
    # "Unanswerable" and then a statement without a word about not knowing corrects the question.
    words = [word for clause in clauses for word in clause.words]
    if "unanswerable" not in words:
        return False
    idle = _LIGHT | _DEFINITE | _BARE_REPLY | _PREPOSITIONS | _SUBJECT_HEADS | {"unanswerable", "not"}
    return (
        sum(word not in idle for word in words) > 1
        and not _NOT_KNOWING.search(" ".join(words))
        and _EPISTEMIC.isdisjoint(words)
    )


_NOT_KNOWING = re.compile(
    r"\b(?:can not|not able|unable|not sure|don t|do not|not know|unsure|unclear|unknown|uncertain\w*|blurr\w*|dark|far|small|tiny|cropped|cut off|hidden|hid\w*|obscur\w*|occlu\w*|cover\w*"
    r"|block\w*|turned|facing|resolution|glare|glary|angle|grainy|pixel\w*|washed|overexposed|sharp|zoom\w*|outside|depends?|guess\w*|mystery|private|privacy"
    r"|maybe|might|may|could|perhaps|possibly|hard to|difficult|tough to|impossible|who knows|beyond|undecid\w*|unread\w*|illegible|invisible|faded|rather"
    r"|please|sorry|ask|another|low|poor|insufficient|ambiguous|decline|refuse|policy|error|loading|light|lighting|quality|limited|open|remains?|equally|undetermin\w*|indetermin\w*)\b"
)
_BARE_REPLY = frozenset("answer final response it is the none nothing my nobody a reply".split())
_SHOWN = frozenset(
    "visible shown seen present depicted pictured displayed given stated mentioned found evident".split()
)


_ABSENCE = re.compile(r" there (?:is|are) (?:no|not an?y?)(?: \w+){1,3}(?: <image>)?$")


def _denies_question_word(
    clauses: Sequence[_Clause],
    negators: Sequence[Sequence[int]],
    question: str,
    question_words: Collection[str],
) -> bool:
    """Return whether a reply denies that something exists that the question names."""
    text = " ".join(clause.text for clause in clauses)
    asks_yes_no = _YES_NO.match(question.strip()) and "can not" not in text
    if asks_yes_no or _HOW_MANY.match(question.strip()) or _NEGATED.search(question.lower()):
        return False
    if len(clauses) == 1 and _ABSENCE.match(clauses[0].text):
        return True
    phrases = frozenset((word,) for word in question_words)
    # "What dog?"
    if (
        len(clauses) == 1
        and clauses[0].is_question
        and clauses[0].words[0] == "what"
        and len(clauses[0].words) < 4
    ):
        return any(_find_mentions(clauses[0], phrases))
    for clause, places in zip(clauses, negators, strict=True):
        for start, end in _find_mentions(clause, phrases):
            for place in places:
                between = [word for word in clause.words[place + 1 : start] if word not in _LIGHT]
                is_no = clause.words[place] == "no" or (
                    clause.words[place] == "not" and clause.words[start - 1] == "any"
                )
                if (
                    is_no
                    and place < start
                    and len(between) <= 2
                    and "other" not in between
                    and _PREPOSITIONS.isdisjoint(between)
                    and _is_in_scope(clause, place, start, end, "object")
                ):
                    return True
            # "The chair is not blue."
            predicate = (
                clause.words[end : end + 2] in (["is", "not"], ["are", "not"])
                and clause.lemmas[end + 2 : end + 3]
            )
            if (
                predicate
                and predicate[0] in question_words
                and (end + 3 == len(clause.words) or not predicate[0].endswith(("ed", "ing")))
                and not re.search(r"\bor\b", question)
            ):
                return True
            match = _AFTER_MENTION.match(" " + " ".join(clause.words[end:]))
            if (
                match
                and (match["absent"] or match["wrong"])
                and clause.words[start - 1 : start] in ([], ["the"])
            ):
                return True
    return False


def read_reason(question: str, reply: str, abstains: bool, faults: Sequence[Fault] = ()) -> ReadReason:
    """Read whether a reply claims that its question is faulty, and which fault it names.

    Args:
        question: The question.
        reply: The reply. Only its final answer counts (`reasoning_parser.extract_final_answer`).
        abstains: Whether the reply abstains (`abstention.classify_abstention`).
        faults: What the question takes for granted wrongly; naming one of them is enough. Empty for an
            answerable question.

    >>> dog = [Fault("object", "dog", "cat")]
    >>> read_reason("What color is the dog?", "There is no dog in the image; I see a cat.", True, dog)
    ReadReason(claims_fault=True, names_fault=True, names_instead=True)
    >>> read_reason("What color is the dog?", "I cannot tell.", True, dog)
    ReadReason(claims_fault=False, names_fault=False, names_instead=False)
    """
    clauses = split_clauses(reply)
    negators = [_find_negators(clause) for clause in clauses]
    words = find_question_words(question)
    instead = [_names_instead(clauses, negators, fault, words) for fault in faults]
    # Words in quotation marks are those of the question: 'The "dog" is a cat.'
    quoted = " ".join(_QUOTATION.findall(extract_final_answer(reply).text.lower()))
    named = [
        _names_fault(clauses, negators, fault, has, quoted)
        for fault, has in zip(faults, instead, strict=True)
    ]
    text = " ".join(clause.text for clause in clauses)
    claims = (
        any(named)
        or (abstains and (any(instead) or _claims_any_fault(clauses, negators, words)))
        or (any(instead) and bool(_CORRECTION.search(text)))
        or bool(_MISFIT.search(text))
        or _denies_question_word(clauses, negators, question, words)
    )
    return ReadReason(claims, claims and any(named), claims and any(instead))
