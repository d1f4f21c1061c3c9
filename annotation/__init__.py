"""Run the human annotation study: statistics of the study, the Label Studio client, and our own server."""
