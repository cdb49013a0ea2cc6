"""Run the chains: memory, threads, progress, and the estimate of the noise."""
