#!/usr/bin/env bash
# No archive has or wants a name of fmt's own namespace: a program may link another fmt. archives.sh NM ARCHIVE...
set -euo pipefail
nm=$1 wrong=0 seen=0
shift
for archive in "$@"; do
    names=$("$nm" "$archive" | awk '{ print $NF }' | grep -E '3fmt' || true)
    seen=$((seen + $(grep -c 3fmt11sectile_fmt <<<"$names" || true)))
    if others=$(grep -E '3fmt' <<<"$names" | grep -v 3fmt11sectile_fmt | head -5) && [[ -n $others ]]; then
        echo "$archive: $others"
        wrong=1
    fi
done
((seen > 100)) || { echo "only $seen names of fmt were found"; wrong=1; }
exit $wrong
