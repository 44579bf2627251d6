#!/usr/bin/env bash
# Starts four.py with JAX's defaults: alone, under `kernstash run`, which switches JAX's own cache on, and under
# `kernstash run --no-frameworks`, three times each. HOME is new for each start, so nothing else is warm. It fails where
# the second start computes for longer than LIMIT seconds, results differ, or JAX warns.
#
# Then --no-frameworks and a memo of ptxas that does the least (memo.c) take turns, both warm.
#
#	run.sh KERNSTASH PYTHON FOUR.PY MEMO [LIMIT]
set -uo pipefail
kernstash=$1 python=$2 four=$3 memo=$4 limit=${5:-0.3}
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

# The least that a memo of ptxas can cost. Nine turns, of which two are there to fill both.
mkdir "$scratch/memo" "$scratch/kept"
cp "$memo" "$scratch/memo/ptxas"
with_memo=("PATH=$scratch/memo:$PATH" "PTXAS_MEMO=$scratch/kept" "PTXAS_REAL=$(command -v ptxas)")
for n in 1 2 3 4 5 6 7 8 9; do
	start memo$n none env "${with_memo[@]}"
	start turn$n without "$kernstash" run --report --no-frameworks --
	echo "# turn $n: memo $(value "$scratch/memo$n.json" seconds) s, it holds $(find "$scratch/kept" -name '*.err' | wc -l);" \
		"kernstash $(value "$scratch/turn$n.json" seconds) s, $(tr '\n' ' ' <"$scratch/turn$n.err")"
done
median() { for n in 3 4 5 6 7 8 9; do value "$scratch/$1$n.json" seconds; done | sort -n | sed -n 4p; }
ours=$(median turn) least=$(median memo)
echo "# medians of seven turns: --no-frameworks $ours s, a memo of ptxas $least s"
[ "$(find "$scratch/kept" -name '*.err' | wc -l)" -gt 10 ] || fail "the memo was not asked: ptxas is found in another way"
"$python" -c "import sys; sys.exit(not $ours <= 1.1 * $least)" || fail "--no-frameworks takes more than 1.1 times what a memo of ptxas takes"

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
