"""Cells of workbooks (.xlsx, .xlsm, .ods) as texts, with the library calamine of the extra ``documents``.

Files may be damaged or hostile: ``fathom.documents.records.extractor`` calls this in a process with limits.
"""

from datetime import date, datetime, time
from io import BytesIO

from fathom.documents.records.extracting import LOCKED, NoTextError, opened

Cells = list[list[str]]


def sheets_of(data: bytes) -> list[tuple[str, Cells]]:
    """The visible sheets of a workbook, each with its name and the cells of its rows from the first one on.

    Numbers without a fraction are written without a point, dates as 2024-05-09, and empty cells and those with an error
    (``#N/A``) as "". How a cell is formatted does not matter: 25% is 0.25.

    Args:
        data: The content of the file.

    Raises:
        NoTextError: It is damaged, encrypted, or unpacks to far more than it is.
    """
    import python_calamine

    visible = python_calamine.SheetVisibleEnum.Visible

    with opened(data, "workbook"):
        pass
    try:
        workbook = python_calamine.CalamineWorkbook.from_filelike(BytesIO(data))
        shown = [sheet.name for sheet in workbook.sheets_metadata if sheet.visible == visible]
        sheets = [(name, workbook.get_sheet_by_name(name).to_python(skip_empty_area=False)) for name in shown]
    except python_calamine.PasswordError as error:
        raise NoTextError(LOCKED) from error
    except python_calamine.CalamineError as error:
        raise NoTextError(f"damaged: not a readable workbook ({error})") from error
    return [(name, [[_text(cell) for cell in row] for row in rows]) for name, rows in sheets]


def _text(cell: object) -> str:
    match cell:
        case bool():
            return "TRUE" if cell else "FALSE"
        case float() if cell.is_integer() and abs(cell) < 1e15:
            return str(int(cell))
        case float():
            return f"{cell:.15g}"  # as many digits as a spreadsheet has
        case datetime() if cell.time() == time():
            return cell.date().isoformat()
        case datetime():
            return cell.isoformat(" ")
        case date() | time():
            return cell.isoformat()
    return str(cell)
