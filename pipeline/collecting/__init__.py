"""What annotators' verdicts come to: the verb of stage collect."""
