"""The site: how Sphinx builds the pages of this folder. `make docs` runs it; nothing in it needs a network."""

import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))
sys.path.insert(0, str(DOCS.parent / "src"))

import mathml  # noqa: E402
import measurements  # noqa: E402
import outside  # noqa: E402
import reference_pages  # noqa: E402

from craton.versions import versions  # noqa: E402

project = "craton"
author = "The craton developers"
project_copyright = "The craton developers, BSD-3-Clause"
release = versions("craton").get("craton", "")

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "_templates", "developer/patches", "*.py", "generated/peers.md", "generated/works.md"]
templates_path = ["_templates"]

# Pages: Markdown as it stands in the repository, notebooks as Python with "# %%" cells.
nb_custom_formats = {".py": ["jupytext.reads", {"fmt": "py:percent"}]}
nb_execution_mode = "cache"
nb_execution_timeout = 120
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_ipywidgets_js = {}  # they would come from the network
nb_merge_streams = True
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "attrs_block"]
myst_heading_anchors = 3
suppress_warnings = ["misc.highlighting_failure"]  # file formats have words of their own

# The reference: docstrings are numpydoc; a name in single backticks is code.
default_role = "code"
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "pydata_sphinx_theme"
html_title = "craton"
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["craton.css"]
html_theme_options = {
    "logo": {"text": "craton"},
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
}

linkcheck_timeout = 20
linkcheck_ignore = [r"http://localhost.*", r"https?://127\.0\.0\.1.*"]


def setup(app):
    """Make the generated pages and figures, and let formulas be MathML, which browsers draw themselves."""
    reference_pages.write(DOCS / "generated")
    measurements.draw(DOCS / "generated")
    outside.copy()
    app.add_html_math_renderer("mathml", (mathml.visit_inline, None), (mathml.visit_block, None))
    app.connect("source-read", outside.read)
    app.config.html_math_renderer = "mathml"
