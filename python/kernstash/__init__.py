"""Build GPU programs once; every later process starts warm.

    import kernstash

    cache = kernstash.Cache()
    device = cache.device(api="cuda", name="NVIDIA H100", driver="580.65", traits={"compute capability": "9.0"})

    binary = kernstash.get_or_build(device, "gemm", 128, 64, "float16", library=("myjit", "2.14.0"), build=compile)

What is wrong with the cache (no library, no directory, a full disk, a damaged entry, a forked
child) is a miss, and build is called as it would have been. Errors are build's own, and
TypeError or ValueError for what makes no sense. docs/PYTHON.md tells more.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from contextlib import contextmanager
from ctypes import byref, c_int64, c_size_t, c_void_p
from types import TracebackType
from typing import Callable, Iterator, List, Mapping, Optional, Sequence, Tuple, Type, Union

from . import _build, _library
from ._build import Build
from ._version import __version__

__all__ = ["Build", "Cache", "Device", "Lookup", "Part", "get_or_build", "__version__"]

Part = Union[int, float, str, bytes]
"""What a key is made of, beside texts and versions. Kinds and order count: 1, 1.0 and "1" are three; True is 1."""


def _text(what: str, value: str) -> bytes:
    if not isinstance(value, str):
        raise TypeError("%s: %r is no str" % (what, value))
    data = value.encode("utf-8", "surrogateescape")
    if b"\0" in data:
        raise ValueError("%s: %r holds NUL" % (what, value))
    return data


def _name(what: str, value: str) -> bytes:
    data = _text(what, value)
    if not data:
        raise ValueError("%s: empty" % what)
    return data


class Cache:
    """A cache: the user's, which all programs share, or a private one in a directory.

    It is opened by the first request, so that a child that is forked before has one of its own.
    """

    def __init__(self, directory: Optional[str] = None, *, max_size: int = 0, memory: int = 0) -> None:
        self._directory = _name("directory", directory) if directory is not None else None
        self._max_size, self._memory = int(max_size), int(memory)
        self._lock = threading.Lock()
        self._process = 0  # that opened it, or tried to
        self._cache: Optional[c_void_p] = None
        self._why = ""
        self._devices: "dict[bytes, c_void_p]" = {}
        self._flushing = 0  # threads
        _caches.append(self)

    @property
    def available(self) -> bool:
        """Whether there is a cache; else all is a miss. Asking opens it."""
        with self._lock:
            return self._open() is not None

    @property
    def why(self) -> str:
        """Why there is no cache; "" where there is."""
        with self._lock:
            self._open()
            return self._why

    def device(
        self,
        *,
        api: str,
        name: str,
        driver: str,
        platform: Optional[str] = None,
        version: Optional[str] = None,
        traits: Mapping[str, str] = {},
        compiler: Mapping[str, str] = {},
    ) -> Device:
        """Returns a device by all that decides how it compiles: what differs in anything has entries of its own."""
        return Device(self, api, name, driver, platform, version, traits, compiler)

    def counter(self, name: str) -> int:
        """One total by the name that 'kernstash stat --json' shows; 0 where there is none."""
        value, text = c_int64(), _text("counter", name)
        with self._lock:
            opened = self._open()
            if opened is not None:
                opened[0].kernstash_counter(opened[1], text, byref(value))
        return value.value

    def flush(self, seconds: float = 5.0) -> bool:
        """Waits until what was built is stored; reports whether it is."""
        with self._lock:
            cache = self._cache
            if self._process != os.getpid() or cache is None:
                return True
            self._flushing += 1
        try:
            status: int = _library.get().kernstash_flush(cache, int(seconds * 1000))
        finally:
            with self._lock:
                self._flushing -= 1
        return status == _library.OK

    def close(self) -> None:
        """Waits at most 5 s until what was built is stored. Requests of a closed cache are misses."""
        with self._lock:
            cache, self._cache = self._cache, None
            devices, self._devices = self._devices, {}
            mine = self._process == os.getpid() and not self._flushing  # else it is theirs, and stays
            self._process, self._why = -1, "the cache is closed"
        if self in _caches:
            _caches.remove(self)
        if cache is not None and mine:
            library = _library.get()
            for device in devices.values():
                library.kernstash_device_close(device)
            library.kernstash_close(cache)

    def __enter__(self) -> Cache:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def _open(self) -> Optional[Tuple[ctypes.CDLL, c_void_p]]:
        """The library and its cache, with which whoever has the lock may do something that takes no time."""
        if self._process == 0:
            self._process = os.getpid()
            try:
                self._try()
            except Exception as err:
                self._why = str(err)
        elif self._process != os.getpid() and self._process > 0:
            self._process, self._cache, self._devices = -1, None, {}
            self._why = "forked after the cache was opened"
        return (_library.get(), self._cache) if self._cache is not None else None

    def _try(self) -> None:
        library = _library.get()
        options = _library.Options()
        options.size = ctypes.sizeof(options)
        options.directory, options.max_size, options.memory = self._directory, self._max_size, self._memory
        cache = c_void_p()
        status = library.kernstash_open(byref(options), byref(cache))
        if status == _library.OK:
            self._cache = cache
        else:
            self._why = _library.detail(library, status)


class Device:
    """A device of a cache, by its identity."""

    def __init__(
        self,
        cache: Cache,
        api: str,
        name: str,
        driver: str,
        platform: Optional[str],
        version: Optional[str],
        traits: Mapping[str, str],
        compiler: Mapping[str, str],
    ) -> None:
        self.cache = cache
        self._identity = i = _library.Identity()
        i.size = ctypes.sizeof(i)
        i.api, i.name, i.driver = _name("api", api), _name("name", name), _name("driver", driver)
        i.platform = _text("platform", platform) if platform is not None else None
        i.version = _text("version", version) if version is not None else None
        self._pairs = [_pairs("traits", traits), _pairs("compiler", compiler)]  # which the identity points into
        i.traits, i.trait_count = self._pairs[0], len(traits)
        i.compiler, i.compiler_count = self._pairs[1], len(compiler)
        self._id = repr((api, name, driver, platform, version, list(traits.items()), list(compiler.items()))).encode(
            "utf-8", "surrogateescape"
        )

    def lookup(self, program: str) -> Lookup:
        """Returns a lookup for a program of a name, which is part of its key."""
        return Lookup(self, program)

    def _open(self, program: bytes) -> Tuple[ctypes.CDLL, c_void_p]:
        """Opens a lookup of the library. It outlives the cache, which nobody closes meanwhile. OSError: there is none."""
        with self.cache._lock:
            opened = self.cache._open()
            if opened is None:
                raise OSError(self.cache._why)
            library = opened[0]
            device = self.cache._devices.get(self._id)
            if device is None:
                device = c_void_p()
                status = library.kernstash_device_open(opened[1], byref(self._identity), byref(device))
                if status != _library.OK:
                    raise OSError(_library.detail(library, status))
                self.cache._devices[self._id] = device
            handle = c_void_p()
            status = library.kernstash_lookup_open(device, program, byref(handle))
            if status != _library.OK:
                raise OSError(_library.detail(library, status))
        return library, handle


def _pairs(what: str, pairs: Mapping[str, str]) -> "ctypes.Array[_library.Pair]":
    return (_library.Pair * len(pairs))(*[_library.Pair(_name(what, n), _text(what, v)) for n, v in pairs.items()])


class Lookup:
    """What a program is: at least a source or a library's version, and whatever else decides what is built."""

    def __init__(self, device: Device, program: str) -> None:
        self.device = device
        self._program = _name("program", program)
        self._parts: List[Tuple[str, Tuple[object, ...]]] = []

    def library(self, name: str, version: str) -> Lookup:
        """Adds a library that makes the source, or holds it; its version changes whenever what is built does."""
        return self._add("library", _name("library", name), _name("version", version))

    def source(self, text: Union[str, bytes]) -> Lookup:
        """Adds a text that the program is made from. One that includes files needs a library's version beside it."""
        data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else bytes(text)
        if not data:
            raise ValueError("source: empty")
        return self._add("source", data, len(data))

    def options(self, text: str) -> Lookup:
        """Adds options of the compiler."""
        return self._add("options", _text("options", text))

    def add(self, *parts: Part) -> Lookup:
        """Adds variants, whose values, kinds and order count."""
        for part in parts:
            if isinstance(part, int):
                if not -(1 << 63) <= part < 1 << 63:
                    raise ValueError("part: %d takes more than 64 bits" % part)
                self._add("int", part)
            elif isinstance(part, float):
                self._add("double", part)
            elif isinstance(part, str):
                self._add("string", _text("part", part))
            elif isinstance(part, bytes):
                self._add("bytes", part, len(part))
            else:
                raise TypeError("part: %r is no int, float, str or bytes" % (part,))
        return self

    def _add(self, kind: str, *values: object) -> Lookup:
        self._parts.append((kind, values))
        return self

    def found(self) -> Optional[bytes]:
        """Returns the binary if there is one, and waits for nobody."""
        try:
            with self._handle() as (library, handle):
                return self._binary(library, handle) if library.kernstash_lookup_found(handle) else None
        except OSError:
            return None

    def begin(self) -> Union[bytes, Build]:
        """Returns the binary, or a build that the caller is to finish and that others wait for."""
        return _build.begin(self)

    def get_or_build(self, build: Callable[[], bytes]) -> bytes:
        """Returns the binary, from the cache or from build, which is called on this thread.

        Of threads and processes that ask at once one builds, and the others wait for it, a
        minute at most. What build raises is raised here, and whoever waits tries by himself.
        """
        found = self.found()
        if found is not None:
            return found
        key = (self.device._id, self._program, tuple(self._parts))
        inside = _inside.__dict__.setdefault("keys", [])
        if key in inside:  # build asks for what it builds
            return _checked(build())
        outcome = self.begin()
        if isinstance(outcome, bytes):
            return outcome
        with outcome:
            inside.append(key)
            try:
                binary = _checked(build())
            finally:
                inside.remove(key)
            outcome.finish(binary)
        return binary

    def put(self, binary: bytes, cost: int = 0) -> bool:
        """Stores a binary that took so many nanoseconds; reports whether the cache has one now."""
        try:
            with self._handle() as (library, handle):
                if _build.set_binary(library.kernstash_lookup_set_artifact, handle, _checked(binary), cost) != _library.OK:
                    return False
                status: int = library.kernstash_lookup_populate(handle)
                return status == _library.OK
        except OSError:
            return False

    def refused(self) -> None:
        """Says that what was found does not load: its entry goes."""
        try:
            with self._handle() as (library, handle):
                if library.kernstash_lookup_found(handle):
                    library.kernstash_lookup_refused(handle)
        except OSError:
            pass

    @contextmanager
    def _handle(self) -> Iterator[Tuple[ctypes.CDLL, c_void_p]]:
        """A lookup of the library, which one thread may use. OSError: there is none."""
        library, handle = self.device._open(self._program)
        try:
            for kind, values in self._parts:
                getattr(library, "kernstash_lookup_" + kind)(handle, *values)
            yield library, handle
        finally:
            library.kernstash_lookup_close(handle)

    @staticmethod
    def _binary(library: ctypes.CDLL, handle: c_void_p) -> Optional[bytes]:
        data, size = c_void_p(), c_size_t()
        if library.kernstash_lookup_binary(handle, byref(data), byref(size)) != _library.OK:
            return None
        return ctypes.string_at(data, size.value) if data.value is not None else None


def _checked(binary: bytes) -> bytes:
    if not isinstance(binary, bytes) or not binary:
        raise TypeError("a build returns bytes, and at least one")
    return binary


def get_or_build(
    device: Device,
    program: str,
    *parts: Part,
    build: Callable[[], bytes],
    library: Optional[Tuple[str, str]] = None,
    sources: Sequence[Union[str, bytes]] = (),
    options: Optional[str] = None,
) -> bytes:
    """Returns a program's binary: from the cache, or from build, called here and now.

    library is a name and a version, sources are texts: at least one of the two, else ValueError.
    """
    if library is None and not sources:
        raise ValueError("a program needs a library's version, or a source")
    lookup = device.lookup(program).add(*parts)
    if library is not None:
        lookup.library(*library)
    for text in sources:
        lookup.source(text)
    if options is not None:
        lookup.options(options)
    return lookup.get_or_build(build)


_inside = threading.local()
_caches: List[Cache] = []


def _at_exit() -> None:
    ended = _build.give_up()
    for cache in list(_caches):
        if ended:
            cache.close()
        else:  # a thread waits for another process, and closing would wait for that
            cache.flush()


def _in_child() -> None:
    for cache in _caches:
        cache._lock = threading.Lock()  # another thread may have held it


atexit.register(_at_exit)
os.register_at_fork(after_in_child=_in_child)
