"""What a fitted model does: its rules, its trees, its errors."""
