"""One file out of a downloaded archive, in memory: nothing is ever extracted to disk."""

from __future__ import annotations

import io
import lzma
import struct
import zipfile
import zlib
from pathlib import PurePosixPath

from qrt_study.data.raw_table import SourceUnavailable

LARGEST_MEMBER_BYTES = 512 << 20
LARGEST_NUMBER_OF_MEMBERS = 10_000
_DEEPEST_NESTING = 2
_WORKBOOK_MARK = "[Content_Types].xml"  # an .xlsx file is a zip archive as well, but not one of ours


# What Python raises at archives that are damaged or made to do harm; bzip2 has OSError for it.
DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError),
    *(RuntimeError, ValueError, NotImplementedError, struct.error, OverflowError, MemoryError),
)


def member_bytes(content: bytes, member: str, origin: str) -> bytes:
    """The bytes of `member` in the zip archive `content`, or `content` itself when it is no archive.

    The member is found by its name, by its base name in another folder if that is unique, or in an archive
    within the archive. `origin` names the archive in messages. Archives with names that lead outside, with
    too many members or with too large ones are refused (`SourceUnavailable`).
    """
    found = _search(content, member, origin, nesting=0)
    if found is None:
        raise SourceUnavailable(f"{origin}: has no file {member!r} in it.")
    return found


def refuse_large_archive(archive: zipfile.ZipFile, origin: str) -> None:
    """Raise `SourceUnavailable` when the archive would unpack to more than any dataset here has."""
    members = archive.infolist()
    if len(members) > LARGEST_NUMBER_OF_MEMBERS:
        raise SourceUnavailable(f"{origin}: has {len(members)} files, more than {LARGEST_NUMBER_OF_MEMBERS}.")
    for info in members:
        if info.file_size > LARGEST_MEMBER_BYTES:
            raise SourceUnavailable(
                f"{origin}: {info.filename!r} would unpack to {info.file_size} bytes, more than the "
                f"{LARGEST_MEMBER_BYTES} that are allowed."
            )


def _search(content: bytes, member: str, origin: str, nesting: int) -> bytes | None:
    if not zipfile.is_zipfile(io.BytesIO(content)):
        if content[:2] == b"PK":
            raise SourceUnavailable(f"{origin}: is a damaged zip archive.")
        return content
    with _opened(content, origin) as archive:
        if _WORKBOOK_MARK in archive.namelist():
            return content
        infos = [info for info in archive.infolist() if not info.filename.endswith("/")]  # a damaged name may be empty
        for info in infos:
            _refuse_name_that_leads_outside(info, origin)
        refuse_large_archive(archive, origin)
        chosen = _chosen(infos, member, origin)
        if chosen is not None:
            return _read(archive, chosen, origin)
        if nesting == _DEEPEST_NESTING:
            return None
        for info in infos:
            if info.filename.lower().endswith(".zip"):
                inner = f"{origin}, {info.filename}"
                content = _read(archive, info, inner)
                if content[:2] != b"PK":
                    raise SourceUnavailable(f"{inner}: is no zip archive.")
                found = _search(content, member, inner, nesting + 1)
                if found is not None:
                    return found
    return None


def _opened(content: bytes, origin: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(io.BytesIO(content))
    except DAMAGED as error:
        raise SourceUnavailable(f"{origin}: is a damaged zip archive ({error}).") from error


def _refuse_name_that_leads_outside(info: zipfile.ZipInfo, origin: str) -> None:
    # Nothing is extracted, so such a name could do no harm here; but an archive that has one is not what the
    # archive's owner published.
    for name in (info.filename, info.orig_filename):
        path = PurePosixPath(name.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or name[1:2] == ":":
            raise SourceUnavailable(
                f"{origin}: has a file named {name!r}, which leads outside its folder; it is refused."
            )


def _chosen(infos: list[zipfile.ZipInfo], member: str, origin: str) -> zipfile.ZipInfo | None:
    exact = [info for info in infos if info.filename == member]
    if exact:
        return exact[-1]  # the last one of a name is the valid one
    base = PurePosixPath(member).name
    alike = [
        info
        for info in infos
        if PurePosixPath(info.filename).name == base and "__MACOSX" not in PurePosixPath(info.filename).parts
    ]
    if len(alike) > 1:
        names = ", ".join(repr(info.filename) for info in alike)
        raise SourceUnavailable(f"{origin}: has several files named {base!r} ({names}).")
    return alike[0] if alike else None


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo, origin: str) -> bytes:
    try:
        return archive.read(info)
    except DAMAGED as error:
        raise SourceUnavailable(f"{origin}: {info.filename!r} cannot be unpacked ({error}).") from error
