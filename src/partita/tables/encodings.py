"""Encodings of text files: which one it is, and the text as UTF-8 without its mark."""

from __future__ import annotations

import codecs

from partita.tables.table import TableError

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def to_utf8(raw: bytes, encoding: str | None, name: str) -> tuple[bytes, str]:
    """The text as UTF-8, and what its encoding is called; None: it is detected.

    A mark at the start is no text, also where the encoding that was given does not take it away.
    """
    if encoding is None:
        encoding = detect_encoding(raw)
    codec = codec_name(encoding, name)
    if codec == "utf-8" and raw.isascii():
        return raw, codec
    try:
        text = raw.decode(codec)
    except UnicodeError as error:
        line = raw[: getattr(error, "start", 0)].count(b"\n") + 1
        raise TableError(
            f"{name}: line {line} is not {encoding} ({getattr(error, 'reason', error)}); give "
            "another encoding, or none, so that it is detected"
        ) from None
    if codec in ("utf-8", "utf-8-sig"):
        marked = raw.startswith(codecs.BOM_UTF8)
        return raw.removeprefix(codecs.BOM_UTF8), "utf-8-sig" if marked else "utf-8"
    try:
        body = text.removeprefix("\ufeff").encode()
    except UnicodeEncodeError:
        raise TableError(f"{name} is not {encoding}: it holds half a character") from None
    return body, codec if codec.startswith("utf") else encoding


def detect_encoding(raw: bytes) -> str:
    """The encoding: by its mark, else UTF-8 if that is possible, else Windows' or Latin-1."""
    for mark, encoding in _BOMS:
        if raw.startswith(mark):
            return encoding
    even, odd = raw[:4096:2].count(0), raw[1:4096:2].count(0)
    if max(even, odd) > len(raw[:4096]) // 5 and min(even, odd) == 0:
        return "utf-16-be" if even else "utf-16-le"
    for encoding in ("utf-8", "cp1252"):
        try:
            raw.decode(encoding)
        except UnicodeDecodeError:
            continue
        return encoding
    return "latin-1"


def codec_name(encoding: str, name: str) -> str:
    """The one name of an encoding that has many: utf-16 for UTF16, UTF-16 and utf_16."""
    try:
        "".encode(encoding)  # what is known, but is no encoding of text, fails here
        return codecs.lookup(encoding).name
    except (LookupError, UnicodeError, ValueError):
        raise TableError(
            f"{name}: encoding={encoding!r} was given, which is not known; give one like utf-8, "
            "latin-1 or utf-16"
        ) from None
