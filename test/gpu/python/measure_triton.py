"""Triton with the cache, beside Triton's own: python3 measure_triton.py KERNSTASH [PYTHON]

What each step must show is checked; the status is 1 where one does not. Times are medians, of
the part that compiles and of the whole process.
"""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
KERNSTASH = os.path.abspath(sys.argv[1])
PYTHON = sys.argv[2] if len(sys.argv) > 2 else sys.executable
ROUNDS = 3
SCRATCH = tempfile.mkdtemp(prefix="kernstash-triton-")
failed = []


def fresh():
    """An empty directory."""
    return pathlib.Path(tempfile.mkdtemp(dir=SCRATCH))


class Home:
    """A home in which nothing is cached: Triton's directory, Inductor's and the driver's are in it."""

    def __init__(self):
        self.path = fresh()
        (self.path / "tmp").mkdir()

    def env(self, cache):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("TRITON_", "TORCHINDUCTOR_", "KERNSTASH_", "XDG_"))}
        env.update(HOME=str(self.path), TMPDIR=str(self.path / "tmp"), KERNSTASH_DIR=str(cache), KERNSTASH_WORKER="off")
        return env


def start(script, home, cache=None):
    """Starts a script, under the cache if there is one."""
    report = home.path / "report.json"
    under = [KERNSTASH, "run", "-q", "--triton", "--report-file", str(report), "--"] if cache else []
    return subprocess.Popen([*under, PYTHON, str(HERE / script)], env=home.env(cache or "/nonexistent"), stdout=subprocess.PIPE, text=True)


def run(script, home, cache=None):
    """Runs a script: how long it compiled, how long it took, its digest, and what the report counts."""
    begun = time.perf_counter()
    process = start(script, home, cache)
    out, _ = process.communicate()
    whole = time.perf_counter() - begun
    if process.returncode != 0:
        sys.exit("%s: exit status %d" % (script, process.returncode))
    seconds, digest = out.split()[-2:]
    return float(seconds), whole, digest, report(home) if cache else {}


def report(home):
    return json.loads((home.path / "report.json").read_text())


def median(runs):
    return statistics.median(r[0] for r in runs), statistics.median(r[1] for r in runs)


def check(what, right):
    if not right:
        failed.append(what)
        print("FAILED: " + what)


def row(what, runs, note=""):
    print("| %s | %.2f s | %.2f s | %s |" % (what, *median(runs), note), flush=True)


def compiled(report):
    return report["programs"]["compiled"]


def alone(script):
    """One process after the other: cold, and warm with Triton's own caches wiped, beside Triton's own."""
    print("| %s | from the first to the last result | process | |\n|---|--:|--:|---|" % script)
    own = Home()
    cold = run(script, own)
    row("Triton's own cache, cold", [cold])
    warm = [run(script, own) for _ in range(ROUNDS)]
    row("Triton's own cache, warm", warm)
    cache = fresh()
    first = run(script, Home(), cache)
    row("with the cache, cold", [first], "%d compiled" % compiled(first[3]))
    homes = [Home() for _ in range(ROUNDS)]
    second = [run(script, home, cache) for home in homes]
    counts = {compiled(r[3]) for r in second}
    row("with the cache, in a fresh home", second, "%s compiled" % sorted(counts))
    check(script + ": a second start compiles nothing", counts == {0})
    check(script + ": results are equal", len({r[2] for r in [cold, first, *warm, *second]}) == 1)
    return median(warm)[0], median(second)[0]


def together(script, processes=8):
    """So many processes at once, each in a home of its own."""
    cache = fresh()
    homes = [Home() for _ in range(processes)]
    begun = time.perf_counter()
    started = [start(script, home, cache) for home in homes]
    digests = {p.communicate()[0].split()[-1] for p in started}
    took = time.perf_counter() - begun
    made = {}
    for home in homes:
        for request in report(home)["requests"]:
            if request["outcome"] == "compiled":
                made[request["key"]] = made.get(request["key"], 0) + request["times"]
    print("%d processes at once, %s: %.2f s; %d programs, of which %d were compiled more than once" %
          (processes, script, took, len(made), sum(n > 1 for n in made.values())))  # fmt: skip
    print("| %d processes at once, cold | | %.2f s | %d programs compiled, %d of them more than once |" %
          (processes, took, len(made), sum(n > 1 for n in made.values())), flush=True)  # fmt: skip
    check(script + ": each is compiled once", len(made) > 0 and all(n == 1 for n in made.values()))
    check(script + ": %d processes have equal results" % processes, len(digests) == 1)


def repaired(script):
    """Files of Triton's directory that are gone, cut or another's are replaced, and nothing is compiled."""
    cache, home = fresh(), Home()
    first = run(script, home, cache)
    files = sorted(p for p in (home.path / ".triton" / "cache").rglob("*") if p.suffix in (".cubin", ".json"))
    before = {p: p.read_bytes() for p in files}
    for i, path in enumerate(files):
        if i % 3 == 0:
            path.unlink()
        elif i % 3 == 1:
            path.write_bytes(before[path][: len(before[path]) // 2])
    second = run(script, home, cache)
    check("%s: %d files are repaired" % (script, len(files)), len(files) > 0 and before == {p: p.read_bytes() for p in files})
    check(script + ": repairing compiles nothing", compiled(second[3]) == 0 and first[2] == second[2])


def killed(script, seconds):
    """A process is killed while it compiles; another that waits for it goes on."""
    cache, begun = fresh(), time.perf_counter()
    first, second = start(script, Home(), cache), start(script, Home(), cache)
    time.sleep(seconds)
    first.kill()
    first.communicate()
    out, _ = second.communicate()
    took = time.perf_counter() - begun
    print("| beside a process that is killed after %.1f s | | %.2f s | |" % (seconds, took), flush=True)
    check(script + ": a process beside one that is killed ends well", second.returncode == 0 and took < 4 * seconds + 20)


try:
    warm, ours = alone("matmul.py")
    check("a second start takes %.2f of Triton's own warm one, 1.5 at most" % (ours / warm), ours <= 1.5 * warm)
    together("matmul.py")
    repaired("matmul.py")
    killed("matmul.py", 10)
    alone("layers.py")
finally:
    shutil.rmtree(SCRATCH, ignore_errors=True)
sys.exit(1 if failed else 0)
