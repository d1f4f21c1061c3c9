"""Download GQA, from its official archives or from the Hugging Face hub, and only the members that are needed."""
