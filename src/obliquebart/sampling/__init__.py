"""Run the chains: their order of rows, memory, threads and progress."""
