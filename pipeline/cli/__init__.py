"""The command `rgqa`: one Typer app, with a module for each group of commands.

Every command calls one function. The module of that function is imported only when the command runs.
"""
