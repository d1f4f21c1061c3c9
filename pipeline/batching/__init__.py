"""Which filter questions a picture offers, by what is known of it."""
