"""Model files and checkpoints, written as a whole and checked in every detail when read."""
