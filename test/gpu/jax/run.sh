#!/usr/bin/env bash
# Starts four.py with JAX's defaults: alone, under `kernstash run`, which switches JAX's own cache on, and under
# `kernstash run --no-frameworks`, three times each. HOME is new for each start, so nothing else is warm. It fails where
# the second start computes for longer than LIMIT seconds, results differ, or JAX warns.
#
#	run.sh KERNSTASH PYTHON FOUR.PY [LIMIT]
set -uo pipefail
kernstash=$1 python=$2 four=$3 limit=${4:-0.3}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for name in $(compgen -v KERNSTASH_) $(compgen -v JAX_); do unset "$name"; done
failed=0
fail() { echo "FAILED: $*"; failed=1; }
value() { "$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1" "$2"; }

# start NAME CACHE COMMAND...: one start, in a home of its own.
start() {
	local name=$1 cache=$2
	shift 2
	mkdir -p "$scratch/home-$name"
	HOME=$scratch/home-$name XDG_CACHE_HOME=$scratch/$cache "$@" "$python" "$four" >"$scratch/$name.json" 2>"$scratch/$name.err" ||
		{ fail "$name: $(tail -n 3 "$scratch/$name.err")"; return; }
	[ "$(value "$scratch/$name.json" warnings)" = "[]" ] || fail "$name: JAX warns: $(value "$scratch/$name.json" warnings)"
	[ "$(value "$scratch/$name.json" values)" = "$(value "$scratch/alone1.json" values)" ] ||
		fail "$name: $(value "$scratch/$name.json" values), alone $(value "$scratch/alone1.json" values)"
}

for n in 1 2 3; do start alone$n none env; done
for n in 1 2 3; do start run$n with "$kernstash" run --report --; done
for n in 1 2 3; do start without$n without "$kernstash" run --report --no-frameworks --; done

echo "# JAX $(value "$scratch/alone1.json" jax) on $(value "$scratch/alone1.json" platform)"
echo "| first computation of four functions, s | first start | second | third |"
echo "|---|--:|--:|--:|"
for way in alone run without; do
	printf '| %s |' "$way"
	for n in 1 2 3; do printf ' %s |' "$(value "$scratch/$way$n.json" seconds)"; done
	echo
done
for name in run1 run2 without2 without3; do sed "s/^/# $name: /" "$scratch/$name.err"; done
grep -q 'switched on, of frameworks. own caches: jax (' "$scratch/run2.err" || fail "the report does not name JAX's cache"
"$python" -c "import sys; sys.exit(not $(value "$scratch/run2.json" seconds) <= $limit)" || fail "the second start computed for more than $limit s"

# What JAX keeps is counted with ours, evicted and cleared; then JAX goes on.
export XDG_CACHE_HOME=$scratch/with
"$kernstash" stat | grep -E '^(holds|frameworks)' | sed 's/^/# /'
ls -A "$scratch/with/kernstash/.meta/frameworks/jax" | sed -E 's/-[0-9a-f]{64}-/-KEY-/' | sort | uniq -c | sed 's/^/# keeps /'
find "$scratch/with/kernstash/.meta/frameworks/jax" -type f -exec touch -d '2 hours ago' {} +
"$kernstash" gc --set frameworks-max-size=1 | grep jax | sed 's/^/# /'
start run4 with "$kernstash" run --
"$kernstash" clear --yes | sed 's/^/# /'
[ -z "$(find "$scratch/with/kernstash/.meta/frameworks" -type f ! -name trimmed)" ] || fail "files are left"
start run5 with "$kernstash" run --
exit $failed
