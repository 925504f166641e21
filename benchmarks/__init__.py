"""Speed and memory beside literal baselines; `python -m benchmarks` runs them all."""
