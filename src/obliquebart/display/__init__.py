"""Numbers, tables and live displays as people read them: as text, and as HTML for notebooks."""
