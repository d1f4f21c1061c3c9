"""What is measured now and then: blind reading, agreement of the judge, blind baseline."""
