"""The model: its parameters and defaults, the outcome, and the prior in the engine's units."""
