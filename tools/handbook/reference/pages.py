"""All generated pages, and writing them to a folder."""

from __future__ import annotations

from pathlib import Path

from handbook.reference import commands, events, exit_codes, fields, labels, metrics, testing


def texts() -> dict[str, str]:
    """Each page's text by its name."""
    return {
        "commands": commands.text(),
        "exit-codes": exit_codes.text(),
        **dict(fields.pages()),
        "labels": labels.text(),
        "events": events.text(),
        "metrics": metrics.text(),
        "testing": testing.text(),
    }


def write(folder: Path) -> None:
    """Writes the pages that have changed, and removes those that are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {f"{name}.md": text for name, text in texts().items()}
    for path in folder.iterdir():
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
