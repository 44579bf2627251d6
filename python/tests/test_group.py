"""The bytes of an entry, which hold a group."""

import json
import random
import struct

import pytest
from conftest import HERE, PACKAGE


def unpacking(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE / "standin"))
    monkeypatch.syspath_prepend(str(PACKAGE))
    import kernstash.triton

    return kernstash.triton


def test_bytes_of_an_entry(monkeypatch):
    t = unpacking(monkeypatch)
    files = {"a.json": b"{}", "b\u00b5\udcff": b"", "c.cubin": bytes(range(256))}
    packed = t._pack(files)
    assert packed[:26] == b"kernstash group 1\n" + struct.pack("<Q", len(packed) - 26 - 258)
    assert t._unpack(packed) == files
    for length in range(len(packed)):
        assert t._unpack(packed[:length]) is None
    assert t._unpack(packed + b"x") is None
    dice = random.Random(1)
    for _ in range(20000):
        data = bytearray(packed)
        for _ in range(dice.randrange(1, 4)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        got = t._unpack(bytes(data))
        assert got is None or sum(map(len, got.values())) < len(data)
    head = json.dumps([["a", True]]).encode()
    assert t._unpack(b"kernstash group 1\n" + struct.pack("<Q", len(head)) + head + b"x") is None


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "/etc/x", "a/b", "a\0b"])
def test_names_that_leave_the_directory(monkeypatch, name):
    t = unpacking(monkeypatch)
    assert not t._whole("a", {"a": b"", name: b""})
    assert t._whole("a", {"a": b""}) and not t._whole("b", {"a": b""}) and not t._whole("a", {"a": None})
