"""Model files and checkpoints: written whole, and checked when they are read."""
