"""The C interface as a program sees it in memory: functions, constants, and every struct's size and offsets.

layout.py --compiler CC --work DIR      compares include/sectile/sectile.h with tests/capi/layout.txt
layout.py ... --write                   writes that file

A line that changes breaks programs that were compiled before: SECTILE_API_VERSION is raised then. A line that is new
(a function, a field at a struct's end) breaks none, and is written with --write.
"""
import argparse
import difflib
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
HEADER = HERE.parent.parent / "include/sectile/sectile.h"
LIST = HERE / "layout.txt"


def stripped(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"^#.*(?:\\\n.*)*$", "", text, flags=re.M)


def functions(text):
    found = re.findall(r"SECTILE_API\s+([^;]+);", text)
    return sorted(re.sub(r"\s+", " ", each).replace("( ", "(") for each in found)


def constants(text):
    found = []
    for body in re.findall(r"typedef enum \w+ \{(.*?)\}", text, flags=re.S):
        found += re.findall(r"\b(SECTILE_\w+)\b", body)
    return found


def structs(text):
    """Name -> fields, of the structs whose inside is declared."""
    out = {}
    for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\n\} \w+;", text, flags=re.S):
        fields = []
        for line in body.split(";"):
            line = re.sub(r"\s+", " ", line).strip()
            if not line:
                continue
            pointer = re.search(r"\(\*(\w+)\)\(", line)
            fields.append(pointer.group(1) if pointer else re.search(r"(\w+)$", line).group(1))
        out[name] = fields
    return out


def probe(text, compiler, work):
    lines = ["#include <sectile/sectile.h>", "#include <stdio.h>", "int main(void) {"]
    lines.append('  printf("SECTILE_API_VERSION = %d\\n", SECTILE_API_VERSION);')
    lines.append('  printf("SECTILE_VK_BUFFER_USAGE = %#x\\n", SECTILE_VK_BUFFER_USAGE);')
    for name in constants(text):
        lines.append(f'  printf("{name} = %d\\n", (int){name});')
    for name, fields in structs(text).items():
        lines.append(f'  printf("struct {name}: %zu bytes\\n", sizeof({name}));')
        for field in fields:
            lines.append(f'  printf("  {field} at %zu, %zu bytes\\n", offsetof({name}, {field}), '
                         f'sizeof((({name}*)0)->{field}));')
    lines += ["  return 0;", "}", ""]
    work.mkdir(parents=True, exist_ok=True)
    source = work / "layout.c"
    source.write_text("\n".join(lines))
    subprocess.run([compiler, "-std=c99", f"-I{HEADER.parent.parent}", str(source), "-o", str(work / "layout")],
                   check=True)
    return subprocess.run([str(work / "layout")], check=True, capture_output=True, text=True).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    text = stripped(HEADER.read_text())
    listed = functions(text)
    found = structs(text)
    # A parser that finds too little would compare nothing.
    if len(listed) < 60 or len(found) < 8 or any(not fields for fields in found.values()):
        sys.exit("sectile.h is written otherwise than layout.py reads it: "
                 f"{len(listed)} functions, {len(found)} structs")
    now = probe(text, arguments.compiler, arguments.work) + "".join(f"{each}\n" for each in listed)
    if arguments.write:
        LIST.write_text(now)
        return
    before = LIST.read_text()
    if before == now:
        return
    difference = list(difflib.unified_diff(before.splitlines(), now.splitlines(), "layout.txt", "sectile.h",
                                           lineterm="", n=0))
    print("\n".join(difference))
    # A struct may grow: its fields keep their places.
    gone = [line for line in difference if re.match(r"-(?!--)(?!struct \w+: \d+ bytes$)", line)]
    broken = "old programs break: raise SECTILE_API_VERSION, then " if gone else ""
    sys.exit(f"the C interface has changed: {broken}run layout.py --write")



main()
