#!/usr/bin/env bash
# Checks which room of src/ includes which: an include that is not in the table below fails. Run by ctest as `rooms`.
set -euo pipefail
cd -- "${1:-$(dirname -- "${BASH_SOURCE[0]}")/..}/src"

# Room: rooms that its files may include, beside itself and the public headers. "shaders" are the interface headers that
# kernels share with C++. plan/OPERATION is every folder of src/plan with an operation.hpp. The planner's own files name
# operations, which stand on what is common to all of them. An operation that plans parts of its work as other
# operations has a row that adds these; no two add each other.
allowed='
base:
device: base
plan/access: shaders
plan/cost: base
plan/product: base plan
plan/gemm: base device plan plan/access plan/cost shaders
plan/OPERATION: base device plan plan/access plan/cost plan/product shaders
plan/matmul: plan/gemm plan/permute
plan/conv2d: plan/gemm plan/permute
plan: base plan/cost plan/gemm plan/OPERATION shaders
backend:
embedded:
module: backend base
tune: backend base
spirv: module
vulkan: backend device module shaders
cuda: backend device
capi:
'

# An operation's folder goes by one name.
room_of() { if [[ -e $1/operation.hpp && $1 == plan/* ]]; then echo plan/OPERATION; else echo "$1"; fi; }

wrong=0 seen=0
while IFS=: read -r file line; do
  file=${file#./} room=${file%/*}
  name=${line#*\"} name=${name%%\"*}
  if [[ $name == ../* ]]; then
    echo "src/$file: \"$name\": from src/ on, as \"room/name\""; wrong=1; continue
  fi
  if [[ -e $room/$name ]]; then target=$room/$name; target=${target%/*}
  elif [[ -e $name ]]; then target=${name%/*}
  elif [[ -e ../shaders/$name ]]; then target=shaders
  else echo "src/$file: \"$name\" is nowhere"; wrong=1; continue
  fi
  seen=$((seen + 1))
  [[ $target == "$room" ]] && continue
  row=$(grep -m1 "^$(room_of "$room"):" <<< "$allowed") || {
    echo "src/$room/ is in no row of tests/rooms.sh"; wrong=1; continue
  }
  own=$(grep -m1 "^$room:" <<< "$allowed") || own=:
  [[ " ${row#*:} " == *" $(room_of "$target") "* || " ${own#*:} " == *" $target "* ]] && continue
  echo "src/$file: src/$room/ may not include \"$name\""; wrong=1
done < <(grep -rE '^\s*#\s*include\s+"' --include='*.cpp' --include='*.hpp' .)

# What depends on the system or the compiler stands in these files alone.
system='^\./backend/(platform\.cpp|whole_file\.cpp|whole_file_windows\.cpp|descriptor\.hpp):'
headers='^ *# *include +<(unistd|fcntl|dlfcn|dirent|poll|pthread|sched|signal|spawn|pwd|sys/[a-z_]+|windows|io|direct|process)\.h>'
if grep -rnE "$headers" --include='*.[ch]pp' . | grep -vE "$system"; then
  echo "a header of the system: src/backend/platform.hpp is for what differs between systems"; wrong=1
fi
if grep -rnE '__builtin_|__attribute__|__extension__|__int128|__asm|\btypeof\b' --include='*.[ch]pp' . | grep -v '^\./base/arithmetic\.hpp:'; then
  echo "an extension of a compiler: src/base/arithmetic.hpp is for what standard C++ lacks"; wrong=1
fi

# Too few includes mean that the search failed.
(( seen > 100 )) || { echo "only $seen includes were found"; wrong=1; }
exit $wrong
