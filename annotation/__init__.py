"""The people's half: the study, Label Studio from outside, a Label Studio of our own."""
