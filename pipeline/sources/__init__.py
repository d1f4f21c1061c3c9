"""Readers of pictures, questions and scene graphs (GQA, VQA v2, Visual Genome, a table of your own), and getting them."""
