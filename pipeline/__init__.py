"""Build test sets of unanswerable questions about images, and evaluate models on them.

The method follows the RGQA paper (Zhang, Ho and Vasconcelos, ICCV 2023, https://arxiv.org/abs/2303.05068).
Docstrings call it "RGQA" or "the RGQA paper".

Glossary (docs/reference/glossary.md has more terms):

UQ, AQ
    An unanswerable question and an answerable question about an image. Whether a question is answerable
    depends on the image: "What color is the cup?" is unanswerable if the image shows no cup.
candidate
    A pair of an image and a question that may be unanswerable. Annotators have not confirmed this yet.
CLIP subsets (`clip-easy`, `clip-hard`)
    Their candidates are unedited questions of other images. The similarity of image and question, measured
    with the model CLIP, is low in `clip-easy` and high in `clip-hard`.
PT subsets (`pt-easy`, `pt-hard`)
    Their candidates are edited (perturbed) questions of the image itself. In `pt-easy`, an object in the
    question is replaced by another object. In `pt-hard`, an attribute or a relation is replaced.
gold question
    A question for which the correct choice is known. It is shown to annotators together with a candidate, to
    check how carefully they work. The RGQA paper calls it a filter question.
choice, verdict, vote
    A choice is what an annotator says about one question: valid (answerable), invalid (unanswerable) or
    unsure. A verdict holds the two choices of an annotator for a task, which has two questions. A vote is a
    choice about a candidate that counts.
RGQA
    The paper and its test set of this kind, which was made from the data set GQA.
"""
