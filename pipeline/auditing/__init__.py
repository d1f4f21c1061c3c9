"""What a benchmark gives away: attackers that lack the picture or the text, margins, and what it can resolve."""
