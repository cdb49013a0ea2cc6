"""What several test files share: small models, small files, other processes, a browser."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The repository."""
