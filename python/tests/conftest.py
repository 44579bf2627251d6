import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
PACKAGE = HERE.parent
# KERNSTASH_TEST_PYTHON: another Python, which needs no pytest.
LIBRARIES = pathlib.Path(os.environ.get("KERNSTASH_LIBDIR") or PACKAGE.parent / "lib")


class Box:
    """Runs Python with a cache, a directory of Triton and a home of its own."""

    def __init__(self, root):
        self.root = root
        self.triton = root / "triton"
        self.cache = root / "cache"
        self.log = root / "log"
        (root / "home").mkdir()
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(root / "home"),
            "PYTHONPATH": os.pathsep.join([str(PACKAGE), str(HERE / "standin")]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "KERNSTASH_DIR": str(self.cache),
            "KERNSTASH_LIBDIR": str(LIBRARIES),
            "TRITON_CACHE_DIR": str(self.triton),
            "TRITON_CACHE_MANAGER": "kernstash.triton:CacheManager",
            "TEST_LOG": str(self.log),
        }

    def start(self, code, **env):
        prelude = "from triton.compiler import compile, compiled, contents, module, note\nimport os, sys, time\n"
        return subprocess.Popen(
            [os.environ.get("KERNSTASH_TEST_PYTHON", sys.executable), "-c", prelude + code],
            env={k: v for k, v in {**self.env, **env}.items() if v is not None},
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, code, **env):
        """Runs code, which must succeed and write nothing but what it prints, and returns that."""
        process = self.start(code, **env)
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0, out
        return out

    def compiled(self):
        """How often anything was compiled so far."""
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def wipe(self):
        """Removes what Triton itself has."""
        subprocess.run(["rm", "-rf", str(self.triton)], check=True)

    def files(self):
        """What lies below Triton's directory."""
        return {str(p.relative_to(self.triton)): p.read_bytes() for p in self.triton.rglob("*") if p.is_file()}


@pytest.fixture
def box(tmp_path):
    if not (LIBRARIES / "libkernstash.so.1").exists():
        pytest.fail("there is no %s/libkernstash.so.1: make lib builds it, KERNSTASH_LIBDIR says where it is" % LIBRARIES)
    return Box(tmp_path)
