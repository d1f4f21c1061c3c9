"""The synthetic sample: a small world of drawn scenes in GQA's file formats, generated from a seed.

ontology                which kinds of objects exist, and their attributes
drawings                an SVG drawing of every kind; indoor_backgrounds and outdoor_backgrounds draw backgrounds
rendering               one object as SVG, and a whole scene as pixels
scene_plan, scenes      where objects are
scene_graphs            relations that follow from the geometry, and incomplete published graphs
questions               questions and answers with functional programs, from complete graphs
build                   writes data/sample/source and data/sample/truth
verify                  checks every answer with an executor that shares no code with the generator
train_clip, train_vqa   train the CLIP model and the VQA models of the sample on more images of the world
cli                     the commands `rgqa sample ...`, which run all this
"""
