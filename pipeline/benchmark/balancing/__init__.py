"""Choose pairs so that neither the text nor the image predicts the label."""
