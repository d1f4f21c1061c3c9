"""Candidates with the rule that drops each, or None."""

from pipeline.candidates.screening import screen_rules as rules
from tests.candidates.screening.in_memory import SIZE

CASES = [  # what is at issue, source question, new text, new program, edits, expected
    (
        "a sound edit stays",
        SIZE,
        "What size is the blue cup?",
        "select: cup (1)->filter color: blue [0]->query: size [1]",
        [("attribute", "red", "blue", 1)],
        "kept",
    ),
    (
        "asked for the colour of something black",
        (
            "What color are the large shoes?",
            "select: shoes (1)->filter size: large [0]->query: color [1]",
            "red",
        ),
        "What color are the black shoes?",
        "select: shoes (-)->filter color: black [0]->query: color [1]",
        [("attribute", "large", "black", 1)],
        rules.REVEALS_ANSWER,
    ),
    (
        "whether the red cup is red",
        ("Is the large cup red?", "select: cup (1)->filter size: large [0]->verify color: red [1]", "yes"),
        "Is the blue cup red?",
        "select: cup (1)->filter color: blue [0]->verify color: red [1]",
        [("attribute", "large", "blue", 1)],
        rules.REVEALS_ANSWER,
    ),
    (
        "which side of what is on the left",
        (
            "On which side is the red cup?",
            "select: cup (1)->filter color: red [0]->query: hposition [1]",
            "left",
        ),
        "On which side is the left cup?",
        "select: cup (1)->filter hposition: left [0]->query: hposition [1]",
        [("attribute", "red", "left", 1)],
        rules.REVEALS_ANSWER,
    ),
    (
        "whether the open door is open",
        ("Is the large door open?", "select: door (1)->filter size: large [0]->verify: open [1]", "yes"),
        "Is the open door open?",
        "select: door (1)->filter: open [0]->verify: open [1]",
        [("attribute", "large", "open", 1)],
        rules.REVEALS_ANSWER,
    ),
    (
        "what the sofa is called",
        (
            "What is the large furniture called?",
            "select: furniture (2)->filter size: large [0]->query: name [1]",
            "table",
        ),
        "What is the large sofa called?",
        "select: sofa (-)->filter size: large [0]->query: name [1]",
        [("object", "furniture", "sofa", 0)],
        rules.REVEALS_ANSWER,
    ),
    (
        "what the furniture is called",
        (
            "What is the large vehicle called?",
            "select: vehicle (9)->filter size: large [0]->query: name [1]",
            "bus",
        ),
        "What is the large furniture called?",
        "select: furniture (-)->filter size: large [0]->query: name [1]",
        [("object", "vehicle", "furniture", 0)],
        "kept",
    ),
    (
        "what he holds who holds the kite",
        (
            "What is the man wearing the hat holding?",
            "select: hat (1)->relate: man,wearing,s (2) [0]->relate: _,holding,o (3) [1]->query: name [2]",
            "kite",
        ),
        "What is the man holding the kite holding?",
        "select: kite (-)->relate: man,holding,s (2) [0]->relate: _,holding,o (3) [1]->query: name [2]",
        [("object", "hat", "kite", 0)],
        rules.REVEALS_ANSWER,
    ),
    (
        "blue or blue",
        ("Is the cup red or blue?", "select: cup (1)->choose color: red|blue [0]", "red"),
        "Is the cup blue or blue?",
        "select: cup (1)->choose color: blue|blue [0]",
        [("attribute", "red", "blue", 1)],
        rules.REPEATED_OPTION,
    ),
    (
        "both sides swapped",
        (
            "Is the cup to the left or to the right of the dog?",
            "select: dog (3)->choose rel: cup,to the left of|to the right of,s (1) [0]",
            "left",
        ),
        "Is the cup to the right or to the left of the dog?",
        "select: dog (3)->choose rel: cup,to the right of|to the left of,s (1) [0]",
        [("relation", "left", "right", 1)],
        rules.EDITED_WITHOUT_EFFECT,
    ),
    (
        "the same text",
        SIZE,
        "What size is the red cup?",
        SIZE[1],
        [("attribute", "red", "red", 1)],
        rules.EDITED_WITHOUT_EFFECT,
    ),
    (
        "an asserted and a presupposed colour",
        ("Is the red dog large?", "select: dog (3)->filter color: red [0]->verify size: large [1]", "yes"),
        "Is the blue dog small?",
        "select: dog (3)->filter color: blue [0]->verify size: small [1]",
        [("attribute", "red", "blue", 1), ("attribute", "large", "small", 2)],
        "kept",
    ),
    (
        "known to hold in the image",
        (
            "What is the blue cup on?",
            "select: cup (4)->filter color: blue [0]->relate: _,on,o (5) [1]->query: name [2]",
            "bed",
        ),
        "What is the red cup on?",
        "select: cup (4)->filter color: red [0]->relate: _,on,o (5) [1]->query: name [2]",
        [("attribute", "blue", "red", 1)],
        rules.ANSWERABLE_BY_EVIDENCE,
    ),
]
