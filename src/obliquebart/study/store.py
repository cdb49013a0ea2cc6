"""Results on disk: one file per unit, written atomically, and one table of all."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from obliquebart.files.container import write_file


class Store:
    """A folder of results, created if missing.

    Only the runner's process writes; any may read. A file appears complete or not at all, and an
    existing result is never replaced.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, key: str) -> Path:
        """Return the file of a result; folders of the first two letters keep listings short."""
        return self.folder / key[:2] / f"{key}.json"

    def has(self, key: str) -> bool:
        """Say whether there is a result, good or bad."""
        return self.path(key).exists()

    def write(self, result: dict[str, Any]) -> bool:
        """Save a result; return False if there was one already."""
        path = self.path(result["key"])
        path.parent.mkdir(exist_ok=True)
        unfinished = path.with_name(f".{path.name}.{os.getpid()}")
        with unfinished.open("w", encoding="utf-8") as file:
            json.dump(result, file, indent=1, sort_keys=True)
            file.flush()
            os.fsync(file.fileno())
        try:
            # A link fails where the name exists: two runners cannot both write one unit.
            os.link(unfinished, path)
        except FileExistsError:
            return False
        finally:
            unfinished.unlink()
        return True

    def discard(self, key: str) -> None:
        """Remove a result, so that its unit runs again."""
        self.path(key).unlink(missing_ok=True)

    def read(self, key: str) -> dict[str, Any]:
        """Return a result."""
        result: dict[str, Any] = json.loads(self.path(key).read_text(encoding="utf-8"))
        return result

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for path in sorted(self.folder.glob("??/*.json")):
            yield json.loads(path.read_text(encoding="utf-8"))


def write_table(results: Iterable[dict[str, Any]], path: Path) -> None:
    """Write results as lines of JSON in the order of keys, compressed if the name ends in .gz."""
    lines = [json.dumps(r, sort_keys=True) for r in sorted(results, key=lambda r: str(r["key"]))]
    content = ("\n".join(lines) + "\n").encode()
    # No time stamp: the same results give the same bytes.
    write_file(path, gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


def read_table(path: Path) -> list[dict[str, Any]]:
    """Return what `write_table` wrote."""
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    return [json.loads(line) for line in text.splitlines()]
