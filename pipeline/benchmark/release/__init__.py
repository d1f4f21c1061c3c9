"""Write, check, compare and publish a release. Each module writes one part of the release folder."""
