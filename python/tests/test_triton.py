"""The cache manager, with a stand-in for Triton and the real library."""

import os
import signal
import time

import pytest

COMPILE = "print(sorted(compile('a').items()))"
MODULE = "print(module('a'))"
PLAIN = {"TRITON_CACHE_MANAGER": None}


def entries(box):
    return sorted(box.cache.rglob("*.bin"))


def until(what, seconds=30):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.02)


# One entry, and what lies in Triton's directory.


@pytest.mark.parametrize("code", [COMPILE, MODULE])
def test_second_process_compiles_nothing(box, code):
    plain = box.run(code, TRITON_CACHE_MANAGER=None, TRITON_CACHE_DIR=str(box.root / "plain"))
    box.log.unlink()
    assert box.run(code) == plain
    files = box.files()
    box.wipe()
    assert box.run(code) == plain
    assert box.compiled() == 1
    assert box.files() == files  # byte by byte, the group's own file included
    assert len(entries(box)) == 1
    # What Triton's own manager, and Inductor's bundler, find there.
    assert box.run(code, **PLAIN) == plain
    assert box.compiled() == 1
    assert all(p.is_file() for d in box.triton.iterdir() for p in d.iterdir())


@pytest.mark.parametrize("name", ["<lambda>", "µ kernel's\n\"name\"", "-n", "x" * 150, ".hidden", "a%sb\\"])
def test_odd_names(box, name):
    code = "print(sorted(compile('a', name=%r).items()))" % name
    first = box.run(code)
    box.wipe()
    assert box.run(code) == first
    assert box.compiled() == 1


@pytest.mark.parametrize("harm", ["missing", "empty", "other", "group", "all"])
def test_files_are_repaired(box, harm):
    first = box.run(COMPILE)
    files = box.files()
    for path in box.triton.rglob("*"):
        if path.name == "kernel.cubin" and harm in ("missing", "all"):
            path.unlink()
        elif path.name == "kernel.cubin" and harm == "empty":
            path.write_bytes(b"")
        elif path.name == "kernel.json" and harm == "other":  # another writer's
            path.write_bytes(path.read_bytes().replace(b"kernel", b"KERNEL"))
        elif path.name == "__grp__kernel.json" and harm in ("group", "all"):
            path.write_bytes(b"")
    assert box.run(COMPILE) == first
    assert box.files() == files
    assert box.compiled() == 1


def test_damaged_entry_is_compiled_again(box):
    first = box.run(COMPILE)
    (entry,) = entries(box)
    data = bytearray(entry.read_bytes())
    data[-20] ^= 1
    entry.chmod(0o644)
    entry.write_bytes(data)
    for compiled in (2, 2):
        box.wipe()
        assert box.run(COMPILE) == first
        assert box.compiled() == compiled


def test_entry_of_another_kind_is_replaced(box):
    """An entry that is whole, and no group, goes."""
    box.run(
        "import kernstash.triton as t\n"
        "m = t.CacheManager('K')\n"
        "assert m._lookup('kernel.json').put(b'no group')\n"
        "assert m.get_group('kernel.json') is None\n"
        "names = ['kernel.json', 'kernel.ptx']\n"
        "group = {n: m.put('{}' if n == names[0] else b'ptx', n) for n in names}\n"
        "m.put_group('kernel.json', group)\n"
        "assert list(t._unpack(m._lookup('kernel.json').found())) == names"
    )


def test_group_of_triton_alone_is_taken(box):
    """What Triton has already it need not compile; what is torn there is not adopted, and compiled again."""
    first = box.run(COMPILE, **PLAIN)
    assert box.run(COMPILE) == first
    assert (box.compiled(), entries(box)) == (1, [])
    for path in box.triton.rglob("*.cubin"):
        path.unlink()
    assert box.run(COMPILE) == first
    assert (box.compiled(), len(entries(box))) == (2, 1)


# What the key is made of.


def test_what_else_is_in_the_key(box, tmp_path):
    ptxas = tmp_path / "ptxas"
    ptxas.write_bytes(b"one")
    moved = tmp_path / "moved"
    moved.write_bytes(b"one")
    for env, compiled in [
        ({}, 1),
        ({"TRITON_CACHE_DIR": str(tmp_path / "other"), "HOME": str(tmp_path)}, 1),
        ({"DISABLE_PTXAS_OPT": "1"}, 2),
        ({"DISABLE_PTXAS_OPT": "1"}, 2),
        ({"TRITON_PTXAS_PATH": str(ptxas)}, 3),
        ({"TRITON_PTXAS_PATH": str(moved)}, 3),
        ({}, 3),
    ]:
        box.run(COMPILE, **env)
        box.wipe()
        assert box.compiled() == compiled, env
    ptxas.write_bytes(b"two")  # of the same version, says Triton's key
    box.run(COMPILE, TRITON_PTXAS_PATH=str(ptxas))
    assert box.compiled() == 4
    box.wipe()
    box.run("import triton; triton.__version__ = '3.7'\n" + COMPILE)
    assert box.compiled() == 5
    own = tmp_path / "package" / "backends" / "nvidia" / "bin" / "ptxas"
    own.parent.mkdir(parents=True)
    code = "import triton; triton.__file__ = %r\n" % str(tmp_path / "package" / "__init__.py")
    for contents, compiled in ((b"one", 6), (b"other", 7), (b"one", 7)):
        box.wipe()
        own.write_bytes(contents)
        box.run(code + COMPILE)
        assert box.compiled() == compiled


def test_module_is_of_its_compiler(box, tmp_path):
    cc = tmp_path / "cc"
    cc.write_text("#!/bin/sh\n")
    cc.chmod(0o755)
    for env, compiled in [({}, 1), ({"CC": str(cc)}, 2), ({"CPATH": "/x"}, 3), ({}, 3), ({"CC": str(cc)}, 3)]:
        box.run(MODULE, **env)
        box.wipe()
        assert box.compiled() == compiled, env
    os.utime(cc, (1, 1))
    box.run(MODULE, CC=str(cc))
    assert box.compiled() == 4


def test_module_that_does_not_load_is_replaced(box):
    box.run("import kernstash.triton as t, sysconfig, hashlib\n"
            "from triton.runtime.cache import _base32\n"
            "m = t.CacheManager(_base32(hashlib.sha256(b'a').hexdigest()))\n"
            "assert m._module('__triton_launcher' + sysconfig.get_config_var('EXT_SUFFIX')).put(b'broken')")  # fmt: skip
    loads = "print(module('a', loads=lambda data: data != b'broken'))"
    first = box.run(loads)
    box.wipe()
    assert box.run(MODULE) == first
    assert box.compiled() == 1


@pytest.mark.parametrize(
    "name",
    ["TRITON_ALWAYS_COMPILE", "TRITON_KERNEL_OVERRIDE", "TRITON_KERNEL_DUMP", "MLIR_ENABLE_DUMP", "USE_IR_LOC"],
)
def test_what_the_user_waits_for_is_compiled(box, name):
    box.run(COMPILE)
    files = entries(box)
    box.wipe()
    box.run(COMPILE, **{name: "1"})
    assert (box.compiled(), entries(box)) == (2, files)
    box.wipe()
    box.run(COMPILE, **{name: "0"})


def test_override_is_not_stored(box):
    for compiled in (1, 2):
        box.run("compile('a', metadata={'ir_override': 'mine.ttgir'})")
        box.wipe()
        assert (box.compiled(), entries(box)) == (compiled, [])


def test_change_of_a_variable_meanwhile_is_not_stored(box):
    box.run("compile('a', during=lambda: os.environ.update(DISABLE_PTXAS_OPT='1'))")
    assert entries(box) == []


def test_what_is_neither_group_nor_module_is_left_to_triton(box):
    box.run(
        "from triton.runtime import cache\n"
        "m = cache.get_cache_manager('00')\n"
        "assert m.get_file('f.autotune.json') is None\n"
        "assert m.get_file(os.path.basename(m.put('{}', 'f.autotune.json')))\n"
        "d = cache.get_dump_manager('00')\n"
        "assert not d._ours and d.get_group('k.json') is None and '/dump/' in d.put(b'x', 'k.so')\n"
        "o = cache.get_override_manager('00')\n"
        "assert not o._ours and o.get_file('k.ttir') is None"
    )
    assert entries(box) == []


# One of those that want the same compiles.


@pytest.mark.parametrize("code", ["compile('a', during=lambda: time.sleep(0.5))", MODULE])
def test_eight_processes_compile_once(box, code):
    processes = [box.start(code) for _ in range(8)]
    for p in processes:
        out, _ = p.communicate(timeout=120)
        assert p.returncode == 0, out
    assert box.compiled() == 1


def test_threads_compile_once(box):
    box.run(
        "import threading\n"
        "def f(i):\n"
        "    for name in 'abcd': results[i][name] = compile(name, during=lambda: time.sleep(0.1))\n"
        "results = [{} for _ in range(8)]\n"
        "threads = [threading.Thread(target=f, args=(i,)) for i in range(8)]\n"
        "[t.start() for t in threads], [t.join() for t in threads]\n"
        "assert all(r == results[0] and len(r) == 4 for r in results)"
    )
    assert box.compiled() == 4


def test_killed_builder_holds_nobody_up(box):
    first = box.start("compile('a', during=lambda: time.sleep(600))")
    until(lambda: box.compiled() == 1)
    second = box.start(COMPILE)
    with pytest.raises(Exception):
        second.communicate(timeout=1.5)  # it waits
    assert box.compiled() == 1
    first.kill()
    first.communicate()
    begun = time.monotonic()
    out, _ = second.communicate(timeout=60)
    assert second.returncode == 0 and box.compiled() == 2, out
    assert time.monotonic() - begun < 10
    box.wipe()
    assert box.run(COMPILE) == out
    assert box.compiled() == 2


GIVES_UP = {
    "exception": "def stop(): raise ValueError\ntry: compile('a', during=stop)\nexcept ValueError as e: kept = e\n",
    "put": "from triton.runtime.cache import FileCacheManager as M\nput = M.put\n"
    "def stop(self, data, filename, binary=True):\n"
    "    if filename.endswith('.ptx'): raise OSError('disk full')\n"
    "    return put(self, data, filename, binary)\n"
    "M.put = stop\ntry: compile('a')\nexcept OSError as e: kept = None\n"
    "M.put = put\n",
    "dropped": "import gc\nfrom triton.runtime import cache\nm = cache.get_cache_manager('00')\n"
    "assert m.get_group('x.json') is None\ndel m\nnote('dropped')\n",
}


@pytest.mark.parametrize("how", GIVES_UP)
def test_who_gives_up_holds_nobody_up(box, how):
    """Neither this thread, which tries again, nor the others, even while the exception is kept."""
    box.run(
        GIVES_UP[how] + "begun = time.monotonic()\n"
        "compile('a')\n"
        "compile('b')\n"
        "import threading\n"
        "t = threading.Thread(target=compile, args=('c',)); t.start(); t.join()\n"
        "assert time.monotonic() - begun < 10, time.monotonic() - begun"
    )
    assert box.compiled() == 4
    box.wipe()
    box.run("compile('a')")
    assert box.compiled() == 4  # what was tried again is kept


def test_end_of_a_process_that_never_puts(box):
    begun = time.monotonic()
    box.run(
        "from triton.runtime import cache\nimport hashlib\n"
        "m = cache.get_cache_manager(hashlib.sha256(b'a').hexdigest())\n"
        "assert m.get_group('kernel.json') is None"
    )
    box.run(COMPILE)
    assert time.monotonic() - begun < 10 and box.compiled() == 1


def test_builder_that_hangs_is_not_waited_for_longer_than_the_bound(box):
    short = "import kernstash._build as b; b.HOLD = 1\n"
    first = box.start(short + "compile('a', during=lambda: time.sleep(4)); print(b._flights)")
    until(lambda: box.compiled() == 1)
    begun = time.monotonic()
    box.run(COMPILE)
    assert time.monotonic() - begun < 3.5 and box.compiled() == 2
    out, _ = first.communicate(timeout=60)
    assert first.returncode == 0 and out == "set()\n", out


def test_interrupt_of_who_waits(box):
    first = box.start("compile('a', during=lambda: time.sleep(600))")
    until(lambda: box.compiled() == 1)
    second = box.start("note('here')\ncompile('a')")
    until(lambda: box.compiled() == 2)
    time.sleep(1)
    second.send_signal(signal.SIGINT)
    out, _ = second.communicate(timeout=7)
    assert second.returncode == -signal.SIGINT and out.rstrip().endswith("KeyboardInterrupt"), out
    first.kill()
    first.communicate()


def test_kernel_of_a_process_that_leaves_at_once_is_kept(box):
    box.run("compile('a'); os._exit(0)")
    box.wipe()
    box.run(COMPILE)
    assert box.compiled() == 1


# Processes that fork.


def test_child_that_is_forked_before_the_first_kernel_is_warm(box):
    """As a pool of Inductor's compile workers is: its parent imports, has threads, and compiles nothing."""
    box.run(COMPILE)
    box.wipe()
    code = (
        "import threading, multiprocessing as m, kernstash.triton\n"
        "threading.Thread(target=time.sleep, args=(5,), daemon=True).start()\n"
        "with m.get_context('fork').Pool(4) as pool: print(len({str(r) for r in pool.map(compile, 'aaaaaaaa')}))\n"
    )
    assert box.run(code) == "1\n"
    assert box.compiled() == 1
    box.wipe()
    assert box.run(code.replace("'aaaaaaaa'", "'bbbbbbbb'")) == "1\n"
    assert box.compiled() == 2  # four workers, once


def test_child_that_is_forked_later_does_as_plain_triton(box):
    box.run(
        "import multiprocessing as m\n"
        "import kernstash.triton\n"
        "first = compile('a')\n"
        "with m.get_context('fork').Pool(2) as pool:\n"
        "    assert pool.map(compile, 'abab')[0] == first\n"
        "assert compile('c') and not kernstash.triton._cache._why\n"
    )
    assert set(box.log.read_text().split()) == {"a", "b", "c"}
    assert box.log.read_text().split().count("a") == 1  # Triton has it
    assert len(entries(box)) == 2  # the child stores nothing


def test_fork_within_a_build(box):
    """The child has a manager whose build is its parent's."""
    box.run(
        "def during():\n"
        "    pid = os.fork()\n"
        "    if pid == 0: return\n"
        "    assert os.waitpid(pid, 0)[1] == 0\n"
        "parent = os.getpid()\n"
        "first = compile('a', during=during)\n"
        "if os.getpid() != parent:\n"
        "    assert compile('b'); os._exit(0)\n"
        "assert compile('b')\n"
    )
    box.wipe()
    box.run("compile('a')")
    assert box.compiled() == 2


def test_spawned_children_are_warm(box):
    (box.root / "work.py").write_text(
        "import multiprocessing as m\n"
        "from triton.compiler import compile\n"
        "if __name__ == '__main__':\n"
        "    compile('b')\n"
        "    with m.get_context('spawn').Pool(2) as pool: pool.map(compile, 'aabb')\n"
    )
    box.run("import runpy; runpy.run_path('work.py', run_name='__main__')")
    box.wipe()
    box.run("compile('a'); compile('b')")
    assert box.compiled() == 2


# What is wrong leaves what Triton does.


def wrong(box):
    empty = box.root / "empty"
    empty.mkdir(exist_ok=True)
    (box.root / "file").write_text("")
    return {
        "no library": {"KERNSTASH_LIBDIR": str(empty)},
        "off": {"KERNSTASH_DISABLE": "1"},
        "no directory": {"KERNSTASH_DIR": str(box.root / "file" / "cache")},
        "setting": {"KERNSTASH_MODE": "sometimes"},
        "read-only": {"KERNSTASH_MODE": "read-only"},
    }


@pytest.mark.parametrize("what", ["no library", "off", "no directory", "setting", "read-only"])
def test_whatever_is_wrong_is_as_plain_triton(box, what):
    env = wrong(box)[what]
    plain = {"TRITON_CACHE_MANAGER": None, "TRITON_CACHE_DIR": str(box.root / "plain")}
    for code in (COMPILE, MODULE):
        assert box.run(code, **env) == box.run(code, **plain)
        assert box.run(code, **env) == box.run(code, **plain)
    assert box.compiled() == 4
    other = {k.replace(str(box.root / "plain"), ""): v for k, v in box.files().items()}
    box.triton = box.root / "plain"
    assert {k: v.replace(b"/plain/", b"/triton/") for k, v in box.files().items()} == other


def test_library_of_another_kind(box):
    (box.root / "libkernstash.so.1").write_text("no library")
    box.run(COMPILE, KERNSTASH_LIBDIR=str(box.root))
    assert box.compiled() == 1 and entries(box) == []


def test_defect_of_ours_is_as_plain_triton(box):
    box.run(
        "import kernstash.triton as t\n"
        "def fail(*a): raise KeyError('ours')\n"
        "own = ('_get_group', '_put_group', '_begin', '_module', '_lookup', '_unpacked', '_taken')\n"
        "all = ('_wanted', '_variables', '_unpack', '_pack', '_host', '_device', '_as_written', '_give_up', '_tools')\n"
        "for i, (at, name) in enumerate([(t.CacheManager, n) for n in own] + [(t, n) for n in all]):\n"
        "    was = getattr(at, name)\n"
        "    setattr(at, name, fail)\n"
        "    for again in range(2):\n"
        "        files = compile('a%d' % i)\n"
        "        assert len(files) == 7 and files['kernel.cubin'] == b'\\x7fELF\\0\\r\\na%d' % i\n"
        "        assert module('m%d' % i) == b'\\x7fELF of m%d' % i\n"
        "    setattr(at, name, was)\n"
    )
    assert box.compiled() == 2 * 16


@pytest.mark.parametrize("code", [COMPILE, MODULE])
def test_directory_that_cannot_be_made(box, code):
    outs = []
    for manager in (None, box.env["TRITON_CACHE_MANAGER"]):
        p = box.start(code, TRITON_CACHE_DIR=str(box.log) + "/x", TEST_LOG=str(box.log), TRITON_CACHE_MANAGER=manager)
        box.log.write_text("")
        out, _ = p.communicate(timeout=60)
        assert p.returncode == 1
        outs.append(out.rstrip().splitlines()[-1])
    assert outs[0] == outs[1] and outs[0].startswith("NotADirectoryError")


def test_directory_that_cannot_be_written(box):
    """A hit that cannot be laid there is Triton's failure, as it would have been."""
    box.run(COMPILE)
    box.wipe()
    full = (
        "from triton.runtime.cache import FileCacheManager as M\n"
        "def put(self, data, filename, binary=True): raise OSError(28, 'No space left on device')\n"
        "M.put = put\n"
    )
    outs = []
    for manager in (None, box.env["TRITON_CACHE_MANAGER"]):
        p = box.start(full + COMPILE, TRITON_CACHE_MANAGER=manager)
        out, _ = p.communicate(timeout=60)
        outs.append((p.returncode, out.rstrip().splitlines()[-1]))
    assert outs[0] == outs[1] == (1, "OSError: [Errno 28] No space left on device")
