# Every C++ file is as clang-format leaves it (.clang-format; kernels are left out: .clang-format-ignore).
# usage: format.sh CLANG_FORMAT SOURCE_FOLDER    To mend: tools/dev format
cd -- "$2" || exit 1
find include src tools tests examples -name '*.cpp' -o -name '*.hpp' | sort | xargs "$1" --dry-run -Werror
