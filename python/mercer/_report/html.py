"""Small pieces of a page: everything that comes from data or models is escaped here, once."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike


class Markup(str):
    """Text that is HTML already; anything else is escaped where it enters a page."""

    __slots__ = ()


def escape(text: object) -> Markup:
    """Text for the inside of elements and of quoted attributes."""
    return text if isinstance(text, Markup) else Markup(html.escape(str(text), quote=True))


def join(parts: Iterable[object], between: str = "") -> Markup:
    return Markup(escape(between).join(escape(part) for part in parts))


def element(tag: str, *inside: object, **attributes: object) -> Markup:
    """<tag attributes>inside</tag>; ``class_`` is ``class``, ``data_label`` is ``data-label``, None leaves an attribute out.

    >>> element("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(value)}"' for name, value in attributes.items() if value is not None
    )
    return Markup(f"<{tag}{written}>{join(inside)}</{tag}>")


def code(text: str) -> Markup:
    return element("code", text)


def table(head: Sequence[object], rows: Iterable[Sequence[object]], caption: str, *, numbers: bool = True) -> Markup:
    """A table whose first column names the row. On a narrow screen each row becomes a card, its cells labelled by ``head``."""
    header = element("tr", *(element("th", cell, scope="col") for cell in head))
    body = [
        element(
            "tr",
            element("th", first, scope="row"),
            *(element("td", cell, data_label=label) for label, cell in zip(head[1:], rest, strict=True)),
        )
        for first, *rest in rows
    ]
    return element(
        "table",
        element("caption", caption),
        element("thead", header),
        element("tbody", *body),
        class_="cards numbers" if numbers else "cards",
    )


def facts(pairs: Iterable[tuple[object, object]]) -> Markup:
    """Terms and what there is to say about each."""
    return element("dl", *(element("div", element("dt", term), element("dd", said)) for term, said in pairs))


def bars(counts: ArrayLike, words: str, *, tall: bool = False) -> Markup:
    """A histogram as a drawing without axes; ``words`` say what it shows."""
    heights = np.asarray(counts, dtype=float)
    top = max(float(heights.max(initial=0)), 1.0)
    width, height, gap = 240.0, 72.0 if tall else 24.0, 1.0
    step = width / max(len(heights), 1)
    drawn = []
    for k, value in enumerate(heights):
        size = height * value / top
        if size > 0:
            size = max(size, 0.75)
            drawn.append(f'<rect x="{k * step:.2f}" y="{height - size:.2f}" width="{step - gap:.2f}" height="{size:.2f}"/>')
    inside = Markup("".join(drawn))
    base = Markup(f'<path d="M0 {height:g}H{width:g}"/>')
    return element(
        "svg",
        element("title", words),
        inside,
        base,
        class_="bars tall" if tall else "bars",
        role="img",
        aria_label=words,
        viewBox=f"0 0 {width:g} {height + 1:g}",
        preserveAspectRatio="none",
    )
