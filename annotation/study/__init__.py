"""The annotation study without its server: who judges what, what the verdicts come to, how far they can be relied on."""
