"""Takes the caches of Triton, Inductor, CuPy and JAX along in a bundle: harvest.py KERNSTASH PYTHON SCRIPTS

Each tool fills its cache in one home, with its defaults; JAX's, which has none by default, is the one that
`kernstash run` switches on. A bundle of all four is signed, and in another home, in which its key is trusted, each
tool runs under `kernstash run --bundle`. What is checked: results are equal, the tool adds no file to its own cache, writes
none anew and counts the hits and misses of a warm start in the first home, the cache is asked to compile nothing but CuPy's empty program,
and the report says which cache was used and which were inert. Without a trusted signature none is restored.
Times are medians of STARTS, in turns; JAX's warm start in the first home is under `kernstash run`, the others' is not.

What is set: HOME and TMPDIR, new for each of the two homes. SCRIPTS is the directory of the four programs.
"""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

# Each tool's program, and what tells how often its cache was asked in vain: Python that runs around it.
PROGRAMS = {"triton": "matmul.py", "inductor": "layers.py", "cupy": "cupy_kernels.py", "jax": "four.py"}

STARTS = 3


def child(tool, script):
    """Runs a program in this process, and prints the tool's own counts of hits and misses in the end."""
    import runpy

    counts = {}
    if tool == "jax":
        import jax

        def count(event, **_):
            if event in ("/jax/compilation_cache/cache_hits", "/jax/compilation_cache/cache_misses"):
                name = "hits" if event.endswith("hits") else "misses"
                counts[name] = counts.get(name, 0) + 1

        jax.monitoring.register_event_listener(count)
    sys.argv = [script]
    runpy.run_path(script, run_name="__main__")
    if tool == "inductor":
        from torch._dynamo.utils import counters

        told = {**counters["inductor"], **counters["aot_autograd"]}
        for name, end in (("hits", "_hit"), ("misses", "_miss"), ("passed", "_bypass")):
            counts[name] = sum(told.get(cache + end, 0) for cache in ("fxgraph_cache", "autograd_cache"))
        counts["all"] = {key: value for key, value in told.items() if "cache" in key or "bundler" in key}
    print("counts " + json.dumps(counts))


class Home:
    """A home in which nothing is cached but what was put there; temporary files are in it."""

    def __init__(self, scratch, name):
        self.path = pathlib.Path(scratch, name)
        (self.path / "tmp").mkdir(parents=True)

    def run(self, *command):
        mine = ("KERNSTASH_", "XDG_", "TRITON_", "TORCHINDUCTOR_", "CUPY_", "JAX_", "CUDA_CACHE_")
        env = {k: v for k, v in os.environ.items() if not k.startswith(mine)}
        env.update(HOME=str(self.path), TMPDIR=str(self.path / "tmp"), KERNSTASH_WORKER="off")
        done = subprocess.run([str(c) for c in command], env=env, cwd=self.path, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit("%s: exit status %d\n%s\n%s" % (" ".join(map(str, command)), done.returncode, done.stdout[-2000:], done.stderr[-3000:]))
        return done


def outcome(tool, out):
    """Returns how long a program computed, in seconds, what came out, and the tool's counts."""
    lines = out.splitlines()
    counts = json.loads(next(line for line in lines if line.startswith("counts "))[7:])
    lines = [line for line in lines if line and not line.startswith("counts ")]
    if tool == "jax":
        told = json.loads(lines[-1])
        return told["seconds"], told["values"], counts
    if tool == "cupy":
        return float(lines[-1].split(" after ")[1].split()[0]) / 1000, lines[-1].split(";")[0], counts
    seconds, digest = lines[-1].split()
    return float(seconds), digest, counts


def main(kernstash, python, scripts):
    scratch = tempfile.mkdtemp(prefix="kernstash-harvest-")
    failed = []

    def check(what, right):
        if not right:
            failed.append(what)
            print("FAILED: " + what, flush=True)

    def program(tool):
        return [python, pathlib.Path(__file__).resolve(), "--child", tool, pathlib.Path(scripts, PROGRAMS[tool])]

    try:
        first, second, stranger = (Home(scratch, name) for name in ("first", "second", "stranger"))

        def alone(tool):
            under = [kernstash, "run", "-q", "--"] if tool == "jax" else []
            return outcome(tool, first.run(*under, *program(tool)).stdout)

        cold = {tool: alone(tool) for tool in PROGRAMS}
        own = {tool: alone(tool) for tool in PROGRAMS}
        first.run(kernstash, "keygen", "release")
        made = first.run(kernstash, "bundle", "create", "--sign", "release.pem", "--harvest", "triton,inductor,cupy,jax", "kernels.kst")
        print("# " + (made.stdout + made.stderr).replace(str(first.path), "HOME").replace("\n", "\n# "), flush=True)
        bundle, key = first.path / "kernels.kst", first.path / "release.pub.pem"

        second.run(kernstash, "trust", "add", key)
        second.run(kernstash, "bundle", "restore", bundle)
        (restored,) = second.path.glob(".cache/kernstash-restored/*/harvest")
        check("inductor: its own cache hits", own["inductor"][2]["hits"] > 0)
        check("jax: its own cache hits", own["jax"][2].get("hits", 0) > 0)
        print("| first computation, s | no cache | its own, warm | restored | files read | added, written anew | hits, misses |\n|---|--:|--:|--:|--:|--:|--:|")
        for tool in PROGRAMS:
            before = files(restored / tool)
            warm, times = [], []
            for _ in range(STARTS):
                warm.append(alone(tool)[0])
                done = second.run(kernstash, "run", "--report-file", second.path / "report.json", "--bundle", bundle, "--", *program(tool))
                seconds, result, counts = outcome(tool, done.stdout)
                times.append(seconds)
            report = json.loads((second.path / "report.json").read_text())
            caches = {c["name"]: c for c in report["restored"].get("caches", [])}
            used = caches.get(tool, {"files": 0, "read": 0, "new": -1})
            after = files(restored / tool)
            anew = [path for path in before if after.get(path) != before[path]]
            print("# %s, seconds: its own, warm %s, restored %s" % (tool, warm, times))
            print("| %s | %.2f | %.2f | %.2f | %s of %d | %d, %d | %d, %d |" % (
                tool, cold[tool][0], statistics.median(warm), statistics.median(times), used["read"], used["files"], used["new"], len(anew),
                counts.get("hits", 0), counts.get("misses", 0)), flush=True)  # fmt: skip
            for what, told in ("cold", cold), ("its own, warm", own), ("restored", {tool: (0, 0, counts)}):
                if told[tool][2]:
                    print("# %s, %s: %s" % (tool, what, told[tool][2]))
            for line in done.stderr.splitlines():
                if "of the bundle" in line or "kernstash:" in line:
                    print("# %s: %s" % (tool, line))
            check(tool + ": results are equal", cold[tool][1] == own[tool][1] == result)
            check(tool + ": its cache is read", (used["read"] or 0) > 0)
            check("%s: nothing is added to its cache: %s" % (tool, sorted(after.keys() - before.keys())[:9]), used["new"] == 0)
            check("%s: nothing is written anew: %s" % (tool, anew[:9]), not anew)
            mine = own[tool][2]
            check("%s: it counts %s, in its own warm start %s" % (tool, counts, mine), all(counts.get(k, 0) == mine.get(k, 0) for k in ("hits", "misses", "passed")))
            # CuPy has an empty program compiled in each process, to know the compiler.
            labels = [r.get("label") for r in report["requests"] if r["outcome"] == "compiled"]
            check("%s: kernstash compiled %s" % (tool, labels), labels == [] or tool == "cupy" and set(labels) == {"1 byte"})
            check(tool + ": the report names all", sorted(caches) == sorted(PROGRAMS))
            for other, cache in caches.items():
                if other != tool and {other, tool} != {"triton", "inductor"}:
                    check("%s: the report says that %s is inert" % (tool, other), cache["read"] == 0)

        # Nobody trusts that key here.
        told = stranger.run(kernstash, "run", "--bundle", bundle, "--", "env")
        print("# without trust: " + told.stderr.replace(str(first.path), "HOME").strip().replace("\n", "\n# "))
        check("nothing is restored without trust", "TORCHINDUCTOR_CACHE_DIR" not in told.stdout and "CUPY_CACHE_DIR" not in told.stdout)
        check("no file is restored without trust", not list(stranger.path.rglob("harvest")))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    sys.exit(1 if failed else 0)


def files(root):
    """Returns the files below a directory, with what changes where one is written anew."""
    found = {}
    for path in sorted(root.rglob("*")):
        if path.is_file():
            info = path.stat()
            found[str(path.relative_to(root))] = (info.st_ino, info.st_mtime_ns, info.st_size)
    return found


if __name__ == "__main__":
    child(*sys.argv[2:]) if sys.argv[1] == "--child" else main(*sys.argv[1:])
