"""Rank the questions of other images by their CLIP score for each image, and select candidates among them."""
