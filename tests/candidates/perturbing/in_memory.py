"""Questions perturbed without files."""

from collections import defaultdict
from functools import partial
from types import MappingProxyType

import msgspec
import numpy as np

from pipeline.candidates.perturbing.edit_slots import EditCase
from pipeline.candidates.perturbing.perturb_image import PerturbInputs, calibrate_inputs, perturb_image
from pipeline.candidates.perturbing.replacements import PerturbParams, ReplacementSampler
from pipeline.core.records import Candidate, DroppedCandidate, TaggedText, Vocabulary
from pipeline.language.alignment import align_program
from pipeline.language.functional_programs import parse_program
from pipeline.language.lexicon import Lexicon
from pipeline.language.presuppositions import find_presuppositions
from pipeline.verifier.verification import build_evidence
from tests.notation import graphs, steps

NO_WORDS = Vocabulary(
    objects={}, attributes={}, attribute_types={}, relations={}, categories={}, locations={}, weathers={}
)


class AnythingFits:
    """In place of the model of what is plausible, where something else is tested."""

    def __init__(self, replacements):
        self.anything = np.ones(len(replacements.object_table.names))

    def score_objects(self, constraints):
        return self.anything

    def match_unknown_facts(self, name, constraints):
        return self.anything > 0

    def score_attribute(self, name, attribute, type_):
        return 1.0

    def score_relation(self, subject, relation, other):
        return 1.0


def perturb(
    questions,
    tags,
    vocabulary,
    params,
    anything_fits=False,
    scenes=MappingProxyType({}),
    max_query_only_proportion=1.0,
):
    """Candidates and questions without one, sorted. `tags`: text -> its words. The evidence is what the questions say, and the
    scene graph if there is one."""
    asked = defaultdict(list)
    for question in questions:
        asked[question.image_id].append(question)
    lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
    facts = partial(build_evidence, scenes=scenes, partial_graphs=graphs(asked, lexicon), lexicon=lexicon)
    tagged = {text: TaggedText(text=text, words=words) for text, words in tags.items()}
    params = msgspec.structs.replace(params, max_query_only_proportion=max_query_only_proportion)
    inputs = PerturbInputs(asked, facts, tagged, ReplacementSampler(vocabulary, params))
    if anything_fits:
        inputs.replacements.plausibility = AnythingFits(inputs.replacements)
    inputs = calibrate_inputs(inputs, asked)
    rows = sorted((row for p in asked for row in perturb_image(inputs, p)), key=lambda row: row.candidate_id)
    return [[row for row in rows if isinstance(row, kind)] for kind in (Candidate, DroppedCandidate)]


def case_of(text, semantic, words=(), random=0.0):
    """A question with its program, of an image of which nothing is known; all its random numbers are alike."""
    program = parse_program(steps(semantic)) if semantic else ()
    sentence = align_program(text, program, {}, words)
    nothing = ReplacementSampler(NO_WORDS, PerturbParams())
    said = find_presuppositions(program, sentence)
    return EditCase(sentence, program, said, None, np.zeros(0), nothing, [(random, random)] * 12)
