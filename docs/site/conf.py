"""The documentation site: `make docs` copies docs/ to build/docs-source, where pages may be generated beside it, and builds build/site from there."""
import os
import sys
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import mercer  # noqa: E402

project = "Mercer"
author = "Mercer's authors"
version = release = mercer.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode", "sphinx_gallery.gen_gallery", "sphinx_copybutton"]
exclude_patterns = ["site", "**/GALLERY_HEADER.rst", "gallery/*.ipynb"]

html_theme = "furo"
html_title = f"Mercer {release}"
html_static_path = [str(ROOT / "docs/site/static")]
html_css_files = ["mercer.css"]
html_show_copyright = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#2f6db3", "color-brand-content": "#2f6db3"},
    "dark_css_variables": {"color-brand-primary": "#7fb0de", "color-brand-content": "#7fb0de"},
}
pygments_style = "friendly"
pygments_dark_style = "github-dark"
copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist"]

autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples/python"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"example_data\.py$",
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1e9,
    "abort_on_example_error": True,
    "download_all_examples": False,
    "matplotlib_animations": False,
}


def skip(app, what, name, member, skip, options):
    """What scikit-learn brings (metadata requests, set_output) is in its own reference."""
    request = name.startswith("set_") and name.endswith("_request")
    return True if request or str(getattr(member, "__module__", "")).startswith("sklearn") else None


def setup(app):
    app.connect("autodoc-skip-member", skip)
