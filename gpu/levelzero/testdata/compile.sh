#!/bin/sh
# Makes the .spv of the .cl with Debian's ocloc (22.43): apt-get install intel-opencl-icd
set -eu
cd "$(dirname "$0")"
for source in *.cl; do
	ocloc compile -file "$source" -device tgllp -spv_only -output_no_suffix -options "-cl-std=CL3.0" -output "${source%.cl}"
done
