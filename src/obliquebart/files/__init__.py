"""Model files and checkpoints: written atomically, and checked in every detail when read."""
