"""Tables as HTML."""

from __future__ import annotations

from obliquebart.display.tables import TextTable, html_table, is_numeric, notebook_html


def test_numbers_are_on_the_right_and_nothing_becomes_markup():
    table = TextTable("<b>", ["a & b", "share"], [["<script>", "1,234.5"], ["x", "1% to 2%"]])
    html = html_table(table)
    assert "<caption>&lt;b&gt;</caption>" in html
    assert '<th scope="row">&lt;script&gt;</th><td class="number">1,234.5</td>' in html
    assert "a &amp; b" in html
    assert "<script>" not in notebook_html([table, "<script>"])


def test_what_counts_as_a_number():
    assert all(map(is_numeric, ["", "fixed", "1,000", "-0.5", "±2", "3e-7", "1 to 2", "∞", "–"]))
    assert not any(map(is_numeric, ["a", "12 levels"]))
