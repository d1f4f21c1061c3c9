"""The reference models: nets that answer questions about images, detectors of unanswerable questions, and selection functions."""
