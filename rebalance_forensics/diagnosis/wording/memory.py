"""Memory in words."""

from __future__ import annotations

_KIB_A_GIB = 1024 * 1024
_KIB_A_MIB = 1024


def use(kib: int, of_kib: int) -> str:
    """`3.8 of 4.0 GiB`, below a GiB in MiB."""
    if of_kib >= _KIB_A_GIB:
        return f"{kib / _KIB_A_GIB:.1f} of {of_kib / _KIB_A_GIB:.1f} GiB"
    return f"{kib // _KIB_A_MIB:,} of {of_kib // _KIB_A_MIB:,} MiB"
