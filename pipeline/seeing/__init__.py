"""`rgqa look`: where in a picture a model looked before it answered, as grids for scorers and drawn over the picture."""
