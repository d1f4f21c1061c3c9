"""Words and patterns with which replies deny something, say what they see, or say that they do not know.

`reason_reader` applies them to clauses of lower-case words. A clause is matched as its words after a space each, and
phrases such as "in the picture" are the word `<image>`.
"""

from __future__ import annotations

import re


def split_words(text: str) -> frozenset[str]:
    """Return the words of a text.

    >>> sorted(split_words("no not"))
    ['no', 'not']
    """
    return frozenset(text.split())


# The word that stands for phrases such as "in the picture" and "in view".
IMAGE = "<image>"
IMAGE_PHRASE = re.compile(
    r"\b(?:in|on|within|from|of|inside|by|across|throughout|into)\s+(?:(?:the|this|your|that|a|my"
    r"|our)\s+(?:\w+\s+)?)?"
    r"(?:image|picture|photo|photograph|scene|shot|pic|frame|foto"
    r"|snapshot)s?\b(?:\s+(?:that\s+)?you(?:'ve| have)?\s+(?:provided|sent|gave|uploaded|shared|attached"
    r"|posted|showed)|\s+(?:provided|given|shown|above|at hand))?|\b(?:in|within)\s+(?:view|sight|frame"
    r"|here)\b"
)
# Contractions, also without their apostrophe, and what they mean. The rules apply one after the other.
APOSTROPHE_WORDS = (
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
# Markup, brackets and quotation marks.
MARKUP = re.compile(r"[*_`#\"~<>\[\]{}()\\]+|(?<!\w)'|'(?!\w)|(?<=s)'(?=\s)")
# A heading such as "missing: dog" or "not found: dog".
MISSING_LIST = re.compile(
    r"(?<!is )(?<!are )\b(missing|absent|nonexistent|not (?:found|present|visible|detected|seen|shown"
    r"|there|identified|available|included|listed|depicted)|undetected|unseen|wrong"
    r"|incorrect)(?: objects?| items?| things?)?\s*[:|=]"
    r"|(?:^|(?<=[.;] ))(missing|absent)\s*[,;]"
)
# An entry such as "dog: none".
ABSENT_ENTRY = re.compile(
    r"(?<!answer)(?<!answerable)(?<!possible)(?<!response)(?<!answered)(?<!yes)(?<!status)\s*[:,;"
    r"|=]\s*(?:none|nothing|absent|missing|not found|not present|not visible|not there|not shown|nonexistent"
    r"|no|false|(?:0|zero)(?: (?:matches|match|hits|results|times|detections|found"
    r"|instances))?)(?=\s*(?:[.,;:|]|$))"
)
# Tokens: words, the possessive "s", and the punctuation that separates clauses.
TOKEN = re.compile(r"<image>|'s|[a-z0-9]+|[.,;:!?]")
SENTENCE_ENDS = frozenset(".;!?")
# Words that begin a new clause.
CLAUSE_WORDS = split_words(
    "but however although though whereas while because since so therefore yet except hence thus then"
)
# After these words, "and" begins a new clause.
AND_STARTS = split_words(
    "there it the nothing no none i that this is are has nobody they he she we hence therefore so its"
)
# Words that deny what follows them in their clause.
NEGATORS = split_words("""
    no not never without nothing nobody none neither nor nowhere lack lacks lacking absence unable
    fail fails failed instead rather unlike devoid wrong incorrect false inaccurate zero 0 non
    hardly missing absent nonexistent opposed doubt doubtful
    """)
# Verbs of seeing and finding.
SEEING = split_words("see find spot locate detect observe notice")
# Negators that only count if a certain word follows.
NEGATOR_PARTNERS = {"instead": {"of"}, "rather": {"than"}, "opposed": {"to"}}
# Words of a clause that says that something was taken for something else.
CONFUSION = re.compile(
    r"\b(?:confus\w+|mistak\w+ \w+|mistook|mix\w* up|mixup|mix up|misidentif\w+|mislabel\w*|misdescri\w+"
    r"|misread\w*|misnam\w+|wrongly|incorrectly"
    r"|erroneously|falsely|mistakenly)\b"
)
# Words that show that a negation is about what the model can know.
EPISTEMIC = split_words("""
    tell tells say determine determined know known sure certain answer answered enough sufficient
    clearly well properly information info detail details detailed idea possible discern judge guess
    legible readable distinguish distinguishable necessarily ascertain infer indication hint clue
    context certainty confidently confident conclusive conclude recognize specify assess provide
    provided comment assist help problem able decipher way offer definitively definitive confirm
    reliably reliable knowing said focus ability capable trained access allowed permitted policy
    privacy comfortable share process load received attached uploaded applicable answerable
    determinable read verify verified estimate estimated medical professional diagnosis diagnose
    given going guessing speculate comparable recognise real judgments appropriate told judged count
    counted assessed measure measured established evaluate evaluated deduce gauge answering
    recognized recognised discerned resolved telling saying available respond reply response allow
    allows let lets angle distance support basis
    """)
# Words for what a question asks for, or for the picture as such. "The color is not visible" denies no object.
SUBJECT_HEADS = split_words("""
    color material type kind brand name shape size pattern age number word text time what which who
    where how whether if it image picture photo quality resolution they them answer this that these
    those question view lighting writing
    """)
# Determiners.
DEFINITE = split_words("the his her its their this that these those my your our")
INDEFINITE = split_words("a an any some one such either")
PREPOSITIONS = split_words(
    "on in at under behind with near beside next above below by of from around inside for beneath underneath over along between"
)
# Words before "of" after which a denial goes on: "no sign of a dog".
BEFORE_OF = split_words(
    "sign trace evidence kind type sort mention any one none absence lack instead pair piece picture image hint presence instance part devoid free"
)
# Words without content of their own between a negation and what it denies: "I am NOT ABLE TO FIND ANY dog".
LIGHT = split_words("""
    a an any the be been is are was were do does did have has had can could will would should may
    might seem seems appear appears to see find spot locate identify detect observe notice show
    shows contain contains include includes feature features depict depicts display displays there
    it this that image picture photo anyone anybody anything someone somebody something one ones i
    we you able actually really visible apparent single such here also at all think believe look
    looks like exist clear discernible evident obvious recognizable reveal reveals indicate
    indicates present portray exhibit hold holds make out of as for than with being called
    """)
# Words that may follow the head of a noun phrase.
AFTER_NOUN = (
    LIGHT
    | PREPOSITIONS
    | split_words("""
    and or nor not no which who whose either though but only in shown seen found anywhere pictured
    depicted so as when where because therefore missing absent nonexistent nowhere wears wear holds
    rides stands sits lies hangs then to just alone itself per according against what
    """)
)
# Words between "not" and a word such as "visible".
EXISTS = r"(?: be| been| being)?(?: any| a| an)?(?: really| actually| even)?"
# Words that may follow a more general name of a missing object: "no animals here", but not "no animals with
# collars".
AFTER_GENERAL = split_words(
    "<image> at is are was were here there visible present shown seen pictured depicted anywhere and or nor to like can could be so"
)
# Predicates that deny what stands before them: "is not visible", "is missing", "does not match".
AFTER_MENTION = re.compile(
    r"(?: <image>| count| visible| present| found| shown| detected| you \w+(?: about| to)?| in question"
    r"| (?:in|from|of) (?:the|your) question| mentioned| described| asked about| referred to| that| which"
    r"| at all| anywhere| like that)*"
    r"(?: simply| actually| just| also| really| itself)*(?: is| are| was| were| does| do| did| can| could"
    r"| will| has| have| appears| appear| seems| seem| to| be| being)*"
    r"(?: simply| actually| just| also| really)*"
    r"(?: (?P<absent>nowhere|missing|absent|nonexistent|lacking|nonvisible|unavailable|free"
    r"|never appear\w*|no have|no exist\w*|no here|not have|should (?:be|read|say)|yet to be|no$"
    r"|would have to be)\b"
    rf"| not{EXISTS}(?: (?P<exists><image>|(?:present|visible|there|here|shown|depicted|pictured|seen"
    rf"|found|exist|appear|anywhere|"
    r"included|detected|displayed|available|contained|observed|spotted|located|featured|part|portrayed"
    r"|among|one of|to be|identified|recorded|listed|captured|discernible|evident|apparent|in)\b)|\s*$)"
    r"| (?P<wrong>wrong|incorrect|false|inaccurate|mistaken|untrue|erroneous|a mistake|an error|mistake"
    r"|error|invalid)\b"
    r"| (?:(?:must|may|might|could|should|seems to|appears to) )?(?:be )?(?:a |an )?(?P<slip>slip|typo"
    r"|misnomer|mix up|misunderstanding|error|mistake)\b"
    r"| not (?:be )?(?:\w+ )?(?P<unfit>match|matched|fit|apply|correspond|describe|hold|agree|right"
    r"|correct|true|accurate|applicable|suit)\b"
    r"| (?:there |i |we )*(?:is |are |was |were |have |has |yields |gives |returns |shows |produces |see "
    r"|find |found )*(?P<none>none|no trace|no sign|nothing|zero|0)\b"
    r"| (?P<contradicts>contradicts|mismatches|conflicts)\b)"
)
# "A dog I do not see."
FRONTED = re.compile(
    r" (?:i|we|you) (?:can|could|do|did|was|am|were)?(?: <image>| here| on \w+ \w+)*(?: not"
    r"| never)(?: be)?(?: able to)?"
    r"(?: <image>| here)* (?:see|find|spot|locate|detect|discover|seeing)(?: <image>| here| anywhere"
    r"| at all)*$"
)
# Words that say that the following words are those of the question.
ATTRIBUTION = re.compile(
    r"\b(?:question|prompt|ask|asks|asked|asking|you|your|mention\w*|refer\w*|assum\w*|presuppos\w*"
    r"|premise|describ\w*|call\w*|claim\w*"
    r"|suppos\w*|stat\w*|thought|expect\w*|looks? like|resembl\w*|suggest\w*|impl\w*|query|seem\w* like"
    r"|taken? for|took|first|initially|supposedly)\b"
)
# Words of a reply that contrasts the question with the image.
CONTRAST = re.compile(
    r"\b(?:but|however|yet|whereas|while|though|although|actually|instead|in fact|in reality|only|really"
    r"|no|not|nothing|nobody|none|wrong|incorrect|mistake\w*|false)\b"
)
# Words of a reply that corrects the question.
CORRECTION = re.compile(
    r"\b(?:actually|(?:do|did) you mean|instead|only|in fact|in reality|rather|correction|mistake\w*"
    r"|wrong|incorrect|not|false|inaccurate)\b"
)
# Words that claim a fault of a question in a reply that abstains.
CLAIM_CUE = re.compile(
    r"\b(?:missing|absent|absence|lacks?|nonexistent|false|wrong\w*|incorrect\w*|mismatch\w*"
    r"|contradict\w*|inaccura\w*|inconsistent|mistaken|invalid|empty|deserted)\b"
    r"|\bactually\b|\bdifferent\b|\binstead\b"
)
# Words about the image as such.
SHOWS_IMAGE = re.compile(r"\b(?:image|picture|photo|photograph|scene|see|visible|shown|there)\b")
# Says what the image shows. This claims a fault if the clause has no word of the question.
SHOWS = re.compile(
    r"\bonly (?!partly|partially|barely|be\b|visible|possible|guess|say|tell|if\b|by\b|with\b|from\b"
    r"|when\b|part)\w+"
    r"|\b(?:image|picture|photo|photograph|scene) (?:instead |rather |only |just )?(?:shows|contains"
    r"|depicts|features|displays|is an?|is of)\b"
)
# Questions whose answer is yes or no.
YES_NO = re.compile(
    r"(?:is|are|was|were|do|does|did|can|could|has|have|had|will|would|am|isn't|aren't|don't"
    r"|doesn't)\b(?!.*\bor\b)",
    re.I,
)
# Questions with a negation.
NEGATED = re.compile(r"\b(?:no|not|without|none|never)\b|n't\b")
# Questions for a number.
HOW_MANY = re.compile(r"how (?:many|much)\b", re.I)
# Words of a question that name nothing in the image.
QUESTION_FUNCTION_WORDS = split_words("""
    a an the of in on at to is are was were be do does did what which who whom whose where when why
    how many much color kind type sort there any this that these those it its and or with for from
    by as have has had can could will would image picture photo photograph you think see name called
    made one item piece side part look look like not no s doing scene
    """)
# Words of a rhetorical question: "How could it be empty?"
RHETORICAL = re.compile(
    r"\b(?:how (?:could|can|would|should)|since when|(?:would|could|can) (?:a|an|the|this|that|it)|really"
    r"|seriously)\b"
)
# Searching for something, and not finding it.
SEARCH = re.compile(r"\b(?:search|look|hunt|scan|check)\w*\b")
IN_VAIN = re.compile(
    r"\b(?:in vain|empty hand\w*|without success|no luck|unsuccessful\w*|no avail|came up empty"
    r"|no result\w*)\b"
)
# Up to three words in quotation marks that are not the key of a JSON object.
QUOTATION = re.compile(r"(?<!\w)[\"'\u201c\u2018](\w+(?: \w+){0,2})[\"'\u201d\u2019](?!\w)(?!\s*:)")
# Statements that the question as a whole does not fit.
MISFIT = re.compile(
    r"\b(?:description|question|premise) (?:does|do) not (?:match|fit|apply|correspond)\b|\bfalse premise\b"
    r"|\b(?:does|do) not (?:match|fit) the (?:question|description)\b"
)
# A clause that denies the words before it: "Dog: none found", "I look for a dog. There is none."
NONE = re.compile(
    r"(?:(?:found|seen|detected|result|status|visible|present|shown) )?(?:is )?(?:there (?:is|are) "
    r"|i (?:can )?(?:see |find )?)?(?:none|nothing|no|not|never|nowhere|absent|missing)\b"
)
# Words after what a reply corrects: "the dog is actually a cat".
IN_TRUTH = re.compile(
    r"\b(?:is|are|was|were|it|they|has|have) (?:actually|in fact|in reality|really|in truth)\b"
)
# Words with which a reply says that it gives no answer.
ABSTAINS = re.compile(
    r"\b(?:unanswerable|can not|unable|sorry|apolog\w+|afraid|unfortunately|regret\w*|not possible"
    r"|no answer|not answerable|n a|invalid)\b"
)
# Words of a reply that says that it does not know or see enough.
NOT_KNOWING = re.compile(
    r"\b(?:can not|not able|unable|not sure|don t|do not|not know|unsure|unclear|unknown|uncertain\w*"
    r"|blurr\w*|dark|far|small|tiny|cropped|cut off|hidden|hid\w*|obscur\w*|occlu\w*|cover\w*"
    r"|block\w*|turned|facing|resolution|glare|glary|angle|grainy|pixel\w*|washed|overexposed|sharp"
    r"|zoom\w*|outside|depends?|guess\w*|mystery|private|privacy"
    r"|maybe|might|may|could|perhaps|possibly|hard to|difficult|tough to|impossible|who knows|beyond"
    r"|undecid\w*|unread\w*|illegible|invisible|faded|rather"
    r"|please|sorry|ask|another|low|poor|insufficient|ambiguous|decline|refuse|policy|error|loading|light"
    r"|lighting|quality|limited|open|remains?|equally|undetermin\w*|indetermin\w*)\b"
)
# Words of a reply that says nothing but "none".
BARE_REPLY = split_words("answer final response it is the none nothing my nobody a reply")
# Participles that say that something is to be seen.
SHOWN = split_words(
    "visible shown seen present depicted pictured displayed given stated mentioned found evident"
)
# A reply that only says that something is not there.
ABSENCE = re.compile(r" there (?:is|are) (?:no|not an?y?)(?: \w+){1,3}(?: <image>)?$")
