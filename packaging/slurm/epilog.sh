#!/bin/sh
# Slurm's Epilog, as root on each node of a job: what the job left to be built or uploaded is done,
# as its user, for a minute at most. An Epilog that fails drains the node: this one does not. Where an
# agent runs it has uploaded what the job built, and little is left.
conf=${SLURM_KERNSTASH_CONF:-/etc/kernstash/slurm.conf}
# shellcheck source=/dev/null
[ -r "$conf" ] && . "$conf"
local=${LOCAL:-/local/scratch/$SLURM_JOB_USER}

if [ -n "$SLURM_JOB_USER" ] && [ -d "$local/kernstash" ]; then
	timeout "${WAIT:-60}" runuser -u "$SLURM_JOB_USER" -- \
		env KERNSTASH_DIR="$local/kernstash" ${REMOTE:+KERNSTASH_REMOTE="$REMOTE"} \
		kernstash worker run --once --quiet || echo "kernstash: what the job left stays for the next worker" >&2
fi
exit 0
