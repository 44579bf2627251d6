"""Get-or-build, with the real library."""

import re
import threading
import time

import pytest
from conftest import PACKAGE

OPEN = """
import kernstash
cache = kernstash.Cache()
device = cache.device(api='test', name='device', driver='1', traits={'b': '2', 'a': '1'})
def get(*parts, device=device, program='gemm', source='x', seconds=0, **more):
    def build():
        note(repr(parts))
        time.sleep(seconds)
        return b'binary of %r' % (parts,)
    return kernstash.get_or_build(device, program, *parts, build=build, sources=[source], **more)
"""


def test_second_process_builds_nothing(box):
    for _ in range(2):
        out = box.run(OPEN + "print(get(1, 'two', 3.0, b'4\\0'))")
        assert out == "b\"binary of (1, 'two', 3.0, b'4\\\\x00')\"\n"
    assert box.compiled() == 1
    assert box.run(OPEN + "get(1); print(cache.available, repr(cache.why), cache.counter('build.count'))") == "True '' 1\n"


def test_every_part_of_the_key_counts(box):
    other = "cache.device(api='test', name='device', driver='1', traits={'b': '2', 'a': '3'})"
    calls = [
        "get()", "get(1)", "get(1.0)", "get('1')", "get(b'1')", "get(0.0)", "get(-0.0)", "get(1, 2)", "get(2, 1)",
        "get('ab')", "get('a', 'b')", "get('', 'ab')", "get(program='g')", "get(source='y')", "get(source='x\\0')",
        "get(options='-O3')", "get(library=('l', '1'))", "get(library=('l', '2'))", "get(device=%s)" % other,
    ]  # fmt: skip
    box.run(OPEN + "\n".join(calls))
    assert box.compiled() == len(calls)
    box.run(OPEN + "\n".join(calls))
    assert box.compiled() == len(calls)
    box.run(OPEN + "get(True), get(source=b'x')")  # True is 1, a text its bytes
    assert box.compiled() == len(calls)


@pytest.mark.parametrize(
    "call, raised",
    [
        ("get(None)", "TypeError: part: None is no int, float, str or bytes"),
        ("get(1 << 63)", "ValueError: part: 9223372036854775808 takes more than 64 bits"),
        ("get('a\\0b')", "ValueError: part: 'a\\x00b' holds NUL"),
        ("get(source='')", "ValueError: source: empty"),
        ("get(program='')", "ValueError: program: empty"),
        ("get(library=('l', ''))", "ValueError: version: empty"),
        ("cache.device(api='a', name='n', driver='')", "ValueError: driver: empty"),
        ("kernstash.get_or_build(device, 'p', build=bytes)", "ValueError: a program needs a library's version, or a source"),
        ("device.lookup('p').source('x').get_or_build(lambda: 'text')", "TypeError: a build returns bytes, and at least one"),
        ("device.lookup('p').source('x').get_or_build(bytes)", "TypeError: a build returns bytes, and at least one"),
        ("get(b'', library=('l', 3))", "TypeError: version: 3 is no str"),
    ],
)
def test_nonsense_is_said(box, call, raised):
    assert box.run(OPEN + "try: %s\nexcept Exception as e: print('%%s: %%s' %% (type(e).__name__, e))" % call) == raised + "\n"


def test_what_build_raises_is_raised_and_tried_again(box):
    box.run(
        OPEN + "def fail(): raise KeyError('mine')\n"
        "lookup = device.lookup('p').source('x')\n"
        "for _ in range(2):\n"
        "    try: lookup.get_or_build(fail)\n"
        "    except KeyError as e: kept = e\n"
        "    else: raise AssertionError\n"
        "begun = time.monotonic()\n"
        "assert lookup.get_or_build(lambda: b'made') == b'made' == lookup.found()\n"
        "assert time.monotonic() - begun < 5"
    )


def test_builds_nest(box):
    box.run(
        OPEN + "inner = device.lookup('inner').source('x')\n"
        "outer = device.lookup('outer').source('x')\n"
        "assert outer.get_or_build(lambda: b'outer of ' + inner.get_or_build(lambda: b'inner')) == b'outer of inner'\n"
        "self = device.lookup('self').source('x')\n"
        "begun = time.monotonic()\n"
        "assert self.get_or_build(lambda: b'1' + self.get_or_build(lambda: b'2')) == b'12' == self.found()\n"
        "assert time.monotonic() - begun < 5"
    )


def test_build_runs_on_its_callers_thread(box):
    box.run(
        OPEN + "import threading\n"
        "seen = []\n"
        "device.lookup('p').source('x').get_or_build(lambda: seen.append(threading.get_ident()) or b'x')\n"
        "assert seen == [threading.get_ident()]"
    )


def test_eight_processes_build_once(box):
    processes = [box.start(OPEN + "print(get(1, seconds=0.5))") for _ in range(8)]
    outs = {p.communicate(timeout=120)[0] for p in processes}
    assert outs == {"b'binary of (1,)'\n"} and box.compiled() == 1


def test_threads_build_once_and_others_try_what_failed(box):
    box.run(
        OPEN + "import threading\n"
        "results, failed = [], []\n"
        "def build():\n"
        "    note('build'); time.sleep(0.2)\n"
        "    if not failed: failed.append(1); raise ValueError\n"
        "    return b'x'\n"
        "def f():\n"
        "    try: results.append(device.lookup('p').source('x').get_or_build(build))\n"
        "    except ValueError: results.append(None)\n"
        "threads = [threading.Thread(target=f) for _ in range(8)]\n"
        "[t.start() for t in threads], [t.join() for t in threads]\n"
        "assert results.count(None) == 1 and results.count(b'x') == 7, results"
    )
    assert box.compiled() == 2


def test_a_build_is_finished_abandoned_or_forgotten(box):
    box.run(
        OPEN + "lookup = device.lookup('p').source('x')\n"
        "for end in ('abandon', 'leave', 'forget'):\n"
        "    b = lookup.begin()\n"
        "    assert isinstance(b, kernstash.Build) and lookup.found() is None\n"
        "    if end == 'abandon': b.abandon(1); b.finish(b'too late')\n"
        "    if end == 'leave':\n"
        "        with b: pass\n"
        "    del b\n"
        "with lookup.begin() as b: b.finish(b'x')\n"
        "assert lookup.begin() == b'x'\n"
        "lookup.refused()\n"
        "assert lookup.found() is None and lookup.put(b'y') and lookup.found() == b'y'"
    )


def test_private_directory(box, tmp_path):
    code = OPEN.replace("Cache()", "Cache(%r)" % str(tmp_path / "mine")) + "get(1)"
    for _ in range(2):
        box.run(code)
        assert box.compiled() == 1
    assert list((tmp_path / "mine").rglob("*.bin")) and not list(box.cache.rglob("*.bin"))


@pytest.mark.parametrize(
    "env", [{"KERNSTASH_LIBDIR": "/nonexistent"}, {"KERNSTASH_DISABLE": "1"}, {"KERNSTASH_DIR": "/proc/x"}]
)
def test_without_a_cache_it_builds(box, env):
    for n in (1, 2):
        assert box.run(OPEN + "print(get(1)); print(get(2))", **env) == "b'binary of (1,)'\nb'binary of (2,)'\n"
        assert box.compiled() == 2 * n
    out = box.run(OPEN + "print(cache.available, cache.why, cache.counter('build.count'))", KERNSTASH_LIBDIR="/nonexistent")
    assert out == "False there is no libkernstash.so.1 0\n"


def test_closed_cache_builds(box):
    box.run(
        OPEN + "with cache: get(1)\n"
        "assert get(1) == b'binary of (1,)' and not cache.available and cache.why == 'the cache is closed'\n"
        "cache.close(); assert cache.flush()\n"
        "assert kernstash.Cache().device(api='a', name='n', driver='d').lookup('p').source('x').found() is None"
    )
    assert box.compiled() == 2


def test_closed_while_another_thread_asks(box):
    box.run(
        OPEN + "import threading\n"
        "from kernstash import _library\n"
        "get(1)\n"
        "library, order = _library.get(), []\n"
        "opens, closes = library.kernstash_lookup_open, library.kernstash_device_close\n"
        "def late(*arguments):\n"
        "    t = threading.Thread(target=cache.close); t.start(); t.join(0.3)\n"
        "    status = opens(*arguments); order.append('opened')\n"
        "    return status\n"
        "library.kernstash_lookup_open = late\n"
        "library.kernstash_device_close = lambda device: (order.append('closed'), closes(device))\n"
        "device.lookup('p').source('x').found()\n"
        "[t.join() for t in threading.enumerate() if t is not threading.current_thread()]\n"
        "assert order == ['opened', 'closed'], order\n"  # not what is freed is opened
        "assert get(1) == b'binary of (1,)'"
    )


def test_forked_child(box):
    box.run(
        OPEN + "get(1)\n"
        "if os.fork() == 0:\n"
        "    assert get(1) and get(2) and cache.why == 'forked after the cache was opened'\n"
        "    later = kernstash.Cache().device(api='test', name='device', driver='1')\n"
        "    assert get(3, device=later) and get(3, device=later)\n"
        "    os._exit(0)\n"
        "assert os.wait()[1] == 0\n"
        "assert get(1) and cache.available"
    )
    assert box.log.read_text().splitlines() == ["(1,)", "(1,)", "(2,)", "(3,)", "(3,)"]


def test_version_is_the_librarys(box):
    header = (PACKAGE.parent / "capi" / "kernstash.h").read_text()
    version = re.search(r'KERNSTASH_VERSION_TEXT "(.*)"', header).group(1)
    code = "import kernstash, kernstash._library as l; print(kernstash.__version__, l.get().kernstash_version().decode())"
    assert box.run(code) == "%s %s\n" % (version, version)
