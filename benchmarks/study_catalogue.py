"""Write the files that come with obliquebart.study, from the folder of the data sets.

python benchmarks/study_catalogue.py DATA

Needed again only when the authors' files change: their new content must first be in DATA.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path

from obliquebart.study.datasets import Library
from obliquebart.study.fetch import content_digest, content_of

KEPT = ("name", "task", "n", "p", "p_cont", "p_cat", "rdata_file", "rdata_scaling", "paper")
TARGET = Path(__file__).parents[1] / "src/obliquebart/study/data"


def main(data: Path) -> None:
    library = Library(data)
    entries = []
    for name in library.names():
        dataset = library.load(name)
        raw = data / "rdata" / Path(dataset.record["rdata_file"]).name
        entries.append(
            {field: dataset.record[field] for field in KEPT}
            | {
                "rdata_sha256": hashlib.sha256(raw.read_bytes()).hexdigest()
                if raw.exists()
                else None,
                "content_sha256": content_digest(content_of(dataset)),
            }
        )
    TARGET.mkdir(exist_ok=True)
    lines = ",\n".join(json.dumps(entry) for entry in entries)
    (TARGET / "catalogue.json").write_text(f"[\n{lines}\n]\n")
    for name in ("paper_results.json", "datasets_extra.json"):
        content = json.loads((data / name).read_text())
        (TARGET / name).write_text(json.dumps(content, indent=1) + "\n")
    for record in json.loads((data / "datasets_extra.json").read_text()):
        shutil.copy(data / record["file"], TARGET)
        shutil.copy(data / record["splits"]["file"], TARGET)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
