"""A cache manager for Triton: TRITON_CACHE_MANAGER=kernstash.triton:CacheManager.

A group of files that Triton made of a kernel is one entry of the cache, whole or not at all;
its files appear below TRITON_CACHE_DIR as Triton writes them. Of processes that want the same
kernel at once one compiles it. Whatever is wrong leaves what Triton's own manager does, which
this one is.
"""

from __future__ import annotations

import functools
import glob
import hashlib
import json
import locale
import os
import platform
import shutil
import struct
import sys
import sysconfig
import tempfile
import threading
import weakref
from typing import Any, Dict, List, Optional, Tuple, Union

import triton
from triton.runtime.cache import FileCacheManager

from . import Build, Cache, Device, Lookup

__all__ = ["CacheManager"]

# What Triton writes of each compilation, or compiles anew, whatever is cached: where one of these is
# set a kernel that is found is not what the user waits for.
_ASIDE = (
    "TRITON_ALWAYS_COMPILE",
    "TRITON_DUMP_MIR",
    "TRITON_DUMP_PTXAS_LOG",
    "TRITON_INTERPRET",
    "TRITON_KERNEL_DUMP",
    "TRITON_KERNEL_OVERRIDE",
    "TRITON_REPRODUCER_PATH",
    "AMDGCN_ENABLE_DUMP",
    "LLVM_ENABLE_TIMING",
    "LLVM_IR_ENABLE_DUMP",
    "MLIR_DUMP_PATH",
    "MLIR_ENABLE_DUMP",
    "MLIR_ENABLE_TIMING",
    "NVPTX_ENABLE_DUMP",
    "USE_IR_LOC",  # the path of a file goes into the kernel
    "USE_TTGIR_LOC",
)

# What may change what Triton compiles. Triton's key has most of it; what is here twice costs nothing.
_OBEYED = ("TRITON_", "ALLOW_", "AMD", "DISABLE_", "ENABLE_", "LLVM_", "MLIR_", "NVPTX_", "PTXAS_", "STORE_", "USE_")

# Of those: where things lie, and what is about caches alone.
_NEUTRAL = ("_CACHE_AUTOTUNING", "_CACHE_DIR", "_CACHE_MANAGER", "_DUMP_DIR", "_HOME", "_OVERRIDE_DIR", "_PRINT_AUTOTUNING")

# What a C compiler obeys.
_OBEYED_BY_CC = (
    "CPATH", "C_INCLUDE_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "GCC_COMPARE_DEBUG", "LIBRARY_PATH", "LD_RUN_PATH",
)  # fmt: skip

_MAGIC = b"kernstash group 1\n"


class CacheManager(FileCacheManager):  # type: ignore[misc]
    """Triton's manager of files, with a group as one entry of the cache."""

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        self._ours = False  # whether the cache is asked
        super().__init__(key, override=override, dump=dump)
        try:
            self._ours = not override and not dump and _wanted()
        except Exception:
            pass
        self._put: Dict[str, Optional[bytes]] = {}  # as it is in the file; None: not known
        self._build: Optional[Build] = None
        self._awaited = ""  # the group, or the file, that the build is of
        self._obeyed: List[str] = []  # when it began
        self._served = ""  # a single file that was found

    # Groups.

    def get_group(self, filename: str) -> Optional[Dict[str, str]]:
        if not self._ours:
            return super().get_group(filename)  # type: ignore[no-any-return]
        try:
            return self._get_group(filename)
        except Exception:
            self._leave()
            return super().get_group(filename)  # type: ignore[no-any-return]

    def _get_group(self, filename: str) -> Optional[Dict[str, str]]:
        lookup = self._lookup(filename)
        found = lookup.found()
        group = self._unpacked(filename, found)
        if group is None and found is not None:
            lookup.refused()
        if group is None:
            group = self._own(filename)
        if group is None:
            group = self._unpacked(filename, self._begin("group", lookup, filename))
        return group

    def _begin(self, kind: str, lookup: Lookup, filename: str) -> Optional[bytes]:
        """Returns what another made meanwhile; None: it is this manager's to make."""
        _give_up(kind)
        outcome = lookup.begin()
        if isinstance(outcome, bytes):
            return outcome
        self._build, self._awaited, self._obeyed = outcome, filename, _variables(_OBEYED)
        _mine.__dict__[kind] = weakref.ref(outcome)
        return None

    def put_group(self, filename: str, group: Dict[str, str]) -> Any:
        path = super().put_group(filename, group)
        if self._ours:
            try:
                self._put_group(filename, group)
            except Exception:
                self._leave()
        return path

    def _put_group(self, filename: str, group: Dict[str, str]) -> None:
        build = self._taken(filename)
        if build is None:  # nobody asked for it
            return
        files = {name: self._put.get(name) for name in group}
        self._put.clear()
        overridden = not _whole(filename, files) or json.loads(files[filename] or b"").get("ir_override")
        if not overridden and self._obeyed == _variables(_OBEYED):
            build.finish(_pack(files))
        else:
            build.abandon()

    def _taken(self, filename: str) -> Optional[Build]:
        build, self._build = (self._build, None) if self._awaited == filename else (None, self._build)
        return build

    # Files.

    def get_file(self, filename: str) -> Optional[str]:
        path: Optional[str] = super().get_file(filename)
        if path is not None or not self._ours or not _is_module(filename):
            return path
        try:
            lookup = self._module(filename)
            data = lookup.found() or self._begin("module", lookup, filename)
            if data is not None:
                path = super().put(data, filename, binary=True)
                self._served = filename
            return path
        except Exception:
            self._leave()
            return None

    def put(self, data: Any, filename: str, binary: bool = True) -> str:
        if not isinstance(data, bytes):
            data = str(data)
        path: str = super().put(data, filename, binary=binary)
        if not self._ours:
            return path
        try:
            build = self._taken(filename) if _is_module(filename) else None
            if build is not None and isinstance(data, bytes):
                build.finish(data)
            elif self._served == filename and isinstance(data, bytes):  # Triton could not load what was found
                lookup = self._module(filename)
                lookup.refused()
                lookup.put(data)
            elif self._build is not None:
                self._put[filename] = _as_written(data)
        except Exception:
            self._leave()
        return path

    # What of it is ours.

    def _leave(self) -> None:
        """Leaves all that follows to Triton's manager."""
        self._ours = False
        self._put.clear()
        build, self._build = self._build, None
        if build is not None:
            build.abandon()

    def _lookup(self, filename: str) -> Lookup:
        lookup = _device().lookup(os.path.splitext(filename)[0] or filename)
        return lookup.library("triton", _version()).add("group", self.key, filename, *_tools(), *_variables(_OBEYED))

    def _module(self, filename: str) -> Lookup:
        if getattr(getattr(getattr(triton, "knobs", None), "build", None), "impl", None) is not None:
            raise RuntimeError("compiled by something else than a C compiler")
        lookup = _device().lookup(filename.split(".", 1)[0] or filename)
        lookup.library("triton", _version()).library("python", sys.version)
        return lookup.add("module", self.key, filename, *_host(), *_variables(_OBEYED), *_variables(_OBEYED_BY_CC))

    def _own(self, filename: str) -> Optional[Dict[str, str]]:
        """Returns the group as it lies in Triton's directory, if it is whole there."""
        try:
            with open(self._make_path("__grp__" + filename), encoding="utf-8") as f:
                names = json.load(f)["child_paths"]
            group: Optional[Dict[str, str]] = super().get_group(filename)
        except Exception:
            return None  # it is not there, or torn: Triton compiles, and writes it again
        return group if group and filename in group and len(group) == len(names) else None

    def _unpacked(self, filename: str, data: Optional[bytes]) -> Optional[Dict[str, str]]:
        """Returns the group that an entry holds, its files being what the entry says."""
        files = _unpack(data) if data is not None else None
        if files is None or not _whole(filename, files):
            return None
        group = {name: self._make_path(name) for name in files}
        self._lay({name: contents for name, contents in files.items() if not _holds(group[name], contents)})
        if self._own(filename) != group:
            super().put_group(filename, group)
        return group

    def _lay(self, files: Dict[str, bytes]) -> None:
        """Writes files as Triton does: each is there at once, or not at all."""
        if not files:
            return
        temporary = tempfile.mkdtemp(prefix="tmp.pid_%d_" % os.getpid(), dir=self.cache_dir)
        try:
            for name, contents in files.items():
                path = os.path.join(temporary, name)
                with open(path, "wb") as f:
                    f.write(contents)
                os.replace(path, self._make_path(name))
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _wanted() -> bool:
    if any(os.environ.get(name, "").strip().lower() not in ("", "0", "false", "no", "off", "n") for name in _ASIDE):
        return False
    knobs = getattr(triton, "knobs", None)
    compilation, runtime = getattr(knobs, "compilation", None), getattr(knobs, "runtime", None)
    if any(getattr(compilation, name, False) for name in ("always_compile", "dump_ir", "override")):
        return False
    # A hook changes what is compiled in ways that no key tells.
    if getattr(runtime, "add_stages_inspection_hook", None) is not None:
        return False
    return _device().cache.available


_cache = Cache()
_known: Dict[str, Device] = {}


def _device() -> Device:
    device = _known.get("device")
    if device is None:
        device = _cache.device(
            api="triton", platform="Triton", name="any GPU", version=_version(), driver=_version()
        )
        _known["device"] = device
    return device


def _version() -> str:
    return str(triton.__version__)


_mine = threading.local()


def _give_up(kind: str) -> None:
    """A thread compiles one kernel at a time: what it began before, and left by an exception, is abandoned."""
    last = _mine.__dict__.pop(kind, None)
    build: Optional[Build] = last() if last is not None else None
    if build is not None:
        build.abandon(1)


# Keys.


def _variables(names: Tuple[str, ...]) -> List[str]:
    """The variables whose names begin so. A file that one names counts by what is in it."""
    all = []
    for name in sorted(os.environ):
        value = os.environ[name]
        if value and name.startswith(names) and not name.endswith(_NEUTRAL):
            all += [name, _digest(value) or value]
    return all


_digests: Dict[Tuple[str, int, int], str] = {}


def _digest(path: str) -> str:
    """The digest of a file; "" where there is none."""
    if os.sep not in path or not os.path.isfile(path):
        return ""
    info = os.stat(path)
    stamp = (path, info.st_mtime_ns, info.st_size)
    if stamp not in _digests:
        h = hashlib.sha256()
        with open(path, "rb") as f:
            for block in iter(lambda: f.read(1 << 20), b""):
                h.update(block)
        _digests[stamp] = h.hexdigest()
    return _digests[stamp]


@functools.lru_cache(maxsize=None)
def _tools() -> Tuple[Union[str, int], ...]:
    """The assemblers in Triton's package, whose version alone is in its key, by their sizes."""
    root = os.path.join(os.path.dirname(triton.__file__), "backends")
    all: List[Union[str, int]] = []
    for path in sorted(glob.glob(os.path.join(glob.escape(root), "*", "bin", "*"))):
        all += [os.path.relpath(path, root), os.path.getsize(path)]
    return tuple(all)


def _host() -> List[Union[str, int]]:
    """What decides how a module of Python is compiled in C, as far as Triton's key does not tell."""
    cc = os.environ.get("CC") or shutil.which("clang") or ""
    gcc = shutil.which("gcc") or ""
    all: List[Union[str, int]] = [platform.machine(), os.confstr("CS_GNU_LIBC_VERSION") or ""]
    all.append(sysconfig.get_paths()["include"])
    for compiler in filter(None, (cc, gcc)):
        path = os.path.realpath(shutil.which(compiler) or compiler)
        all.append(path)
        if os.path.isfile(path):
            info = os.stat(path)
            all += [info.st_size, info.st_mtime_ns]
    return all


def _is_module(filename: str) -> bool:
    return filename.endswith(".so")


# What an entry holds.


def _as_written(data: Union[str, bytes]) -> Optional[bytes]:
    """What a file of data holds; None where another process may read it as something else."""
    if isinstance(data, bytes):
        return data
    try:
        return data.encode("ascii")
    except UnicodeEncodeError:
        same = locale.getpreferredencoding(False).lower().replace("-", "") == "utf8"
        return data.encode("utf-8") if same else None


def _whole(filename: str, files: Dict[str, Any]) -> bool:
    """Whether these are the files of a group, and may lie in its directory."""
    return filename in files and all(
        contents is not None and name not in ("", ".", "..") and "/" not in name and "\0" not in name
        for name, contents in files.items()
    )


def _pack(files: Dict[str, Optional[bytes]]) -> bytes:
    contents = [data or b"" for data in files.values()]
    head = json.dumps([[name, len(data)] for name, data in zip(files, contents)]).encode("ascii")
    return b"".join([_MAGIC, struct.pack("<Q", len(head)), head, *contents])


def _unpack(data: bytes) -> Optional[Dict[str, bytes]]:
    """The inverse of _pack; None for anything else."""
    at = len(_MAGIC) + 8
    if not data.startswith(_MAGIC) or len(data) < at:
        return None
    (size,) = struct.unpack_from("<Q", data, len(_MAGIC))
    if size > len(data) - at:
        return None
    try:
        head = json.loads(data[at : at + size])
    except ValueError:
        return None
    at += size
    files: Dict[str, bytes] = {}
    if not isinstance(head, list):
        return None
    for item in head:
        if not isinstance(item, list) or len(item) != 2 or not isinstance(item[0], str) or type(item[1]) is not int:
            return None
        name, length = item
        if name in files or not 0 <= length <= len(data) - at:
            return None
        files[name] = data[at : at + length]
        at += length
    return files if at == len(data) else None


def _holds(path: str, contents: bytes) -> bool:
    try:
        with open(path, "rb") as f:
            return f.read(len(contents) + 1) == contents
    except OSError:
        return False
