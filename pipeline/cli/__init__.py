"""The command `rgqa`: one Typer app, a module per group of commands. Every command calls one function and imports it late."""
