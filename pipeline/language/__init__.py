"""Words and questions: lexicon, tagging, functional programs, presuppositions, similarity, paraphrases."""
