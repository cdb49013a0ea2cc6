"""The kept draws: predictions, convergence, class probabilities, export."""
