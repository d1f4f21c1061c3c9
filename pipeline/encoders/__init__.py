"""Encode images and texts as vectors: only `clip` and `weights` import open_clip, and `embedding` caches the vectors."""
