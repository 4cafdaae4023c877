#!/bin/sh
# Runs one fuzzer as a test: for 10 seconds, or as many as SECTILE_FUZZ_SECONDS says; for a minute where
# SECTILE_THOROUGH is set. The very same program that has passed its minute before runs for some seconds more.
# usage: run.sh FUZZER FOLDER SEEDS
set -eu
fuzzer=$1 folder=$2 seeds=$3
name=$(basename "$fuzzer")
corpus=$folder/$name/corpus
findings=$folder/$name/findings
stamp=$folder/$name/passed
mkdir -p "$corpus" "$findings"
[ -d "$seeds" ] || seeds=

seconds=${SECTILE_FUZZ_SECONDS:-10}
[ -z "${SECTILE_THOROUGH:-}" ] || seconds=${SECTILE_FUZZ_SECONDS:-60}
sum=$(cksum <"$fuzzer")
if [ -z "${SECTILE_FUZZ_SECONDS:-}${SECTILE_THOROUGH:-}" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$sum" ]; then
    echo "$name has passed its minute as it is: 5 seconds more"
    seconds=5
fi
# shellcheck disable=SC2086  # no seeds: no argument
"$fuzzer" -max_total_time="$seconds" -timeout=30 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="$findings/" "$corpus" $seeds
[ "$seconds" -lt 60 ] || echo "$sum" >"$stamp"
