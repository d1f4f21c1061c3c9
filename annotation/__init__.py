"""Run the human annotation study: statistics of the study, the Label Studio client, and our own server.

Terms in this package: a *candidate* is a question whose answerability the study decides. A *gold question* is
a control question whose correct choice is known. A *choice* is what an annotator says about one question:
valid (answerable), invalid (unanswerable) or unsure. A *verdict* holds the two choices of an annotator for
the two questions of a task; it is also called a judgement. A *vote* is a choice about a candidate that
counts. A *repeat* is a candidate that an annotator sees again as the second question of another task. *Our
own server* is the Label Studio server that `rgqa annotate serve` runs on this machine.
"""
