"""The embedded sample: a small drawn world in GQA's file formats, made by code from a seed.

ontology    which kinds of things there are and what can be said of them
drawing     one image of one thing, as SVG; a whole scene, as pixels
things      a drawing of every kind; rooms and landscape are what lies behind
scenes      where things stand, and the relations that follow from the geometry
questions   questions and answers with functional programs, from the complete truth
build       writes data/sample/source and data/sample/truth
verify      checks every answer by an executor that shares no code with the generator
train_clip  trains the sample's own small CLIP (clip_trainer) on drawn train images and texts (clip_texts)
sample_cli  `rgqa sample`, which runs all this
"""
