"""Full disks and read-only folders: everything that writes files.

Each operation runs on a small disk (a tmpfs) with less and less room, and on one that is mounted
read-only. If it cannot write, there must be a clear error, the old file must be there unchanged,
and no other file. Where this process may not mount, the size of files is limited instead, and the
figure says so.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers import small_files
from obliquebart import ObliqueBARTRegressor
from obliquebart.exceptions import CheckpointWarning
from obliquebart.report import write_report
from scorecard.finding import finish

OLD = b"an older file"
# Bytes that are free, and None for a disk that is read-only.
ROOMS = (None, 0, 4096, 16384, 65536, 262144, 40_000_000)
DISK_BYTES = 50_000_000
SHORT = ["--n-trees", "3", "--n-burn", "4", "--n-draws", "3", "--n-chains", "1", "--quiet"]


@dataclass(frozen=True)
class Kit:
    """What the operations work with, on a disk with room."""

    folder: Path
    model: ObliqueBARTRegressor

    @property
    def model_file(self) -> Path:
        return self.folder / "model.obart"

    @property
    def table(self) -> Path:
        return self.folder / "table.csv"


class Failure(Exception):  # noqa: N818
    """An operation failed as it should, with this message."""


def new_kit(folder: Path) -> Kit:
    X, y = small_files.small_table(300)
    with (folder / "table.csv").open("w") as stream:
        stream.write("u,v,group,y\n")
        stream.writelines(
            f"{u},{'' if v != v else v},{group},{value}\n"
            for u, v, group, value in zip(*X.values(), y, strict=True)
        )
    parameters = {**small_files.SMALL, "n_trees": 20, "n_draws": 200}
    kit = Kit(folder, ObliqueBARTRegressor(**parameters).fit(X, y))
    kit.model.save(kit.model_file)
    return kit


# ---- operations ----------------------------------------------------------------------------------

Operation = Callable[[Kit, Path], None]


def save(kit: Kit, path: Path) -> None:
    _python(lambda: kit.model.save(path))


def report(kit: Kit, path: Path) -> None:
    X, y = small_files.small_table(300)
    _python(lambda: write_report(kit.model, X, y, path))


def checkpoint(kit: Kit, path: Path) -> None:
    """Fit with a checkpoint: the fit goes on without it, and says so."""
    X, y = small_files.small_table(300)
    parameters = {**small_files.SMALL, "n_trees": 20, "n_draws": 200}
    model = ObliqueBARTRegressor(**parameters)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _python(lambda: model.fit(X, y, checkpoint=path, checkpoint_every=40))
    if (model.predict(X) != kit.model.predict(X)).any():
        raise AssertionError("the fit has other draws")
    told = [w for w in caught if issubclass(w.category, CheckpointWarning)]
    if told:
        raise Failure(str(told[0].message))


def fit_command(kit: Kit, path: Path) -> None:
    _command("fit", kit.table, "-t", "y", "-o", path, *SHORT, "--n-draws", "2000")


def predict_command(kit: Kit, path: Path) -> None:
    _command("predict", kit.model_file, kit.table, "-o", path, "--quiet")


def predict_to_parquet(kit: Kit, path: Path) -> None:
    _command("predict", kit.model_file, kit.table, "-o", path, "--quiet")


def predict_to_stdout(kit: Kit, path: Path) -> None:
    with _opened(path) as stream:
        _command("predict", kit.model_file, kit.table, "--quiet", stdout=stream.fileno())


def report_command(kit: Kit, path: Path) -> None:
    _command("report", kit.model_file, kit.table, "-t", "y", "-o", path, "--quiet")


def demo_command(_: Kit, path: Path) -> None:
    _command("demo", path, "--n-burn", "2", "--n-draws", "2", "--quiet")


OPERATIONS: dict[str, tuple[Operation, str]] = {
    "save": (save, "model.obart"),
    "report": (report, "report.html"),
    "checkpoint": (checkpoint, "run.ckpt"),
    "fit -o": (fit_command, "model.obart"),
    "predict -o CSV": (predict_command, "predicted.csv"),
    "predict -o Parquet": (predict_to_parquet, "predicted.parquet"),
    "predict >": (predict_to_stdout, "predicted.csv"),
    "report -o": (report_command, "report.html"),
    "demo": (demo_command, "demo"),
}
# These begin without an old file, and may leave what they had written before the disk was full.
STARTS_ANEW = ("checkpoint", "predict >", "demo")


def _python(call: Callable[[], object]) -> None:
    try:
        call()
    except OSError as error:
        raise Failure(str(error)) from error


def _command(*words: object, stdout: int = subprocess.DEVNULL) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "obliquebart", *map(str, words)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "COLUMNS": "1000"},
    )
    noise = ("Traceback", "Exception ignored", "terminate", "Segmentation")
    if done.returncode not in (0, 1) or any(word in done.stderr for word in noise):
        raise AssertionError(f"status {done.returncode}: {done.stderr}")
    if done.returncode:
        raise Failure(done.stderr.strip())


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("wb")
    except OSError as error:  # the shell's error, not ours
        raise Failure(str(error)) from error


# ---- disks ---------------------------------------------------------------------------------------


@dataclass
class Disk:
    """A small disk; `has_mount` says whether it is one, or only a limit of the size of files."""

    folder: Path
    has_mount: bool = False

    def __enter__(self) -> Disk:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(self.folder)]
        if os.geteuid() == 0 and shutil.which("mount"):
            done = subprocess.run(mount, capture_output=True, check=False)
            self.has_mount = done.returncode == 0
        return self

    def __exit__(self, *_: object) -> None:
        if self.has_mount:
            subprocess.run(["umount", str(self.folder)], check=True)

    @contextlib.contextmanager
    def with_room(self, room: int | None) -> Iterator[None]:
        """Leave so many bytes; None makes it read-only."""
        if self.has_mount:
            with self._filled(room) if room is not None else self._read_only():
                yield
        elif room is None:
            raise PermissionError("only root can mount")
        else:
            with _file_size_limit(room):
                yield

    @contextlib.contextmanager
    def _read_only(self) -> Iterator[None]:
        subprocess.run(["mount", "-o", "remount,ro", str(self.folder)], check=True)
        try:
            yield
        finally:
            subprocess.run(["mount", "-o", "remount,rw", str(self.folder)], check=True)

    @contextlib.contextmanager
    def _filled(self, room: int) -> Iterator[None]:
        status = os.statvfs(self.folder)
        filler = self.folder / "filler"
        filler.write_bytes(b"\0" * max(status.f_bavail * status.f_bsize - room, 0))
        try:
            yield
        finally:
            filler.unlink()


@contextlib.contextmanager
def _file_size_limit(room: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def attempt(name: str, kit: Kit, disk: Disk, room: int | None, has_old: bool) -> tuple[bool, str]:
    """Return whether an operation failed as it should, and what is wrong with how it ended."""
    operation, file = OPERATIONS[name]
    folder = disk.folder / "output"
    folder.mkdir()
    path = folder / file
    has_old = has_old and name not in STARTS_ANEW
    if has_old:
        path.write_bytes(OLD)
    wrong, message = "", ""
    with disk.with_room(room):
        try:
            operation(kit, path)
        except Failure as failure:
            message = str(failure)
        except Exception as error:
            wrong = f"{error!r:.800}"
    if not wrong:
        wrong = _state_after(name, path, has_old, message)
    shutil.rmtree(folder)
    where = "a read-only disk" if room is None else f"{room} bytes free"
    old = "an old file" if has_old else "no old file"
    return bool(message), wrong and f"{name}, {where}, {old}: {wrong}"


def _state_after(name: str, path: Path, has_old: bool, message: str) -> str:
    files = [other.name for other in path.parent.iterdir()]
    allowed = [path.name] if has_old or not message or name in STARTS_ANEW else []
    if not set(files) <= set(allowed):
        return f"files left behind: {files} ({message})"
    if not message:
        return "" if path.exists() else "no error, and no file"
    words = ("No space left", "Read-only file system", "File too large")
    names_it = name in ("predict >", "demo") or path.name in message
    if not names_it or not any(word in message for word in words):
        return f"an unclear error: {message}"
    if has_old and path.read_bytes() != OLD:
        return "the old file has changed"
    return ""


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--operations", nargs="*", choices=OPERATIONS, default=list(OPERATIONS))
    parser.add_argument("--rooms", nargs="*", type=int, help="bytes; -1 for a read-only disk")
    options = parser.parse_args(words)
    rooms = ROOMS if options.rooms is None else [None if r < 0 else r for r in options.rooms]
    problems, n_failed, n_tried = [], 0, 0
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as where:
        kit = new_kit(Path(name))
        with Disk(Path(where)) as disk:
            for operation in options.operations:
                for room in rooms if disk.has_mount else [r for r in rooms if r is not None]:
                    for has_old in (False,) if operation in STARTS_ANEW else (True, False):
                        failed, wrong = attempt(operation, kit, disk, room, has_old)
                        n_tried, n_failed = n_tried + 1, n_failed + failed
                        problems += [wrong] if wrong else []
                print(f"{operation}: {len(problems)} problems so far", flush=True)
            how = "small disks" if disk.has_mount else "limits of file size (no mount allowed)"
    figure = f"{n_tried} attempts to write on {how}, {n_failed} refused"
    return finish(figure, problems)


if __name__ == "__main__":
    sys.exit(main())
