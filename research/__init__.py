"""Laboratory equipment: the synthetic world, simulated annotators, reference models, studies and benchmarks."""
