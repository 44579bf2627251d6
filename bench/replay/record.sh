#!/bin/sh
# record.sh KERNSTASH SOURCES WORK [SESSIONS]
#
# Records the requests of an application as a trace: sessions of a password
# recovery tool (the .cl files of Debian's hashcat-data), each a process that
# asks for the handful of kernels that such a session needs. Compile times and
# sizes are real (whatever OpenCL driver is there). Who asks for what, and how
# often, is drawn: hash types by Zipf's law, with a fixed seed.
#
# KERNSTASH is the command, SOURCES such as /usr/share/hashcat/OpenCL, WORK an
# empty directory. The trace comes to WORK/trace; convert it with
# `replay -from-trace WORK/trace -every 90m`. It takes some minutes.
#
# Functions are made static, as the application does for GPUs of AMD: compilers
# for GPUs drop those that a kernel does not use, PoCL would keep them all.
set -eu
kernstash=$1 sources=$2 work=$3 sessions=${4:-400}

flatten() { # one file with its headers, since those differ by macro
	cpp -P -undef -nostdinc -D__OPENCL_VERSION__=120 -DKERNEL_STATIC -DINCLUDE_PATH="$work/src" \
		'-DXM2S(x)=#x' '-DM2S(x)=XM2S(x)' -DVENDOR_ID=64 -DCUDA_ARCH=0 -DHAS_ADD=0 -DVECT_SIZE=1 \
		-DDEVICE_TYPE=2 -DDGST_R0=0 -DDGST_R1=3 -DDGST_R2=2 -DDGST_R3=1 -DDGST_ELEM=4 -DKERN_TYPE=0 \
		-DATTACK_EXEC=11 -DATTACK_KERN=3 -DLOCAL_MEM_TYPE=2 -DFIXED_LOCAL_SIZE=64 -I"$work/src" \
		"$work/src/$1.cl" >"$work/$1.cl"
}

mkdir -p "$work/src"
cp "$sources"/*.cl "$sources"/*.h "$work/src"
sed -i 's/^#define DECLSPEC$/#define DECLSPEC static/' "$work/src/inc_vendor.h"
for f in shared amp_a0 markov_le; do flatten $f; done
modes=
for mode in 00000 00100 01400 00900 01000 00010 01700 00300 02600 05100 03710 00050 01410 04400 06000 08100; do
	flatten "m${mode}_a3-optimized" 2>/dev/null && modes="$modes m${mode}_a3-optimized"
done
for mode in 00000 00100 01400 01000 05600 13100 00020 01700 11500 06900 17400 22000; do
	flatten "m${mode}_a3-pure" 2>/dev/null && modes="$modes m${mode}_a3-pure"
done
for mode in 00500 01800 00400 03200 10900 12000 02100 07900; do
	flatten "m${mode}-pure" 2>/dev/null && modes="$modes m${mode}-pure"
done

# One line a session: its kernels.
# shellcheck disable=SC2086
echo $modes | awk -v n="$sessions" 'BEGIN { srand(7) }
{
	for (i = 1; i <= NF; i++) { swap = 1 + int(rand() * NF); t = $i; $i = $swap; $swap = t }
	for (i = 1; i <= NF; i++) all += 1 / i ^ 0.9
	for (s = 0; s < n; s++) {
		at = rand() * all
		for (i = 1; i < NF && at > 1 / i ^ 0.9; i++) at -= 1 / i ^ 0.9
		print "shared", ($i ~ /_a3/ ? "markov_le" : "amp_a0"), $i
	}
}' >"$work/sessions"

export KERNSTASH_DIR="$work/cache" KERNSTASH_MAX_SIZE=0 POCL_CACHE_DIR="$work/pocl"
export KERNSTASH_TRACE=disk KERNSTASH_TRACE_FILE="$work/trace"
mkdir -p "$POCL_CACHE_DIR"
while read -r a b c; do
	"$kernstash" build --jobs 1 --local-size 64 "$work/$a.cl" "$work/$b.cl" "$work/$c.cl" >>"$work/log" 2>&1 || true
done <"$work/sessions"
