#!/bin/sh
# Slurm's TaskProlog, as the user of a job: what it prints as "export NAME=value" is in the task's
# environment. The cache is on the node's own disk: a thousand ranks need not meet on a shared one.
conf=${SLURM_KERNSTASH_CONF:-/etc/kernstash/slurm.conf}
# shellcheck source=/dev/null
[ -r "$conf" ] && . "$conf"
dir=${BUNDLES:-/var/lib/kernstash/bundles}
local=${LOCAL:-/local/scratch/$SLURM_JOB_USER}

[ -z "$KERNSTASH_DIR" ] && [ -d "$local" ] && [ -w "$local" ] && echo "export KERNSTASH_DIR=$local/kernstash"
[ -z "$KERNSTASH_LAYERS" ] && [ -d "$dir/current" ] && echo "export KERNSTASH_LAYERS=$(readlink -f "$dir/current")"
exit 0
