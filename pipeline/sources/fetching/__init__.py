"""Getting GQA: its official archives, or the copy on the Hugging Face hub, and of them only what a data set needs."""
