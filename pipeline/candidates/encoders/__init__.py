"""Encode images and texts as CLIP vectors.

Only the modules `clip` and `weights` import open_clip. The module `embedding_cache` stores the vectors.
"""
