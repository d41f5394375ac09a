"""The page: sections under a headline, with everything it needs inside."""

from __future__ import annotations

import datetime
from pathlib import Path

from .. import _core
from . import sections
from .data import Data
from .data_section import data_section
from .html import Markup, element, escape, join
from .score_section import headline, score_section
from .scores import score
from .subject import Subject
from .words import sentence

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_STYLE = Path(__file__).with_name("style.css")


def _headline(cards: list[tuple[str, str, str]]) -> Markup:
    return element(
        "dl",
        *(
            element("div", element("dt", name), element("dd", value, element("small", said) if said else ""))
            for name, value, said in cards
        ),
        class_="headline",
    )


def page(subject: Subject, data: Data, title: str) -> Markup:
    """The whole page as HTML."""
    complete = data.complete()
    scores = score(subject, complete)
    parts = [
        ("data", "Data", data_section(subject, data)),
        ("model", "Model", sections.model_section(subject)),
        ("scores", "Scores", score_section(subject, scores, complete)),
        ("pictures", "Pictures", sections.picture_section(subject, complete)),
        ("cost", "Time and memory", sections.cost_section(subject)),
        ("recipe", "How to reproduce", sections.recipe_section(subject, data)),
    ]
    links = element("ul", *(element("li", element("a", name, href=f"#{key}")) for key, name, _ in parts))
    now = datetime.datetime.now().astimezone()
    written = element("time", now.strftime("%Y-%m-%d %H:%M %Z"), datetime=now.isoformat(timespec="seconds"))
    body = join(
        [
            element(
                "header",
                element("h1", title),
                element("p", sentence(subject), class_="lead"),
                _headline(headline(subject, scores, complete)),
                element("nav", links, aria_label="Sections"),
            ),
            element("main", *(element("section", element("h2", name), inside, id=key) for key, name, inside in parts)),
            element("footer", f"Written by Mercer {_core.version()}, ", written, "."),
        ],
        "\n",
    )
    style = _STYLE.read_text(encoding="utf-8")
    return Markup(
        "<!DOCTYPE html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        # Nothing is fetched and nothing runs, whatever the data say.
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )
