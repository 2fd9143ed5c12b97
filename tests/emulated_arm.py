"""Run the kernel tests on an emulated ARM processor that has dot products of bytes.

    python tests/emulated_arm.py [pytest arguments]

Needs Debian and root: it installs a cross compiler and an emulator, and unpacks Python for ARM with
NumPy, SciPy and scikit-learn into build/arm.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "build" / "arm"
SYSTEM, SITE = PLACE / "system", PLACE / "site"
TOOLS = ("g++-aarch64-linux-gnu", "qemu-user")
PYTHON = "3.11"  # of Debian 12
PACKAGES = (
    f"python{PYTHON}-minimal", f"libpython{PYTHON}-minimal", f"libpython{PYTHON}-stdlib",
    f"libpython{PYTHON}-dev", "libc6", "libgcc-s1", "libstdc++6", "libexpat1", "zlib1g", "libffi8",
    "libssl3", "libbz2-1.0", "liblzma5", "libsqlite3-0", "libuuid1", "libcrypt1",
)  # fmt: skip
WHEELS = ("numpy", "scipy", "scikit-learn", "narwhals", "hypothesis", "pytest")
PLATFORMS = ("manylinux2014_aarch64", "manylinux_2_27_aarch64", "manylinux_2_28_aarch64")
SUFFIX = f"cpython-{PYTHON.replace('.', '')}-aarch64-linux-gnu"


def run(*command: object, **options: object) -> None:
    subprocess.run([str(part) for part in command], check=True, **options)


def install_tools() -> None:
    run("dpkg", "--add-architecture", "arm64")
    run("apt-get", "-qq", "update")
    run("apt-get", "-qq", "install", "-y", *TOOLS, stdout=subprocess.DEVNULL)


def unpack_python() -> None:
    """Unpack Debian's Python for ARM, without installing it."""
    archives = PLACE / "archives"
    archives.mkdir(parents=True, exist_ok=True)
    run("apt-get", "-qq", "download", *(f"{name}:arm64" for name in PACKAGES), cwd=archives)
    for archive in archives.glob("*.deb"):
        run("dpkg", "-x", archive, SYSTEM)


def unpack_wheels() -> None:
    wheels = PLACE / "wheels"
    platforms = [word for name in PLATFORMS for word in ("--platform", name)]
    target = ("--only-binary=:all:", "--implementation", "cp", "--python-version", PYTHON)
    abis = ("--abi", f"cp{PYTHON.replace('.', '')}", "--abi", "abi3", "--abi", "none")
    pip = (sys.executable, "-m", "pip", "--quiet", "download", "-d", wheels)
    run(*pip, *platforms, *target, *abis, *WHEELS)
    for wheel in wheels.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(SITE)


def build_core() -> None:
    """Compile the core for ARM, and put it beside the Python files."""
    build, cmake = PLACE / "core", Path(sys.executable).with_name("cmake")
    headers = SYSTEM / "usr" / "include"
    run(
        cmake, "-S", ROOT, "-B", build,
        "-DCMAKE_BUILD_TYPE=Release",
        "-DCMAKE_SYSTEM_NAME=Linux",
        "-DCMAKE_SYSTEM_PROCESSOR=aarch64",
        "-DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++",
        f"-DCMAKE_CXX_FLAGS=-isystem {headers}",
        f"-DPython_EXECUTABLE={sys.executable}",
        f"-DPython_INCLUDE_DIR={headers / f'python{PYTHON}'}",
    )  # fmt: skip
    run(cmake, "--build", build, "--parallel", os.cpu_count() or 1)
    package = SITE / "partita"
    package.unlink(missing_ok=True)
    overlay = PLACE / "package"
    run("rm", "-rf", overlay)
    run("cp", "-r", ROOT / "src" / "partita", overlay)
    for module in (overlay / "_kernels").glob("core*.so"):  # of this machine
        module.unlink()
    (core,) = build.glob("core*.so")
    run("cp", core, overlay / "_kernels" / f"core.{SUFFIX}.so")
    package.symlink_to(overlay)


def main(arguments: list[str]) -> None:
    install_tools()
    if not SITE.exists():
        unpack_python()
        unpack_wheels()
    build_core()
    python = ("qemu-aarch64", SYSTEM / "usr" / "bin" / f"python{PYTHON}")
    environment = {**os.environ, "QEMU_LD_PREFIX": str(SYSTEM), "PYTHONPATH": str(SITE)}
    sets = "from partita._kernels import kernels; assert 'dotprod' in kernels.instruction_sets()"
    run(*python, "-c", sets, env=environment)
    run(*python, "-m", "pytest", "-p", "no:cacheprovider", *arguments, env=environment, cwd=ROOT)


if __name__ == "__main__":
    main(sys.argv[1:] or ["-q", "--quick", "tests/kernels", "-m", "not heavy"])
