"""The answerability judge: runs a question's functional program on what is known of a picture.

    facts        what is known of a picture, indexed       statements   what an answered question's program states
    full_answers what its full answer tells besides        believing    facts out of statements that may contradict
    reconstruct  a partial graph from all of a picture's questions
    finding      the steps that find things                asking       the steps that answer
    values       three-valued logic                        execute      a program, step by step
    judgement    the door: `judge`, `evidence_for`         citing       the facts that bear on a question, for people

It shares no code with the generator of the sample's questions, so that each checks the other.
"""
