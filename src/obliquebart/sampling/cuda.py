"""NVIDIA cards: find one, and compile the kernels for it.

The driver is all that a machine needs to have. The compiler (NVRTC) comes from PyPI, with the extra
`[cuda]`, or from an installed CUDA toolkit; what it makes is kept in the user's cache.
"""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from obliquebart import _core
from obliquebart.exceptions import CudaUnavailableError

# One rounding per operation, as on the CPU; functions without a mark are the card's.
OPTIONS = ("--std=c++20", "--fmad=false", "--device-as-default-execution-space")
OLDEST_CAPABILITY = (7, 5)
COMPILER_PACKAGES = ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu13", "nvidia-cuda-nvrtc-cu12")
TOOLKITS = ("/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib")
DRIVER = "Drivers are at https://www.nvidia.com/drivers and among the packages of your system."
OTHERWISE = 'device="cpu" gives the same draws; device="auto" uses a card where there is one.'

_lock = Lock()


class CudaCard(NamedTuple):
    """A card that chains can run on."""

    name: str
    capability: tuple[int, int]
    bytes: int
    processors: int


def find_card() -> CudaCard:
    """Return the machine's first card, or raise CudaUnavailableError that says what is missing."""
    try:
        card = CudaCard(**_core.cuda_device())
    except _core.CardError as error:
        raise CudaUnavailableError(
            f'device="cuda" needs an NVIDIA card and its driver, but {error}. {DRIVER} {OTHERWISE}'
        ) from None
    if card.capability < OLDEST_CAPABILITY:
        raise CudaUnavailableError(
            f'device="cuda" needs a card of compute capability 7.5 or later (Turing, 2018); '
            f"{card.name} has {card.capability[0]}.{card.capability[1]}. {OTHERWISE}"
        )
    return card


def prepare() -> CudaCard:
    """Make the kernels ready for the machine's card: compiled, or from the cache."""
    card = find_card()
    with _lock:
        if not _core.has_cuda_program():
            _core.set_cuda_program(_program(card))
    return card


def _program(card: CudaCard) -> bytes:
    sources = _core.card_sources()
    architecture = f"sm_{card.capability[0]}{card.capability[1]}"
    options = (f"--gpu-architecture={architecture}", *OPTIONS)
    compiler = _Compiler()
    text = repr((sorted(sources.items()), options, compiler.version()))
    kept = cache_folder() / f"kernels-{hashlib.sha256(text.encode()).hexdigest()[:24]}.cubin"
    with contextlib.suppress(OSError):
        return kept.read_bytes()
    image = compiler.compile(sources, options)
    _keep(kept, image)
    return image


def cache_folder() -> Path:
    """Return where compiled kernels are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "obliquebart"


def _keep(path: Path, image: bytes) -> None:
    """Write a file that other processes see whole or not at all; a read-only home is no error."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(image)
        Path(file.name).replace(path)


class _Compiler:
    """NVIDIA's run-time compiler."""

    def __init__(self) -> None:
        for path in _libraries():
            with contextlib.suppress(OSError):
                self._library = ctypes.CDLL(path)
                return
        raise CudaUnavailableError(
            'device="cuda" needs NVIDIA\'s run-time compiler, which is not installed: '
            f'pip install "obliquebart[cuda]". {OTHERWISE}'
        )

    def version(self) -> tuple[int, int]:
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        return major.value, minor.value

    def compile(self, sources: dict[str, str], options: tuple[str, ...]) -> bytes:
        (name, text), *headers = sources.items()
        program = ctypes.c_void_p()
        texts = _strings([text for _, text in headers])
        names = _strings([name for name, _ in headers])
        created = self._library.nvrtcCreateProgram(
            ctypes.byref(program), text.encode(), name.encode(), len(headers), texts, names
        )
        if created != 0:
            raise CudaUnavailableError("NVIDIA's run-time compiler could not start.")
        try:
            result = self._library.nvrtcCompileProgram(program, len(options), _strings(options))
            if result != 0:
                log = self._read(program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
                raise CudaUnavailableError(
                    "The kernels could not be compiled for this card "
                    f"(compiler {'.'.join(map(str, self.version()))}):\n{log}"
                )
            return self._read(program, "CUBIN")
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(program))

    def _read(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        getattr(self._library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        out = ctypes.create_string_buffer(size.value)
        getattr(self._library, f"nvrtcGet{what}")(program, out)
        return out.raw


def _strings(items: list[str] | tuple[str, ...]) -> ctypes.Array[ctypes.c_char_p]:
    return (ctypes.c_char_p * len(items))(*(item.encode() for item in items))


def _libraries() -> Iterator[str]:
    """Where the compiler may lie, the package from PyPI first."""
    for package in COMPILER_PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            for file in files(package) or []:
                if file.name.startswith("libnvrtc.so"):
                    yield str(file.locate())
    for folder in (*sys.path, *TOOLKITS):
        if not folder:
            continue
        for pattern in ("nvidia/*/lib/libnvrtc.so*", "libnvrtc.so*"):
            yield from (str(path) for path in sorted(Path(folder).glob(pattern)))
    found = ctypes.util.find_library("nvrtc")
    if found:
        yield found
