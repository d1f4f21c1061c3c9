"""Encode images and texts as CLIP vectors.

The modules `clip` and `weights` are the only modules of the pipeline that import open_clip. The module `embedding_cache` stores the vectors.
"""
