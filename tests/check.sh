#!/bin/sh
# Runs `sectile check` as a test, with fewer cases where SECTILE_THOROUGH is not set. In one process: ctest runs several
# tests side by side, and each process compiles its kernels for itself.
# usage: check.sh ALL FEWER SECTILE ARGUMENTS...
set -eu
cases=$1
[ -n "${SECTILE_THOROUGH:-}" ] || [ "$2" -ge "$cases" ] || cases=$2
shift 2
sectile=$1
shift
exec "$sectile" check --jobs 1 --cases "$cases" "$@"
