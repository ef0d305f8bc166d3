"""The images that the process engine of this longshore knows, for `longshore images` and `longshore run`.

GET /longshore/images     the file and its state, the rows in force, the engine of pods that name none
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

from longshore.api.types import Obj

if TYPE_CHECKING:
    from longshore.node.engine_by_image import EngineByImage
    from longshore.node.images.images_file import ImagesFile

PREFIX: Final = "/longshore/images"


def page(images: ImagesFile, engine: str, by_image: EngineByImage | None) -> Callable[[str], Obj | None]:
    """The answer to the path `PREFIX` itself. `engine` runs pods that name none unless `by_image` chooses."""

    def answer(rest: str) -> Obj | None:
        if rest:
            return None
        rows = [msgspec.to_builtins(row) for row in images.table.rows]
        return {
            "kind": "Images",
            "file": str(images.path or ""),
            "problem": images.problem,
            "runtime": engine if by_image is None or "podman" not in by_image.engines else "auto",
            "items": rows,
        }

    return answer
