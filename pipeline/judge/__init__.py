"""The answerability judge: runs a question's functional program on what is known of a picture.

    programs     GQA's spelling -> operations              names       words that mean the same things
    facts        what is known of a picture, indexed       statements  what one answered question states
    full_answers what its full answer tells besides        reconstruct a partial graph from all of a picture's questions
    finding      the steps that find things                asking      the steps that answer
    values       three-valued logic                        execute     a program, step by step
    judgement    the door: `judge`, `evidence_for`         wording     programs in words, for reasons

It shares no code with the generator of the sample's questions, so that each checks the other.
"""
