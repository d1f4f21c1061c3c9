"""Running a model on a release: what it is asked, how its confidence is got, and the door to inspect_ai."""
