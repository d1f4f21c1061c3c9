"""Run `python -m pipeline.cli` like `rgqa`."""

from pipeline.cli.main import main

main()
