"""Texts that love Markdown, mentions, links, code, tables and markers, and break all of them off in the middle."""

from __future__ import annotations

from hypothesis import strategies as st

SCRAPS = (
    "[1]", "[2][3]", "[1, 2]", "[1-3]", "[9–11]", "[3, 5-4]", "[１]", "［２］", "[1-999999]", "[2024-2026]", "-", "［",
    "[web:4]", "[9]", "[5]", "【1】", "[[1]](http://evil.com)",
    "[1](https://evil.com/x)", "[x]", "[2024]", "[PEP](https://docs.python.org/3.14/whatsnew/3.14.html)",
    "[a](http://evil.com)", "![i](http://evil.com/i.png)", "[a][b]", "[b]: http://evil.com 'T'",
    "<http://evil.com>", "<a href='http://evil.com'>t</a>", "<img src=x onerror=y>", "<!-- c -->", "<script>",
    "http://evil.com/a_(b)?c=d#e", "https://1.2.3.4:80/", "//localhost/x", "www.evil.com", "evil.com",
    "a@evil.com", "mailto:a@localhost", "ftp://evil.com", "https&#58;//evil&period;com", "evil\\.com",
    "https\\://evil.com", "<@U1>", "<!channel>", "<!subteam^S1>", "<#C1|x>", "&lt;!here&gt;", "@here",
    "@CHANNEL", "@everyone", "x@group.com", "`", "``", "```", "~~~", "\n```python\n", "\n```\n",
    "\n~~~ not a language\n", "\n    indented http://evil.com\n", "`a.com`", "$x_[1]$", "$$", "\\[", "\\]",
    "\\(", "\\)", "$5", "\\", "!", "]", "[", "(", ")", "<", ">", "&", "|", "*", "**", "_", "~~", "\n# head\n",
    "\nSetext\n===\n", "\n---\n", "\n- ", "\n  - ", "\n1. ", "\n> ", "\n| a | b |\n|---|---|\n| c | d | e |\n",
    "\na|b\n-|-\n", "**「重要」**です", "word", "two words. ", "\n", "\n\n", " ", "  \n", "\t", "é", "日本語。",
    "مرحبا",
    "👩\u200d👩\u200d👧\u200d👦", "\u2060", "\u200b", "\u202e", "\x00", "\ud800", "\r\n", "\ufdd0\ufdd2\ufdef",
    "\ue000", "<\u202e!here>", "https:\u2066//evil.com", "[a]\u2069(http://evil.com)", "@\u202ahere", "\x1b[31m",
    "\x07",
)  # fmt: skip

wild = st.lists(st.sampled_from(SCRAPS) | st.text(max_size=8), max_size=40).map("".join)
short = st.lists(st.sampled_from(SCRAPS) | st.text(max_size=8), max_size=6).map("".join)
