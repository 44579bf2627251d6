"""libkernstash.so.1 by ctypes: where it is, what its functions take."""

from __future__ import annotations

import ctypes
import os
import threading
from ctypes import POINTER, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint32, c_void_p
from typing import Any, Iterator, Optional

NAME = "libkernstash.so.1"

OK = 0
BUILD_FAILED = -5


class Options(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("directory", c_char_p),
        ("max_size", c_int64),
        ("memory", c_int64),
        ("flags", c_uint32),
        ("reserved", c_uint32),
    ]


class Pair(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("value", c_char_p)]


class Identity(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("api", c_char_p),
        ("platform", c_char_p),
        ("name", c_char_p),
        ("version", c_char_p),
        ("driver", c_char_p),
        ("traits", POINTER(Pair)),
        ("trait_count", c_size_t),
        ("compiler", POINTER(Pair)),
        ("compiler_count", c_size_t),
    ]


class Artifact(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("data", c_void_p),
        ("data_size", c_size_t),
        ("log", c_char_p),
        ("launches", POINTER(c_char_p)),
        ("launch_count", c_size_t),
        ("cost", c_int64),
        ("form", c_uint32),
        ("origin", c_uint32),
    ]


BuildFunction = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p)

_FUNCTIONS: "dict[str, tuple[Any, list[Any]]]" = {
    "kernstash_strerror": (c_char_p, [c_int]),
    "kernstash_detail": (c_char_p, []),
    "kernstash_version": (c_char_p, []),
    "kernstash_open": (c_int, [POINTER(Options), POINTER(c_void_p)]),
    "kernstash_flush": (c_int, [c_void_p, c_uint32]),
    "kernstash_close": (c_int, [c_void_p]),
    "kernstash_counter": (c_int, [c_void_p, c_char_p, POINTER(c_int64)]),
    "kernstash_device_open": (c_int, [c_void_p, POINTER(Identity), POINTER(c_void_p)]),
    "kernstash_device_close": (None, [c_void_p]),
    "kernstash_lookup_open": (c_int, [c_void_p, c_char_p, POINTER(c_void_p)]),
    "kernstash_lookup_source": (c_int, [c_void_p, c_char_p, c_size_t]),
    "kernstash_lookup_library": (c_int, [c_void_p, c_char_p, c_char_p]),
    "kernstash_lookup_int": (c_int, [c_void_p, c_int64]),
    "kernstash_lookup_double": (c_int, [c_void_p, c_double]),
    "kernstash_lookup_string": (c_int, [c_void_p, c_char_p]),
    "kernstash_lookup_bytes": (c_int, [c_void_p, c_char_p, c_size_t]),
    "kernstash_lookup_options": (c_int, [c_void_p, c_char_p]),
    "kernstash_lookup_found": (c_int, [c_void_p]),
    "kernstash_lookup_binary": (c_int, [c_void_p, POINTER(c_void_p), POINTER(c_size_t)]),
    "kernstash_lookup_set_artifact": (c_int, [c_void_p, POINTER(Artifact)]),
    "kernstash_lookup_populate": (c_int, [c_void_p]),
    "kernstash_lookup_refused": (c_int, [c_void_p]),
    "kernstash_lookup_get_or_build": (c_int, [c_void_p, BuildFunction, c_void_p]),
    "kernstash_lookup_close": (None, [c_void_p]),
}


def _candidates() -> Iterator[str]:
    named = os.environ.get("KERNSTASH_LIBDIR")
    if named:
        yield os.path.join(named, NAME)
        return
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    # Installed, in lib/kernstash/python; in a build tree.
    for below in ("", "lib"):
        yield os.path.join(os.path.dirname(package), below, NAME)
    yield NAME


def _load() -> ctypes.CDLL:
    try:  # the one that the process has: a second one would be another library
        return ctypes.CDLL(NAME, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        pass
    why: Optional[OSError] = None
    for path in _candidates():
        if os.sep in path and not os.path.exists(path):
            continue
        try:
            return ctypes.CDLL(path)
        except OSError as err:
            why = err
    raise why or OSError("there is no " + NAME)


_lock = threading.Lock()
_library: Optional[ctypes.CDLL] = None
_why: Optional[Exception] = None  # why there is none
_process = 0  # that loaded it, or tried to


def get() -> ctypes.CDLL:
    """Returns the library, loaded by the first call: what this process forks before may load its own.

    Raises OSError where there is none, each time for the same reason.
    """
    global _library, _why, _process
    with _lock:
        if _process and _process != os.getpid():
            raise OSError("forked after the library was loaded")
        if _why is not None:
            raise OSError(str(_why))
        if _library is None:
            _process = os.getpid()
            try:
                library = _load()
                for name, (result, arguments) in _FUNCTIONS.items():
                    function = getattr(library, name)
                    function.restype, function.argtypes = result, arguments
            except Exception as err:
                _why = err
                raise OSError(str(err)) from err
            _library = library
        return _library


def detail(library: ctypes.CDLL, status: int) -> str:
    """Says what a status means, and what happened in particular."""
    text = bytes(library.kernstash_strerror(status)).decode("utf-8", "replace")
    more = bytes(library.kernstash_detail() or b"").decode("utf-8", "replace")
    return text + ": " + more if more else text


def _in_child() -> None:
    global _lock
    _lock = threading.Lock()  # another thread may have held it


os.register_at_fork(after_in_child=_in_child)
