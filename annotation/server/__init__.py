"""A Label Studio of our own: its environment, its process, its accounts, and the gate that keeps annotators apart."""
