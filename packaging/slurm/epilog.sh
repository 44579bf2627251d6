#!/bin/sh
# Slurm's Epilog, as root on each node of a job: what the job left to be built or uploaded is done,
# as its user, for a minute at most. An Epilog that fails drains the node: this one does not. Where an
# agent runs it has uploaded what the job built, and little is left. Where none does
# /etc/kernstash/slurm-remote.conf, which root alone can read, says where to:
#
#   REMOTE=redis://cache:6379
#
# The user's processes can read a password in it while the worker runs: an agent keeps it from them.
conf=${SLURM_KERNSTASH_CONF:-/etc/kernstash/slurm.conf}
# slurmd gives its scripts neither this nor HOME.
export PATH="${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
for file in "$conf" "${conf%.conf}-remote.conf"; do
	# shellcheck source=/dev/null
	[ -r "$file" ] && . "$file"
done
local=${LOCAL:-/local/scratch/$SLURM_JOB_USER}

if [ -n "$SLURM_JOB_USER" ] && [ -d "$local/kernstash" ]; then
	# By its environment: everybody sees command lines.
	export KERNSTASH_DIR="$local/kernstash"
	[ -n "$REMOTE" ] && export KERNSTASH_REMOTE="$REMOTE"
	HOME=$(getent passwd "$SLURM_JOB_USER" | cut -d: -f6)
	export HOME
	cd / || exit 0
	timeout -k 5 "${WAIT:-60}" runuser -u "$SLURM_JOB_USER" -- \
		kernstash worker run --once --quiet || echo "kernstash: what the job left stays for the next worker" >&2
fi
exit 0
