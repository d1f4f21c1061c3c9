"""The reference models: nets that answer questions about images, detectors of unanswerable questions, and
selection functions.

Terms in this package: "RGQA" is the paper of Zhang et al. (ICCV 2023). A *net* is a neural network that
predicts a logit for each answer. A *detector* computes the confidence that a question is answerable. An AQ is
an answerable question, a UQ an unanswerable one. A *pseudo pair* (or pseudo UQ) combines the image of one
question with another question, to train nets without UQs. A *region* is a part of an image with a feature
vector and a box; boxes are (left, top, right, bottom) as fractions of the image size. An *image tower* is the
part of a model that computes feature maps of images. "train" and "val" are the splits of the source
questions. In shapes, b, n, K, M, d, L and p are the numbers of questions in a batch, questions, answers,
regions per image, features, words and images.
"""
