"""Settings of the documentation, which ``make docs`` builds without any access to a network.

``-D plot_gallery=0`` builds the pages without running the course's examples.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

import separatrix

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from pictures import (  # noqa: E402
    draw_pictures,
    drawn_for_two_themes,
    light_theme,
    thumbnails_for_two_themes,
)

project = "separatrix"
author = "The separatrix developers"
project_copyright = f"2026, {author}"
version = release = separatrix.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "from_the_code",
    "notebooks",
    "offline",
]

# benchmarks.md and the others that a code host shows are parts of pages here.
exclude_patterns = ["_build", "benchmarks.md", "sg_execution_times.rst"]
templates_path = ["_templates"]
nitpicky = False

# --- pages in Markdown ------------------------------------------------------------------------
myst_enable_extensions = ["dollarmath", "deflist", "fieldlist", "colon_fence", "attrs_block"]
myst_heading_anchors = 3
# Functions among the settings below cannot be kept from one build to the next, which does no harm.
suppress_warnings = ["config.cache"]

# --- reference --------------------------------------------------------------------------------
autosummary_generate = True
autosummary_imported_members = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
add_module_names = False
toc_object_entries_show_parents = "hide"
python_display_short_literal_types = True

# --- formulas ---------------------------------------------------------------------------------
html_math_renderer = "mathml"

# --- the course -------------------------------------------------------------------------------
sphinx_gallery_conf: dict[str, Any] = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/[0-9][0-9]_",
    # What a lesson prints and draws depends on the library, too, and not on its own text alone.
    "run_stale_examples": True,
    # Lessons have a number; the other files are plain scripts.
    "ignore_pattern": r"^(?![0-9][0-9]_)",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": (drawn_for_two_themes,),
    "reset_modules": (light_theme,),
    "remove_config_comments": True,
    "download_all_examples": False,
    "notebook_extensions": {".py"},
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "plot_gallery": "True",
    "abort_on_example_error": False,
    "nested_sections": False,
    "copyfile_regex": r".*\.(gif|png)$",
}

# --- looks ------------------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = "separatrix"
html_short_title = "separatrix"
html_static_path = ["_static"]
html_css_files = ["separatrix.css"]
html_favicon = "_static/mark.svg"
html_show_sourcelink = False
html_copy_source = False
# Summaries are fetched from pages, which browsers refuse where these are files.
html_show_search_summary = False
html_last_updated_fmt = None
html_theme_options: dict[str, Any] = {
    "logo": {
        "text": "separatrix",
        "image_light": "_static/mark.svg",
        "image_dark": "_static/mark-dark.svg",
    },
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
# Pages without pages below them have nothing to show at the side.
html_sidebars = {
    page: []
    for page in (
        "index",
        "start",
        "tour",
        "choosing",
        "course",
        "certificate",
        "from_scikit_learn",
        "command_line",
        "methods",
        "performance",
        "design",
        "changelog",
    )
}


def _of_this_library(
    app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out what a class only inherits from another library, scikit-learn's plumbing say."""
    function = getattr(member, "fget", None) or getattr(member, "__func__", member)
    home = getattr(function, "__module__", None) or ""
    if what == "class" and home and not home.startswith("separatrix"):
        return True
    return None


def _link_to_built_lessons(app: Sphinx, page: str, source: list[str]) -> None:
    """Links to scripts of the course, as a code host follows them, lead to their built pages."""
    text = source[0].replace("](../examples/)", "](auto_examples/index.rst)")
    source[0] = re.sub(r"\]\(\.\./examples/(\w+)\.py\)", r"](auto_examples/\1.rst)", text)


def setup(app: Sphinx) -> None:
    app.connect("source-read", _link_to_built_lessons)
    app.connect("autodoc-skip-member", _of_this_library)
    app.connect("builder-inited", lambda app: draw_pictures(Path(app.srcdir) / "generated"))
    app.connect("source-read", thumbnails_for_two_themes)
