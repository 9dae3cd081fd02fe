"""Slack's native charts, as plain JSON.

https://docs.slack.dev/reference/block-kit/blocks/data-visualization-block
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot.blocks.base import Block
from bot.blocks.escaping import shorten

MOST_SERIES = 6
MOST_CATEGORIES = 20
LONGEST_TITLE = 50
LONGEST_LABEL = 20


def bar_chart(title: str, *, categories: Sequence[str], series: Mapping[str, Sequence[float]], y_label: str) -> Block:
    """Return bars in groups: for each category one bar of every series; numbers are rounded to three decimals."""
    labels = [shorten(category, LONGEST_LABEL) for category in categories[:MOST_CATEGORIES]]
    drawn = [
        {
            "name": shorten(name, LONGEST_LABEL),
            "data": [{"label": label, "value": round(value, 3)} for label, value in zip(labels, values, strict=False)],
        }
        for name, values in list(series.items())[:MOST_SERIES]
    ]
    axis = {"categories": labels, "y_label": shorten(y_label, LONGEST_TITLE)}
    chart = {"type": "bar", "series": drawn, "axis_config": axis}
    return {"type": "data_visualization", "title": shorten(title, LONGEST_TITLE), "chart": chart}
