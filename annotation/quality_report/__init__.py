"""The quality report: what a study's leader shows to a reviewer, as JSON and as one HTML page."""
