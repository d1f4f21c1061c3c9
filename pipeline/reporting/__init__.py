"""`rgqa report`: one HTML page of a run. It reads what the stages wrote, decides nothing and fetches nothing."""
