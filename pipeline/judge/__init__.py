"""The answerability judge: runs a question's functional program on what is known of a picture.

programs (spelling -> operations), names (words that mean the same), facts (a scene, indexed), reconstruct (a picture's
other questions as evidence), finding and asking (the steps), values (three-valued logic), execute, judgement (the
door: `judge`, `evidence_for`). It shares no code with the sample's generator, so that each can check the other.
"""
