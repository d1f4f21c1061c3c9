"""Label Studio from outside: queues, tasks pushed, verdicts pulled, what people see."""
