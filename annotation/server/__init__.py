"""Run our own Label Studio server: its Python environment, process and accounts, and the annotation page."""
