"""Title of the project of the tiny study in Label Studio, and the lines of an error."""

TITLE = "RGQA tiny"


def message(caught):
    return "\n".join(caught.value.problems)
