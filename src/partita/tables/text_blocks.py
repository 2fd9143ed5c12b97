"""Text files as blocks of cells: the layout is that of the first lines, the rest is not held."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from partita._common.errors import TableError
from partita._common.text import one_line, plural
from partita.tables.compression import open_decompressed
from partita.tables.encodings import codec_name, detect_encoding
from partita.tables.file_options import FileOptions
from partita.tables.table import Table, arrow
from partita.tables.text_files import layout_note, read_text
from partita.tables.text_layout import DELIMITER_NAMES

HEAD_BYTES = 1 << 21  # by which the layout is detected
CHUNK_BYTES = 1 << 20
BLOCK_BYTES = 1 << 21  # of text, parsed at once; a row may not be longer
MAX_REASON_CHARACTERS = 200


@dataclass(frozen=True, slots=True, eq=False)
class TextBlocks:
    """The cells of one file, block by block."""

    file: Path
    head: Table  # the first rows, and the layout
    lines_skipped: int  # above the first row

    @classmethod
    def of(cls, file: Path, options: FileOptions) -> TextBlocks:
        """Detect the layout of a file."""
        name, is_given = str(file), options.encoding is not None
        encoding = str(options.encoding) if is_given else _detect(file)
        with open_decompressed(file) as stream:
            raw = stream.read(HEAD_BYTES)
        body = _whole_lines(raw, encoding, name)
        table = read_text(body, name, replace(options, encoding="utf-8"))
        if table.delimiter == " ":
            raise TableError(
                f"{name} does not fit memory, and text delimited by spaces cannot be read by "
                "blocks. Write it with commas, or as Parquet."
            )
        codec = codec_name(encoding)
        shown = "utf-8-sig" if raw.startswith(codecs.BOM_UTF8) and "utf-8" in codec else encoding
        named = DELIMITER_NAMES.get(str(table.delimiter), repr(table.delimiter))
        notes = (layout_note(shown, named), *table.notes[1:])
        line_of_row = table.parts[0].line_of_row
        assert line_of_row is not None
        return cls(file, replace(table, encoding=shown, notes=notes), line_of_row(0) - 1)

    def __iter__(self) -> Iterator[Any]:
        """Yield tables of cells of text."""
        pa, names = arrow(), list(self.head.names)
        ragged: list[Any] = []
        done = 0
        try:
            with open_decompressed(self.file) as stream:
                for batch in self._reader(stream, ragged):
                    done += batch.num_rows
                    yield pa.Table.from_batches([batch]).rename_columns(names)
        except (pa.ArrowInvalid, UnicodeError, EOFError) as error:
            raise TableError(self._fault(error, ragged, done)) from None

    def _reader(self, stream: Any, ragged: list[Any]) -> Any:
        csv, names = arrow(".csv"), list(self.head.names)

        def reject_row(row: Any) -> str:
            ragged.append(row)
            return "error"

        codec = codec_name(str(self.head.encoding))
        return csv.open_csv(
            stream,
            read_options=csv.ReadOptions(
                column_names=names,
                skip_rows=self.lines_skipped,
                block_size=BLOCK_BYTES,
                use_threads=False,  # which would read far ahead
                encoding="utf8" if codec.startswith("utf-8") else codec,
            ),
            parse_options=csv.ParseOptions(
                delimiter=self.head.delimiter,
                newlines_in_values=True,
                invalid_row_handler=reject_row,
            ),
            convert_options=csv.ConvertOptions(column_types=dict.fromkeys(names, arrow().string())),
        )

    def _fault(self, error: Exception, ragged: list[Any], done: int) -> str:
        if ragged:
            row = ragged[0]
            where = f"after row {done}" if row.number is None else f"line {row.number}"
            return (
                f"{self.file}, {where}: {plural(row.actual_columns, 'cell')} found, but the first "
                f"line has {plural(row.expected_columns, 'column')}. Fix that line, or set the "
                "delimiter."
            )
        reason = one_line(error, MAX_REASON_CHARACTERS)
        return f"{self.file} cannot be read after row {done}: {reason}. Fix the rows that follow."


def _detect(file: Path) -> str:
    """Return the encoding of a file, as `detect_encoding` does for text in memory."""
    with open_decompressed(file) as stream:
        start = stream.read(CHUNK_BYTES)
        by_start = detect_encoding(start)
        if by_start.startswith("utf-16") or by_start == "utf-8-sig":
            return by_start
        candidates = {name: codecs.getincrementaldecoder(name)() for name in ("utf-8", "cp1252")}
        chunk = start
        while candidates:
            if b"\0" in chunk:
                raise TableError(
                    f"{file} has a NUL byte, so this is not text, or it is damaged. Set the "
                    "encoding if you know it, or save the file again."
                )
            for name, decoder in list(candidates.items()):
                try:
                    decoder.decode(chunk, final=not chunk)
                except UnicodeDecodeError:
                    del candidates[name]
            if not chunk:
                break
            chunk = stream.read(CHUNK_BYTES)
    return next(iter(candidates), "latin-1")


def _whole_lines(raw: bytes, encoding: str, name: str) -> bytes:
    """Return the lines of the beginning of a file as UTF-8, up to one that ends outside quotes."""
    decoder = codecs.getincrementaldecoder(codec_name(encoding))()
    is_whole = len(raw) < HEAD_BYTES
    try:
        text = decoder.decode(raw, final=is_whole).removeprefix("\ufeff")
    except UnicodeError as error:
        raise TableError(
            f"{name}: this is not {encoding} ({getattr(error, 'reason', error)}). Set another "
            "encoding, or none to have it detected."
        ) from None
    if is_whole:
        return text.encode()
    end = max(text.rfind("\n"), text.rfind("\r")) + 1
    while end > 0 and text.count('"', 0, end) % 2:  # inside a quoted cell
        end = max(text.rfind("\n", 0, end - 1), text.rfind("\r", 0, end - 1)) + 1
    return text[: end or len(text)].encode()
