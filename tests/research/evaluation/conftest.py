"""A small release with a leaderboard, as in the tests of the leaderboard."""

from tests.scoring.leaderboard.conftest import a_file, a_run, benchmark, release, row, said, write  # noqa: F401
