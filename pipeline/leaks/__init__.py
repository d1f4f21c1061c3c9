"""`rgqa leaks`: what anybody's set gives away without its pictures, and its largest subset that gives less."""
