#!/bin/sh
# Runs a command on lavapipe at another width of vectors, and so another size of subgroups: 4 at 128 bits, 16 at 512.
# Exits with 77, which ctest takes for a skip, where the CPU has no vectors so wide.
# usage: width.sh BITS COMMAND...
set -eu
bits=$1
shift
if [ "$bits" = 512 ] && ! grep -q -w avx512f /proc/cpuinfo; then
    echo "skipped: this CPU has no AVX-512, and lavapipe at 512 bits is not to be relied on without"
    exit 77
fi
LP_NATIVE_VECTOR_WIDTH=$bits
export LP_NATIVE_VECTOR_WIDTH
exec "$@"
