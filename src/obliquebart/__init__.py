"""Oblique Bayesian additive regression trees."""

__version__ = "0.1.0"
