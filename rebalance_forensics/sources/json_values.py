"""JSON that is not one object a line: an array, a pretty-printed response, objects glued together."""

from __future__ import annotations

import json
from collections.abc import Iterator

from rebalance_forensics.sources.codecs import Damage
from rebalance_forensics.sources.layouts.json_fields import Fields

MAX_VALUE = 512 << 20
_DECODER = json.JSONDecoder(strict=False)
_SEPARATORS = " \t\r\n,;\x1e\x00\ufeff"


def is_document(text: str) -> bool:
    """Whether a text begins a JSON value that is not simply the object on its first line."""
    if text.startswith("["):
        return text[1:].lstrip()[:1] == "{"
    if not text.startswith("{"):
        return False
    first, newline, _ = text.partition("\n")
    try:
        _, end = _DECODER.raw_decode(first)
    except (ValueError, RecursionError):
        inside = first[1:].lstrip()[:1]
        return inside == "" if newline else inside == '"'
    return bool(first[end:].strip(_SEPARATORS)) and first[end:].lstrip(_SEPARATORS).startswith("{")


def values(chunks: Iterator[bytes]) -> Iterator[tuple[int, int, str, Fields | None]]:
    """The objects of the stream, those of an array at the top one by one, each with its place; raises Damage at the end of a broken one."""
    buffer, offset, line = "", 0, 1
    raw = b""
    ended = False
    while True:
        at = _skip(buffer)
        offset, line, buffer = offset + len(buffer[:at].encode()), line + buffer.count("\n", 0, at), buffer[at:]
        try:
            if not buffer:
                raise ValueError
            value, end = _DECODER.raw_decode(buffer)
        except (ValueError, RecursionError):
            if ended:
                break
            for more in chunks:
                text, raw = _decodable(raw + more)
                buffer += text
                if len(buffer) > 2 * len(more) and len(buffer) < len(more) << 6:
                    continue
                break
            else:
                ended = True
            if len(buffer) > MAX_VALUE:
                raise Damage(
                    f"a JSON value of more than {MAX_VALUE >> 20} MiB starts at byte {offset:,}; export it as one "
                    f"object a line"
                ) from None
            continue
        if isinstance(value, dict):
            yield offset, line, buffer[:end], value
        offset, line, buffer = offset + len(buffer[:end].encode()), line + buffer.count("\n", 0, end), buffer[end:]
    if buffer.strip(_SEPARATORS + "]"):
        raise Damage(f"the JSON is cut or broken at byte {offset:,}; the entries before that were read")


def _skip(buffer: str) -> int:
    """Where the next value starts: past separators and the brackets of an array at the top."""
    at = 0
    while at < len(buffer) and (buffer[at] in _SEPARATORS or buffer[at] in "[]"):
        at += 1
    return at


def _decodable(data: bytes) -> tuple[str, bytes]:
    """The text of all bytes but those of a character that is not complete."""
    for cut in range(min(4, len(data) + 1)):
        try:
            return data[: len(data) - cut].decode("utf-8"), data[len(data) - cut :]
        except UnicodeDecodeError:
            continue
    return data.decode("utf-8", "replace"), b""
