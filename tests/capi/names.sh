#!/usr/bin/env bash
# The shared library exports what sectile.h declares, and nothing else: names.sh NM LIBRARY.
set -euo pipefail
header=$(dirname -- "${BASH_SOURCE[0]}")/../../include/sectile/sectile.h
exported=$("$1" -D --defined-only "$2" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u)
declared=$(grep -oE '\bsectile_[a-z0-9_]+\(' "$header" | tr -d '(' | sort -u)
# Functions that comments name are declared as well, so the list is theirs.
diff <(echo "$declared") <(echo "$exported") || { echo "< declared, > exported"; exit 1; }
(( $(wc -l <<< "$exported") > 30 )) || { echo "only few names were found"; exit 1; }
