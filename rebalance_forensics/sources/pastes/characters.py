"""Restores plain characters that chats, mail and word processors changed: dashes, quotes, links, escapes."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

_BLANKS = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_NOTHING = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_QUOTES = {"\u201c": '"', "\u201d": '"', "\u201e": '"', "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u02bc": "'"}
_PLAIN = str.maketrans(
    dict.fromkeys(_BLANKS, " ") | dict.fromkeys(_NOTHING) | dict.fromkeys(_DASHES, "-") | _QUOTES | {"\uff1a": ":"}
)
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#\d{1,6}|#x[0-9a-fA-F]{1,6});")
_SLACK = re.compile(r"<(?:https?|mailto|tel):[^<>|\n]{1,300}\|(?P<shown>[^<>|\n]{1,300})>")
_MARKDOWN = re.compile(r"\[(?P<shown>[^\[\]\n]{1,200})\]\((?:https?|mailto):[^()\s]{1,300}\)")
_BARE = re.compile(r"<?https?://(?P<shown>[\w-]{1,80}(?:\.[\w-]{1,80}){0,12}(?::\d{2,5})?)>?(?=[\s,;)\]]|\Z)")
_ESCAPED = re.compile(r"\\(?P<mark>[_*\[\]|#<>~])")
# Unlike a bar, an escaped bar does not end a table cell; it is handled with the cells.
_ESCAPED_IN_A_ROW = re.compile(r"\\(?P<mark>[_*\[\]#<>~])")
_BOLD = re.compile(r"(?<![*\w])\*\*(?=[^\s*])|(?<=[^\s*])\*\*(?![*\w])")
# Changes that a page or an editor made to a message but not to its header: to prefixes, quoted ids, line ends.
_CLASSES = r"(?:Consumer|ShareConsumer|Worker|Schema registry|Group(?:Coordinator|MetadataManager))"
_REWRITTEN = re.compile(
    rf"(?:&#(?:0?91|x5[bB]);|\\\[){_CLASSES}\b|{_CLASSES}[{_BLANKS}]|=&(?:#0?39|quot|apos);|&nbsp;|<br ?/?>[\[\d]"
)


# A text in a JSON document, followed by the brackets that close the document.
_TEXT = re.compile(r'\s*"(?P<inner>(?:[^"\\]|\\.)*)"[\s}\],]*')


# No logger prints dates with such dashes.
_DATE = re.compile(rf"(?<!\d)\d{{4}}[{_DASHES}]\d\d[{_DASHES}]\d\d[T\s]\d\d:\d\d")


def has_typeset_dates(lines: Iterable[str]) -> bool:
    """True if an editor or a mail program replaced the hyphens in dates by typographic dashes."""
    return any(not line.isascii() and _DATE.search(line) for line in lines)


def has_rewritten_messages(lines: Iterable[str]) -> bool:
    """True if messages contain HTML entities, escapes or special blanks although their headers do not."""
    return any(_REWRITTEN.search(line) for line in lines)


def has_links(lines: Iterable[str]) -> bool:
    """True if a chat or a ticket turned host names into links."""
    return any("://" in line and (_SLACK.search(line) or _MARKDOWN.search(line)) for line in lines)


def has_bold(lines: Iterable[str]) -> bool:
    """True if words in a line are emphasized with Markdown asterisks."""
    return any("**" in line and len(_BOLD.findall(line)) > 1 for line in lines)


def plain(text: str) -> str:
    """The line with the characters that a terminal would show."""
    if not text.isascii():
        text = text.translate(_PLAIN)
    if "://" in text or "mailto:" in text:
        text = _SLACK.sub(r"\g<shown>", text)
        text = _MARKDOWN.sub(r"\g<shown>", text)
        text = _BARE.sub(r"\g<shown>", text)
    if "&" in text and _ENTITY.search(text):
        text = html.unescape(text).translate(_PLAIN)
    if '\\"' in text and (quoted := _TEXT.fullmatch(text)):
        text = quoted["inner"].replace('\\"', '"').replace("\\\\", "\\")
    elif "\\" in text and '\\"' not in text:
        escaped = _ESCAPED_IN_A_ROW if text.lstrip().startswith("|") else _ESCAPED
        text = escaped.sub(r"\g<mark>", text)
    if "**" in text:
        text = _BOLD.sub("", text)
    return text.rstrip()
