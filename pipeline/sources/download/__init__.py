"""Download the files of GQA that a data set needs, from the official archives or the Hugging Face Hub."""
