"""Rank all image-question pairs by CLIP similarity and draw the hard and easy candidates."""
