"""Run our own Label Studio server: the Python environment, the process and the accounts of the server, and
the annotation page.
"""
