#!/bin/sh
# Slurm's Prolog, as root on each node of a job: sees that the agent runs, and that the bundle which
# /etc/kernstash/slurm.conf names is unpacked there, once for all jobs. Whatever goes wrong is said
# in slurmd's log: a Prolog that fails drains the node, and an application without a cache only
# compiles.
#
#   BUNDLE=registry.example.com/team/kernels:580   what to pull; a file is taken as it is
#   BUNDLE_TRUST=/etc/kernstash/release.pub.pem    who must have signed it
#   BUNDLES=/var/lib/kernstash/bundles             where to unpack it
#   WAIT=60                                        seconds, at most
#   REMOTE=redis://cache:6379                      for the Epilog, where there is no agent
#   LOCAL=/local/scratch/$SLURM_JOB_USER           where jobs have their caches
conf=${SLURM_KERNSTASH_CONF:-/etc/kernstash/slurm.conf}
# shellcheck source=/dev/null
[ -r "$conf" ] && . "$conf"
dir=${BUNDLES:-/var/lib/kernstash/bundles}
wait=${WAIT:-60}

say() { echo "kernstash: $*" >&2; }

if [ -d /run/systemd/system ] && [ ! -S /run/kernstash/agent.sock ]; then
	systemctl start --no-block kernstash-agent.service || say "the agent does not start"
fi

unpack() {
	name=$(printf %s "$BUNDLE" | tr -c 'A-Za-z0-9._-' _)
	mkdir -p "$dir" && chmod 755 "$dir" || return
	[ -d "$dir/$name" ] && return # a reference that moves is removed by the operator
	set --
	[ -n "$BUNDLE_TRUST" ] && set -- --trust "$BUNDLE_TRUST"
	file=$BUNDLE
	if [ ! -f "$file" ]; then
		file=$dir/.$name.kst
		timeout "$wait" kernstash bundle pull "$@" "$BUNDLE" "$file" || return
	fi
	(umask 022 && timeout "$wait" kernstash bundle import "$@" --to "$dir/$name" "$file") || return
	[ "$file" = "$BUNDLE" ] || rm -f "$file"
	ln -sfn "$name" "$dir/current"
}

if [ -n "$BUNDLE" ]; then
	# Jobs that begin together unpack it once.
	(mkdir -p "$dir" && exec 9>"$dir/.lock" && flock -w "$wait" 9 && unpack) >&2 || say "no bundle from $BUNDLE"
fi
exit 0
