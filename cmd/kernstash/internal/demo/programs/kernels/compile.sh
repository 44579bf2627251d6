#!/bin/sh
# Makes the .spv of the .cl, and spirv.txt, which says of what each was made: the
# program, the SHA-256 of its .cl and of its .spv, and the build options, which are
# those of the program in Go. The tool is Debian's ocloc (22.43; another one makes other
# modules, as good): apt-get install intel-opencl-icd
set -eu
cd "$(dirname "$0")"
: > spirv.txt
compile() { # compile NAME OPTIONS
	ocloc compile -file "$1.cl" -device tgllp -spv_only -output_no_suffix -options "$2" -output "$1"
	printf '%s %s %s %s\n' "$1" "$(sha256sum < "$1.cl" | cut -d' ' -f1)" \
		"$(sha256sum < "$1.spv" | cut -d' ' -f1)" "$2" | sed 's/ *$//' >> spirv.txt
}
compile warm ""
compile vadd ""
compile reduce ""
compile nbody "-DN=256 -DSOFTENING=0.01f -DSTEP=0.001f"
compile fft ""
compile matmul "-DN=128"
compile sha256d ""
