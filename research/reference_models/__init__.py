"""Models that answer questions about images, with detectors of unanswerable questions and selection functions."""
