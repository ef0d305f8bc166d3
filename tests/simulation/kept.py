"""Seeds that once broke a promise. docs/explanation/bugs-found.md lists the bugs."""

from __future__ import annotations

from typing import Final

DRAWN_BEFORE: Final = (
    *(32, 201, 2231, 2273, 900294, 902596, 1010656, 1140292, 2000017, 2000399, 7001516, 7001652),
    *(7002624, 7003150, 7003163, 7003419, 2026111700001, 2026111700192, 2026111700199, 2026111700407),
    *(2026111701014, 2026111710116, 2026111720779, 2026111720786, 2026111720804),
)
"""Found before there were `more_deeds`. They are played without them, as when they were found."""

WITHOUT_MORE_WORK: Final = (
    *DRAWN_BEFORE,
    *(29, 40000760, 40003442, 50000831, 50001070, 50001143, 50005193, 50006572, 50010646, 50028403),
    *(50030857, 50032468, 50034498, 50034639, 50045530, 50052175, 50066567, 60000027, 60000515),
)
"""Found before there was `more_work`, and played without it."""

KEPT: Final = (*WITHOUT_MORE_WORK, 182, 785, 921000055, 2026112000337, 2026112001168)
