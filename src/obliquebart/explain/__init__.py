"""Explanations of a fitted model: importance, effects, rules, trees, errors."""
