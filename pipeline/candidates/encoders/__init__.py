"""Encode images and texts as CLIP vectors. Only `clip` and `weights` import open_clip. `embedding_cache` stores the vectors."""
