"""Read images, questions and scene graphs: GQA, VQA v2, Visual Genome, or a table of your own."""
