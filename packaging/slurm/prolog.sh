#!/bin/sh
# Slurm's Prolog, as root on each node of a job: sees that the agent runs, and that the bundle which
# /etc/kernstash/slurm.conf names is unpacked there, once for all jobs. Whatever goes wrong is said
# in slurmd's log: a Prolog that fails drains the node, and an application without a cache only
# compiles. Users read the file, too, in the TaskProlog: it holds no password.
#
#   BUNDLE=registry.example.com/team/kernels:580   what to pull; a file is taken as it is
#   BUNDLE_TRUST=/etc/kernstash/release.pub.pem    who must have signed it
#   BUNDLES=/var/lib/kernstash/bundles             where to unpack it
#   WAIT=60                                        seconds for all of it, at most; then the job starts
#   LOCAL=/local/scratch/$SLURM_JOB_USER           where jobs have their caches
conf=${SLURM_KERNSTASH_CONF:-/etc/kernstash/slurm.conf}
# slurmd gives its scripts neither.
export PATH="${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin" HOME="${HOME:-/root}"
# shellcheck source=/dev/null
[ -r "$conf" ] && . "$conf"
dir=${BUNDLES:-/var/lib/kernstash/bundles}
end=$(($(date +%s) + ${WAIT:-60}))

say() { echo "kernstash: $*" >&2; }

# left prints how many seconds of WAIT are left.
left() {
	left=$((end - $(date +%s)))
	echo $((left > 0 ? left : 0))
}

# within runs a command for as long as there is time.
within() {
	[ "$(left)" -gt 0 ] && timeout -k 2 "$(left)" "$@"
}

if [ -d /run/systemd/system ] && systemctl cat kernstash-agent.service >/dev/null 2>&1 &&
	! systemctl is-active --quiet kernstash-agent.service kernstash-agent.socket; then
	systemctl start --no-block kernstash-agent.service || say "the agent does not start"
fi

# use has the next tasks use a bundle that is unpacked.
use() {
	[ "$(readlink "$dir/current")" = "$1" ] || { ln -sfn "$1" "$dir/.current" && mv -fT "$dir/.current" "$dir/current"; }
}

unpack() {
	name=$(printf %s "$BUNDLE" | tr -c 'A-Za-z0-9._-' _)
	chmod 755 "$dir" || return
	# A reference that moves is removed by the operator.
	[ -d "$dir/$name" ] && { use "$name"; return; }
	set --
	[ -n "$BUNDLE_TRUST" ] && set -- --trust "$BUNDLE_TRUST"
	file=$BUNDLE
	if [ ! -f "$file" ]; then
		file=$dir/.$name.kst
		# Where a registry is dead, one job in ten minutes waits for it.
		[ -z "$(find "$dir/.$name.failed" -mmin -10 2>/dev/null)" ] || { say "the last pull failed less than ten minutes ago"; return 1; }
		within kernstash bundle pull "$@" "$BUNDLE" "$file" || { : >"$dir/.$name.failed"; return 1; }
		rm -f "$dir/.$name.failed"
	fi
	(umask 022 && within kernstash bundle import "$@" --to "$dir/$name" "$file") || return
	[ "$file" = "$BUNDLE" ] || rm -f "$file"
	use "$name"
}

if [ -n "$BUNDLE" ]; then
	# Jobs that begin together unpack it once.
	(mkdir -p "$dir" && exec 9>"$dir/.lock" && flock -w "$(left)" 9 && unpack) >&2 || say "no bundle from $BUNDLE"
fi
exit 0
