"""A small vocabulary, an image, and candidates screened without files."""

from collections import defaultdict
from functools import partial

from pipeline.candidates.screening.screen_rules import ScreenInputs, screen_image
from pipeline.core.records import (
    Candidate,
    DroppedCandidate,
    Edit,
    ObjectEntry,
    SceneGraph,
    SceneObject,
    ScreenedCandidate,
    Vocabulary,
)
from pipeline.core.records import Relation as To
from pipeline.language.lexicon import Lexicon
from pipeline.verifier.verification import build_evidence
from tests.notation import graphs, question, steps

VOCABULARY = Vocabulary(
    objects={"cup": ObjectEntry(name="cup", count=1, number="singular", attributes={})},
    attributes={},
    attribute_types={
        "red": "color",
        "blue": "color",
        "black": "color",
        "wood": "material",
        "large": "size",
        "small": "size",
    },
    relations={},
    categories={"furniture": ("table", "chair")},
    locations={},
    weathers={},
)

# What image n1 shows, told by its scene graph (published graphs are incomplete): a red cup on a table, a dog.
SCENE = SceneGraph(
    image_id="n1",
    split="testdev",
    width=100,
    height=100,
    objects=(
        SceneObject(
            object_id="1",
            name="cup",
            x=10,
            y=10,
            w=10,
            h=10,
            attributes=("red",),
            relations=(To(name="on", object_id="2"), To(name="to the left of", object_id="3")),
        ),
        SceneObject(object_id="2", name="table", x=5, y=20, w=30, h=30),
        SceneObject(object_id="3", name="dog", x=80, y=60, w=10, h=20),
    ),
)


def screen(candidates, questions, scenes, vocabulary):
    """Candidates that stay and those that go; without a scene graph the evidence is what the questions say."""
    asked, proposed = defaultdict(list), defaultdict(list)
    for groups, records in ((asked, questions), (proposed, candidates)):
        for record in records:
            groups[record.image_id].append(record)
    lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
    facts = partial(build_evidence, scenes=scenes, partial_graphs=graphs(asked, lexicon), lexicon=lexicon)
    inputs = ScreenInputs(proposed, asked, facts, vocabulary)
    rows = [row for image_id in proposed for row in screen_image(inputs, image_id)]
    return [[row for row in rows if isinstance(row, kind)] for kind in (ScreenedCandidate, DroppedCandidate)]


def kept_or_why(source, new_text="", new_semantic="", edits=(), scenes=(SCENE,), others=(), subset="pt-hard"):
    """Screen one candidate made from a question; "kept", or the reason why not."""
    text, semantic, answer = source
    asked = question(text, semantic, answer)
    candidate = Candidate(
        candidate_id="c1",
        subset=subset,
        image_id="n1",
        question_id="q1",
        text=new_text or text,
        program=steps(new_semantic or semantic) if semantic else (),
        edits=tuple(
            Edit(
                start=text.index(old),
                end=text.index(old) + len(old),
                kind=kind,
                old=old,
                new=new,
                step_index=step,
            )
            for kind, old, new, step in edits
        ),
    )
    kept, dropped = screen([candidate], [asked, *others], {s.image_id: s for s in scenes}, VOCABULARY)
    assert len(kept) + len(dropped) == 1
    return dropped[0].reason if dropped else "kept"


SIZE = ("What size is the red cup?", "select: cup (1)->filter color: red [0]->query: size [1]", "small")
