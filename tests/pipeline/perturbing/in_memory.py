"""Questions perturbed without files."""

from collections import defaultdict
from functools import partial

import numpy as np

from pipeline.core.records import Candidate, Dropped, Tagged, Vocabulary
from pipeline.judge.judgement import evidence_for
from pipeline.perturbing.perturb_picture import PerturbInputs, perturb_picture, word_factors
from pipeline.perturbing.replacements import PerturbParams, Replacements
from pipeline.perturbing.slots import EditCase
from pipeline.programs.alignment import align
from pipeline.programs.operations import parse
from pipeline.words.lexicon import Lexicon
from tests.notation import graphs, steps

NO_WORDS = Vocabulary(
    objects={}, attributes={}, attribute_types={}, relations={}, categories={}, places={}, weathers={}
)


def perturb(questions, tags, vocabulary, params):
    """Candidates and questions without one, sorted. `tags`: text -> its words. The evidence is what the questions say."""
    asked = defaultdict(list)
    for question in questions:
        asked[question.picture_id].append(question)
    lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
    facts = partial(evidence_for, scenes={}, told=graphs(asked, lexicon), lexicon=lexicon)
    tagged = {text: Tagged(text=text, words=words) for text, words in tags.items()}
    inputs = PerturbInputs(asked, facts, tagged, Replacements(vocabulary, params))
    inputs.replacements.factors = word_factors(inputs, asked)
    rows = sorted(
        (row for p in asked for row in perturb_picture(inputs, p)), key=lambda row: row.candidate_id
    )
    return [[row for row in rows if isinstance(row, kind)] for kind in (Candidate, Dropped)]


def case_of(text, semantic, words=(), random=0.0):
    """A question with its program, of a picture of which nothing is known; all its random numbers are alike."""
    program = parse(steps(semantic))
    sentence = align(text, program, {}, words)
    nothing = Replacements(NO_WORDS, PerturbParams())
    return EditCase(sentence, program, None, np.zeros(0, bool), nothing, [(random, random)] * 12)
