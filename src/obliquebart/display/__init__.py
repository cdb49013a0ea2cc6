"""Numbers, tables and live displays for people: text, and HTML for notebooks."""
