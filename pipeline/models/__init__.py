"""Models that answer questions of pictures, and when to believe them: nets (torch, loaded late), detectors of unanswerable
questions and selection functions (numpy).

`protocol` is what the two halves share: a net writes what it `Seen`, everything else is a function of that.
"""
