"""Every stage from ingest to batch must process any text that ingest accepts."""

from functools import cache, partial

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pipeline.candidates.estimating.answerability import (
    compute_features,
    estimate_claims,
    extract_candidate_claims,
)
from pipeline.candidates.estimating.claims import ClaimEstimator
from pipeline.candidates.estimating.difficulty import DifficultyClassifier
from pipeline.candidates.perturbing.replacements import PerturbParams
from pipeline.candidates.screening.screen_rules import ScreenInputs, screen_image
from pipeline.core.randomness import make_generator
from pipeline.core.records import Candidate
from pipeline.language.lexicon import Lexicon
from pipeline.language.paraphrase import paraphrase_questions
from pipeline.language.tagger import Tagger
from pipeline.language.word_classification import WordClassifier, tag_texts
from pipeline.sources.source_folder import find_question_errors
from pipeline.tasks.gold_questions import (
    QuestionsByName,
    collect_known_questions,
    make_all_template_questions,
    match_text_style,
    sample_foreign_questions,
)
from pipeline.tasks.second_questions import Offer
from pipeline.tasks.task_builder import make_tasks
from pipeline.verifier.presence_model import get_known_names
from pipeline.verifier.verification import build_evidence
from tests.candidates.perturbing.in_memory import perturb
from tests.candidates.perturbing.small_vocabulary import KINDS, vocabulary
from tests.notation import graphs, question, scene

WORDS = vocabulary("cup", "table", "man", "woman", "hat", "dog", "bus stop", "orange", "glasses", kinds=KINDS)
SCENES = {"p": scene("table 1: red, wood", "cup 2: blue; on 1", "man 3: young", complete=False)}
PROGRAMS = (
    "",
    "select: cup (2)->query: color [0]",
    "select: table (1)->relate: cup,on,s (2) [0]->query: color [1]",
    "select: table (1)->filter color: red [0]->relate: _,on,s (2) [1]->query: name [2]",
    "select: man (3)->filter age: young [0]->relate: hat,wearing,o (-) [1]->query: name [2]",
    "select: hat (-)->relate: person,wearing,s (-) [0]->query: name [1]",
    "select: cup (2)->exist: ? [0]",
    "select: cup (2)->choose color: red|blue [0]",
    "select: cup (2)->verify color: not(red) [0]",
    "select: table (1)->select: cup (2)->same color: [0,1]",
    "select: he (3)->relate: hat,wearing,o (-) [0]->query: name [1]",
)
SAID = """what which who where how is are isn't aren't does do has can the a an this these it he she they young red blue wood
wooden orange cup cups table man men woman hat dog dogs bus stop glasses on in under wearing holding to the left of right side
kind type of made color material size that not or and 's other next in front image photo there you think no 2 17 1,000 called"""
MARKS = (*"""?.!,…"'’“”？。🙂-()/;:""", "...", "?!", "👩‍👧")
BLANKS = (" ", "", "  ", "\n", "\t", "\u00a0", "\u200b", "\r\n", "\u2028")
CASES = (str, str.upper, str.title, str.lower, str.capitalize, str.swapcase)
words = st.one_of(st.sampled_from(SAID.split()), st.sampled_from(MARKS), st.text(max_size=4))
texts = st.builds(
    lambda pairs, case: case("".join(word + blank for word, blank in pairs)),
    st.lists(st.tuples(words, st.sampled_from((" ", *BLANKS))), min_size=1, max_size=14),
    st.sampled_from(CASES),
)
annotations = st.dictionaries(
    st.one_of(
        st.sampled_from(("0", "1", "3:5", "4:", "40", "9:2", "x", "1:y", "-1", "")), st.text(max_size=3)
    ),
    st.sampled_from(("1", "2", "3", "1,2")),
    max_size=3,
)


@cache
def tagger() -> Tagger:
    return Tagger()


def through_the_stages(text: str, program: str, marks: dict[str, str], preset: str) -> list[Candidate]:
    """Run the stages on a text, asked about an image with and an image without a scene graph. Return its edits."""
    asked = [question(text, program, "red", marks, "q1", "p"), question("Is it?", "", "no", {}, "q2", "n")]
    reworded = list(paraphrase_questions(asked, "testdev", 1))
    assert [row.question_id for row in reworded] == ["q1", "q2"]
    tags = {
        row.text: row.words for row in tag_texts([row.text for row in asked], WordClassifier(WORDS), tagger())
    }
    own, _ = perturb(asked, tags, WORDS, PerturbParams(preset=preset), scenes=SCENES)
    others = [
        Candidate(candidate_id="x", subset="clip-easy", image_id="n", question_id="q1", text=text,
                  program=asked[0].program)
    ]  # fmt: skip
    lexicon = Lexicon(WORDS.categories, WORDS.attribute_types)
    by_image = {"p": [asked[0]], "n": [asked[1]]}
    facts = partial(build_evidence, scenes=SCENES, partial_graphs=graphs(by_image, lexicon), lexicon=lexicon)
    inputs = ScreenInputs({"p": own, "n": others}, by_image, facts, WORDS)
    kept = {key: [row for row in screen_image(inputs, key) if not hasattr(row, "reason")] for key in "pn"}
    beliefs = ClaimEstimator(WORDS)
    difficulty, naming = (
        DifficultyClassifier(WORDS, beliefs),
        QuestionsByName({row.question_id: row for row in asked}, "pn"),
    )
    offered, candidates = {}, []
    for key, rows in kept.items():
        for row in rows:
            found = estimate_claims(extract_candidate_claims(row.candidate), facts(key), beliefs)
            compute_features(found, False, bool(row.candidate.edits))
            difficulty(row.candidate, found, get_known_names(facts(key)))
            candidates.append(row.candidate)
        rng = make_generator(1, key)
        filters = [
            *collect_known_questions(by_image[key], rows, ()),
            *sample_foreign_questions(key, naming, facts(key), 10, rng),
            *match_text_style(
                make_all_template_questions(WORDS, facts(key), rng), [row.candidate.text for row in rows]
            ),
        ]
        offered[key] = Offer.from_questions(filters)
    assert len(list(make_tasks(candidates, offered, 0.5, 0.4, 1))) == len(candidates)
    return own


def accepted(text: str) -> bool:
    return not find_question_errors(question(text, answer="red", image_id="p"))


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(texts, st.sampled_from(PROGRAMS), annotations, st.sampled_from(("presuppositions", "paper")))
@example("What color is the cup", PROGRAMS[1], {}, "presuppositions")
@example("cup", PROGRAMS[1], {}, "presuppositions")
@example("hat ", PROGRAMS[10], {}, "presuppositions")
@example("Who Is Wearing The Hat?", PROGRAMS[5], {}, "presuppositions")
@example("?", "", {"0": "1"}, "paper")
@example("the cup " * 3000, PROGRAMS[2], {}, "presuppositions")
def test_every_stage_processes_any_text_that_ingest_accepts(text, program, marks, preset):
    if accepted(text):
        through_the_stages(text, program, marks, preset)
