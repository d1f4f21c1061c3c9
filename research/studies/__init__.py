"""Studies of the pipeline itself, which are run by hand (`rgqa study`) and are not stages.

"RGQA" and "the paper" are Zhang et al. (ICCV 2023). An AQ is an answerable question, a UQ an unanswerable
one.
"""
