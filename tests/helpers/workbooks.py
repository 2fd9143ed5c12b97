"""Small workbooks for tests, written by hand."""

from __future__ import annotations

import io
import zipfile
from xml.sax.saxutils import escape, quoteattr

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
DATE, MOMENT, PERCENT = 1, 2, 3  # styles of `Styled`
STYLES = f"""<styleSheet xmlns="{MAIN}"><cellXfs count="4"><xf numFmtId="0"/><xf numFmtId="14"/>
<xf numFmtId="22"/><xf numFmtId="9"/></cellXfs></styleSheet>"""


class Styled(tuple):
    """A number and its style, as in Styled((45000, DATE))."""


class Fault(str):
    """The error of a cell, like #DIV/0!."""


def column_letters(index):
    """Return A for 0, AA for 26."""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def cell_xml(value, reference):
    """Return the XML of a cell."""
    if isinstance(value, Styled):
        return f'<c r="{reference}" s="{value[1]}"><v>{value[0]}</v></c>'
    if isinstance(value, bool):
        return f'<c r="{reference}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        return f'<c r="{reference}"><v>{value!r}</v></c>'
    if isinstance(value, Fault):
        return f'<c r="{reference}" t="e"><v>{value}</v></c>'
    return f'<c r="{reference}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'


def sheet_xml(rows):
    """Return the XML of a sheet; None is an empty cell."""
    lines = []
    for number, row in enumerate(rows, 1):
        cells = (
            cell_xml(value, f"{column_letters(i)}{number}")
            for i, value in enumerate(row)
            if value is not None
        )
        lines.append(f'<row r="{number}">{"".join(cells)}</row>')
    data = "".join(lines)
    return f'<worksheet xmlns="{MAIN}"><sheetData>{data}</sheetData></worksheet>'


def workbook(sheets, hidden=(), **members):
    """Return the bytes of a workbook; a sheet is a list of rows, or XML."""
    listed, related = [], []
    for i, name in enumerate(sheets, 1):
        state = ' state="hidden"' if name in hidden else ""
        listed.append(f'<sheet name={quoteattr(name)} sheetId="{i}" r:id="rId{i}"{state}/>')
        target = f'Type="{RELATIONS}/worksheet" Target="worksheets/sheet{i}.xml"'
        related.append(f'<Relationship Id="rId{i}" {target}/>')
    related.append(f'<Relationship Id="rId0" Type="{RELATIONS}/styles" Target="styles.xml"/>')
    start = f'Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"'
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="rId1" {start}/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets>'
        f"{''.join(listed)}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
        f"{''.join(related)}</Relationships>",
        "xl/styles.xml": STYLES,
    }
    for i, sheet in enumerate(sheets.values(), 1):
        parts[f"xl/worksheets/sheet{i}.xml"] = sheet if isinstance(sheet, str) else sheet_xml(sheet)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (parts | members).items():
            archive.writestr(name, content)
    return file.getvalue()
