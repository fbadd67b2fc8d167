"""What kind of file some first bytes begin: text in which encoding, or binary of which type."""

from __future__ import annotations

LOOKED_AT_BYTES = 8_192

# Signatures of formats that may hold no NUL byte near their start, and of those worth a name.
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF87a", "GIF image"),
    (b"GIF89a", "GIF image"),
    (b"II*\x00", "TIFF image"),
    (b"MM\x00*", "TIFF image"),
    (b"\x00\x00\x01\x00", "ICO image"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "zip archive"),
    (b"PK\x05\x06", "zip archive"),
    (b"\x1f\x8b", "gzip archive"),
    (b"BZh", "bzip2 archive"),
    (b"\xfd7zXZ\x00", "xz archive"),
    (b"\x28\xb5\x2f\xfd", "zstd archive"),
    (b"7z\xbc\xaf\x27\x1c", "7-zip archive"),
    (b"Rar!\x1a\x07", "rar archive"),
    (b"!<arch>\n", "ar archive"),
    (b"\x7fELF", "ELF executable"),
    (b"\xfe\xed\xfa\xce", "Mach-O executable"),
    (b"\xfe\xed\xfa\xcf", "Mach-O executable"),
    (b"\xcf\xfa\xed\xfe", "Mach-O executable"),
    (b"\xca\xfe\xba\xbe", "Java class"),
    (b"\x00asm", "WebAssembly"),
    (b"SQLite format 3\x00", "SQLite database"),
)

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


def binary_type(start: bytes) -> str | None:
    """The type of a binary file by its first 8 KiB, "" when it has no name; None for text."""
    for signature, name in _SIGNATURES:
        if start.startswith(signature):
            return name
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "WebP image"
    if start[257:262] == b"ustar":
        return "tar archive"
    if byte_order_mark(start)[1].startswith("utf-16"):
        return None
    return "" if b"\0" in start else None


def byte_order_mark(start: bytes) -> tuple[bytes, str]:
    """The byte order mark that text begins with, and the encoding it tells; without one b"" and "utf-8"."""
    for mark, encoding in _BOMS:
        if start.startswith(mark):
            return mark, encoding
    return b"", "utf-8"
