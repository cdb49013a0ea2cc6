# Compiles for a chosen processor and glibc with the Clang and libc++ of the PyPI package `ziglang`.
# build_wheels.py names them in ZIG (the program), WHEEL_ARCH (x86_64 or aarch64) and WHEEL_GLIBC.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR "$ENV{WHEEL_ARCH}")
set(CMAKE_CXX_COMPILER "$ENV{ZIG}" c++ -target "$ENV{WHEEL_ARCH}-linux-gnu.$ENV{WHEEL_GLIBC}")

# nanobind prints to stderr without this header, which libstdc++ includes on the way and libc++ not.
set(CMAKE_CXX_FLAGS_INIT "-include cstdio")
# The strip and ar of this machine need not know the other processor, nor be installed.
set(CMAKE_MODULE_LINKER_FLAGS_INIT "-s")
set(CMAKE_CXX_ARCHIVE_CREATE "\"$ENV{ZIG}\" ar qc <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_FINISH "")
