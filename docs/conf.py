"""Sphinx configuration: Markdown pages, an executed gallery, an API reference from docstrings."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "tools"))
os.environ.setdefault("MPLBACKEND", "Agg")

import versions  # noqa: E402

import obliquebart  # noqa: E402

project = "obliquebart"
author = "The obliquebart authors"
copyright = "the obliquebart authors, BSD-3-Clause"
release = version = obliquebart.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "fragments",
]
templates_path = ["_templates"]
exclude_patterns = ["tools", "_generated", "README.md"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]

autodoc_typehints = "none"
autodoc_member_order = "bysource"
add_module_names = False
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
# What a docstring of the reference must have: a summary line with a full stop, its parameters by
# name and in order, sections in numpydoc's order. Examples are run by tests/docs/test_docs.py.
numpydoc_validation_checks = {
    *("GL03", "GL05", "GL06", "GL07", "GL08"),
    *("SS01", "SS02", "SS03", "SS04"),
    *("PR02", "PR03", "PR04", "PR10", "RT01"),
}
numpydoc_validation_exclude = {r"\.__"}

sphinx_gallery_conf = {
    "examples_dirs": [str(HERE.parent / "examples")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"demo\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "reset_modules_order": "both",
    "plot_gallery": os.environ.get("OBLIQUEBART_GALLERY", "1") == "1",
}

html_theme = "pydata_sphinx_theme"
html_title = "obliquebart"
html_static_path = ["_static"]
html_extra_path = ["llms.txt"]
html_css_files = ["site.css"]
html_js_files = ["versions.js", "version-menu.js"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = None
# These pages have no other pages in their section, so the navigation beside them would be empty.
html_sidebars = {name: [] for name in ("quickstart", "when", "faq", "search", "genindex")}
html_theme_options = {
    "navbar_align": "left",
    "navbar_start": ["navbar-logo", "version-menu"],
    "header_links_before_dropdown": 8,
    # The other search button has a label that differs from its text.
    "navbar_persistent": ["search-button"],
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto", "version_name": versions.version_name(release)}
