"""The stages of research/dvc.yaml. They evaluate the release that the stages of dvc.yaml built.

In this package, "RGQA" is the paper of Zhang et al. (ICCV 2023), and "the papers" are RGQA and Reliable VQA
(Whitehead et al., ECCV 2022). An AQ is an answerable question, a UQ an unanswerable one.
"""
