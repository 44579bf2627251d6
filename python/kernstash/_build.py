"""A build that others wait for, while its caller compiles on a thread of its own.

The library calls back where it has the build lock, and holds the lock until the callback
returns. The callback runs on a helper's thread and waits there for what the caller makes.
"""

from __future__ import annotations

import os
import threading
import time
from ctypes import byref, c_char_p, c_void_p, cast, sizeof
from types import TracebackType
from typing import TYPE_CHECKING, Callable, Optional, Type, Union

from . import _library

if TYPE_CHECKING:
    from . import Lookup

HOLD = 60.0  # seconds that a build keeps others waiting, at most
PATIENCE = 150.0  # that a caller waits for others, whatever happens; the library waits a minute at most
STORING = 0.5  # that a build waits until what it made is stored
TRIES = 8  # for a build that others of this process give up


class _Signal:
    """An event that may be set from wherever garbage is collected: it has no lock but itself."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def set(self) -> None:
        try:
            self._lock.release()
        except RuntimeError:
            pass  # it was

    def wait(self, seconds: float) -> bool:
        if not self._lock.acquire(timeout=seconds):
            return False
        self.set()
        return True


class _Flight:
    """One get-or-build of the library, on a thread of its own."""

    def __init__(self, lookup: Lookup) -> None:
        self.lookup = lookup
        self.process = os.getpid()
        self.known = _Signal()  # who builds, or what was found
        self.made = _Signal()  # the caller has the binary, or has given up
        self.ended = _Signal()
        self.found: Optional[bytes] = None
        self.binary: Optional[bytes] = None
        self.asked = False  # the caller, to build
        self.taken = False  # what it made, by the library

    def start(self) -> bool:
        thread = threading.Thread(target=self._run, name="kernstash", daemon=True)
        _flights.add(self)
        try:
            thread.start()
        except RuntimeError:  # no thread is to be had, or the interpreter ends
            _flights.discard(self)
            return False
        return True

    def _run(self) -> None:
        try:
            callback = _library.BuildFunction(self._build)
            for _ in range(TRIES):
                with self.lookup._handle() as (library, handle):
                    status = library.kernstash_lookup_get_or_build(handle, callback, None)
                    if status == _library.OK and not self.asked:
                        self.found = self.lookup._binary(library, handle)
                if self.asked or status != _library.BUILD_FAILED:
                    break
            if self.taken:
                self.known.set()
                self.lookup.device.cache.flush(STORING)
        except Exception:
            pass  # the caller builds
        finally:
            _flights.discard(self)
            self.known.set()
            self.ended.set()

    def _build(self, _: object, handle: int) -> int:
        self.asked = True
        self.known.set()
        self.made.wait(HOLD)
        binary = self.binary
        if binary is None:
            return 1
        status = set_binary(_library.get().kernstash_lookup_set_artifact, handle, binary, 0)
        self.taken = status == _library.OK
        return status


def set_binary(set_artifact: Callable[..., int], handle: Union[int, c_void_p], binary: bytes, cost: int) -> int:
    """Makes a binary a lookup's."""
    artifact = _library.Artifact()
    artifact.size = sizeof(artifact)
    artifact.data = cast(c_char_p(binary), c_void_p)
    artifact.data_size = len(binary)
    artifact.cost = cost
    return set_artifact(handle, byref(artifact))


class Build:
    """The caller is to build, and others wait for it: until finish, abandon, or a minute has passed.

    A build that is collected as garbage is abandoned, and so is one that its process leaves.
    """

    def __init__(self, lookup: Lookup, flight: Optional[_Flight]) -> None:
        self._lookup = lookup
        self._flight = flight
        self._begun = time.monotonic_ns()

    def finish(self, binary: bytes) -> None:
        """Stores what was built, and lets the others go on with it. It never raises for a bad cache."""
        flight, self._flight = self._flight, None
        if flight is None or flight.process != os.getpid() or not binary:
            self._drop(flight)
            return
        flight.binary = binary
        flight.made.set()
        if flight.ended.wait(2 * STORING) and not flight.taken:
            self._lookup.put(binary, time.monotonic_ns() - self._begun)

    def abandon(self, seconds: float = 0) -> None:
        """Lets another build, and waits so long until it may. Abandoning what is finished does nothing."""
        flight, self._flight = self._flight, None
        self._drop(flight)
        if flight is not None and seconds > 0 and flight.process == os.getpid():
            flight.ended.wait(seconds)

    @staticmethod
    def _drop(flight: Optional[_Flight]) -> None:
        if flight is not None:
            flight.made.set()

    def __enter__(self) -> Build:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.abandon()

    def __del__(self) -> None:
        self.abandon()


def begin(lookup: Lookup) -> Union[bytes, Build]:
    """Returns the binary of a lookup, or a build that the caller is to finish."""
    flight: Optional[_Flight] = _Flight(lookup)
    assert flight is not None
    try:
        if not lookup.device.cache.available or not flight.start():
            return Build(lookup, None)
        if not flight.known.wait(PATIENCE):
            flight.made.set()
            return Build(lookup, None)
    except BaseException:  # a signal's handler raised it
        flight.made.set()
        raise
    return flight.found if flight.found is not None else Build(lookup, flight)


_flights: "set[_Flight]" = set()


def give_up() -> bool:
    """Abandons all builds, and ends their threads while there is an interpreter; reports whether all have ended."""
    flights = [f for f in list(_flights) if f.process == os.getpid()]
    for flight in flights:
        flight.made.set()
    until = time.monotonic() + STORING
    return all([flight.ended.wait(max(until - time.monotonic(), 0)) for flight in flights])


os.register_at_fork(after_in_child=_flights.clear)
