"""Encodings of text files: detect one, and convert the text to UTF-8 without a byte order mark."""

from __future__ import annotations

import codecs

from partita._common.errors import TableError
from partita._common.parameters import describe_value

UTF16_SAMPLE_BYTES = 4096
UTF16_MIN_ZERO_SHARE = 0.2  # of the sample's bytes, all at even or all at odd places
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def to_utf8(raw: bytes, encoding: str | None, name: str) -> tuple[bytes, str]:
    """Return the text as UTF-8 and the name of its encoding, detected if `encoding` is None.

    A byte order mark is removed even if the codec of `encoding` would keep it.
    """
    is_detected = encoding is None
    if encoding is None:
        encoding = detect_encoding(raw)
    codec = codec_name(encoding)
    if codec == "utf-8" and raw.isascii():
        return raw, codec
    try:
        text = raw.decode(codec)
    except UnicodeError as error:
        line = raw[: getattr(error, "start", 0)].count(b"\n") + 1
        fault = f"{name}, line {line}: this is not {encoding} ({getattr(error, 'reason', error)})."
        detected = "The file begins like that. Save it again, or set another encoding."
        advice = detected if is_detected else "Set another encoding, or none to have it detected."
        raise TableError(f"{fault} {advice}") from None
    if codec in ("utf-8", "utf-8-sig"):
        marked = raw.startswith(codecs.BOM_UTF8)
        return raw.removeprefix(codecs.BOM_UTF8), "utf-8-sig" if marked else "utf-8"
    try:
        body = text.removeprefix("\ufeff").encode()
    except UnicodeEncodeError:
        raise TableError(f"{name} is not {encoding}: it contains half a character.") from None
    return body, codec if codec.startswith("utf") else encoding


def detect_encoding(raw: bytes) -> str:
    """Return the encoding: by its mark, else UTF-8 if valid, else Windows-1252 or Latin-1."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            return encoding
    sample = raw[:UTF16_SAMPLE_BYTES]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if max(even, odd) > int(len(sample) * UTF16_MIN_ZERO_SHARE) and min(even, odd) == 0:
        return "utf-16-be" if even else "utf-16-le"
    for encoding in ("utf-8", "cp1252"):
        try:
            raw.decode(encoding)
        except UnicodeDecodeError:
            continue
        return encoding
    return "latin-1"


def codec_name(encoding: str) -> str:
    """Return Python's name of an encoding: utf-16 for UTF16, UTF-16 and utf_16."""
    try:
        "".encode(encoding)  # fails for codecs that are not encodings of text
        return codecs.lookup(encoding).name
    except (LookupError, UnicodeError, ValueError):
        raise TableError(
            f"`encoding` must be the name of a text encoding, got {describe_value(encoding)}. "
            "Examples: utf-8, latin-1, utf-16.",
            parameter="encoding",
        ) from None
