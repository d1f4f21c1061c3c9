"""Write, check, compare and publish a release; each module writes one part of the folder."""
