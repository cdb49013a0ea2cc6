"""What a treatment changes: treatments, propensities, effects and what they mean."""
