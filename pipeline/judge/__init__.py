"""The answerability judge: runs a question's functional program on what is known of a picture.

    known_things what is known of things, what is picked out of them, and what may be left out
    facts        what is known of a picture, indexed       statements   what an answered question states
    believing    facts out of statements that may contradict
    reconstruct  a partial graph from all of a picture's questions, and its facts cited to people
    values       three-valued logic                        steps        what each step of a program finds or answers
    judgement    the door: `judge`, `evidence_for`

It shares no code with the generator of the sample's questions, so that each checks the other.
"""
