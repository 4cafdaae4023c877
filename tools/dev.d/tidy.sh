# clang-tidy over every file, or those whose path has one of the given words, each compiled alone. What it looks at is
# in .clang-tidy. Runs at the place of the build. usage: tidy.sh [WORD...]
set -euo pipefail
repo=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$repo"
tidy=$(command -v run-clang-tidy-19 || command -v run-clang-tidy) || { echo "dev: error: no run-clang-tidy here" >&2; exit 1; }
cmake --preset tidy --fresh >/dev/null
words=("${@:-}")
patterns=()
for word in "${words[@]}"; do patterns+=("^$repo/(?=(src|tools|tests)/).*$word"); done
exec "$tidy" -p build/tidy -quiet -j "${SECTILE_JOBS:-$(nproc)}" "${patterns[@]}"
