#!/bin/sh
# Runs `sectile check` as a test, with fewer cases than it has where SECTILE_THOROUGH is not set.
# usage: check.sh ALL FEWER SECTILE ARGUMENTS...
set -eu
cases=$2
[ -z "${SECTILE_THOROUGH:-}" ] || cases=$1
shift 2
sectile=$1
shift
exec "$sectile" check --cases "$cases" "$@"
