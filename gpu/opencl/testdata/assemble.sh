#!/bin/sh
# Makes scale.spv of scale.spvasm with Debian's spirv-tools (2023.1), and checks
# it: apt-get install spirv-tools
set -eu
cd "$(dirname "$0")"
spirv-as --target-env spv1.0 scale.spvasm -o scale.spv
spirv-val --target-env opencl1.2 scale.spv
