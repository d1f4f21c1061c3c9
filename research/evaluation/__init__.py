"""Compare the leaderboard with the effects that the papers report.

The papers are RGQA (Zhang et al., ICCV 2023) and Reliable VQA (Whitehead et al., ECCV 2022).
"""
