"""Reads README.md and docs/ and says where they are wrong.

    documentation.py programs OUT             writes each ```cpp block to OUT, and a line about each on standard output
    documentation.py run FILE --sectile BIN --programs DIR --work DIR [--library LIB] [--only-programs]
                                              runs the blocks of one file, in order, in a new folder
    documentation.py options --sectile BIN    compares docs/reference/command-line.md with the command's --help
    documentation.py links                    follows links between files, and the names of files in them; and looks
                                              for every folder of src, shaders and tools in docs/design/architecture.md

A block of shell commands (```sh) is run, unless its first line is "# needs a GPU" or "# not run here: " and a reason.
So is a ```python block, each by an interpreter of its own, with bindings/python and the shared library LIB.
A ```cpp block compiles by itself. One with a main is run as well, unless its first line is "// needs a GPU"; a line
"// Link sectile::packed." names the library. The lines of a ```cmake block stand in a CMakeLists.txt of tests/.
"""
import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LANGUAGES = {"sh", "python", "cpp", "cmake", "json", "text", "mermaid"}
SHELL_MARK = re.compile(r"# (needs a GPU\b|not run here: \S)")
PROGRAM_MARK = re.compile(r"// needs a GPU\b")
SKIPPED_FOLDERS = {".git", ".root", ".cache", "build", "out", "third_party"}
BLOCK_SECONDS = 120


class Block(NamedTuple):
    language: str
    line: int   # of the opening fence, from 1
    text: str


class Program(NamedTuple):
    name: str       # guide_embedding_1
    block: Block
    library: str
    has_main: bool
    is_run: bool


def blocks_of(text):
    blocks, begin, language = [], None, ""
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if not line.startswith("```"):
            continue
        if begin is None:
            begin, language = number, line[3:].strip()
        else:
            blocks.append(Block(language, begin, "\n".join(lines[begin:number - 1]) + "\n"))
            begin = None
    if begin is not None:
        blocks.append(Block("unclosed", begin, ""))
    return blocks


def run_files(root):
    """The files whose blocks are run."""
    return [root / "README.md", *sorted((root / "docs" / "guide").glob("*.md"))]


def all_files(root):
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS and not name.startswith("."))
        found += [pathlib.Path(folder) / name for name in sorted(names) if name.endswith(".md")]
    return found


def programs_of(root, file):
    name = "_".join(file.relative_to(root).with_suffix("").parts).removeprefix("docs_")
    programs = []
    for block in blocks_of(file.read_text()):
        if block.language != "cpp":
            continue
        library = re.search(r"^// Link (sectile::\w+)\.$", block.text, re.MULTILINE)
        has_main = re.search(r"^int main\(", block.text, re.MULTILINE) is not None
        is_run = has_main and not PROGRAM_MARK.match(block.text)
        programs.append(Program(f"{name}_{len(programs) + 1}", block, library[1] if library else "sectile::sectile",
                                has_main, is_run))
    return programs


def write_programs(root, out):
    """Writes the programs' sources; those that are as they should be stay untouched. Gives lines for CMake."""
    out.mkdir(parents=True, exist_ok=True)
    lines = []
    for file in run_files(root):
        for program in programs_of(root, file):
            path = out / f"{program.name}.cpp"
            text = f'#line {program.block.line + 1} "{file}"\n{program.block.text}'
            if not path.exists() or path.read_text() != text:
                path.write_text(text)
            lines.append(f"{program.name}|{program.library}|{'main' if program.has_main else 'part'}")
    return lines


def run_block(text, folder, environment):
    """Empty, or what went wrong."""
    try:
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=folder, env=environment, text=True,
                              errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=BLOCK_SECONDS)
    except subprocess.TimeoutExpired:
        return f"not finished after {BLOCK_SECONDS} s:\n{text}"
    return "" if done.returncode == 0 else f"exit code {done.returncode}:\n{text}{done.stdout[-4000:]}"


def run_file(root, file, folder, environment, programs, only_programs=False):
    """Runs the file's blocks in `folder`. Gives the problems found, and how many blocks were run."""
    problems, count = [], 0
    sources = {program.block.line: program for program in programs_of(root, file)}
    cmake_texts = [path.read_text() for path in (root / "tests").rglob("CMakeLists.txt")]
    for block in blocks_of(file.read_text()):
        wrong = ""
        if block.language == "sh" and not SHELL_MARK.match(block.text) and not only_programs:
            wrong, count = run_block(block.text, folder, environment), count + 1
        elif block.language == "python" and not SHELL_MARK.match(block.text) and not only_programs:
            command = f"{shlex.quote(sys.executable)} -B -c {shlex.quote(block.text)}\n"
            wrong, count = run_block(command, folder, environment), count + 1
        elif block.language == "cpp" and sources[block.line].is_run:
            program = shlex.quote(str(programs / sources[block.line].name))
            wrong, count = run_block(program, folder, environment), count + 1
        elif block.language == "cmake" and not any(block.text in text for text in cmake_texts):
            wrong = "these lines are in no CMakeLists.txt of tests/"
        elif block.language not in LANGUAGES:
            wrong = f'a block of "{block.language}": want one of {", ".join(sorted(LANGUAGES))}'
        if wrong:
            problems.append(f"{file.relative_to(root)}:{block.line}: {wrong}")
    return problems, count


def help_of(sectile, *command):
    return subprocess.run([sectile, *command, "--help"], text=True, check=True, stdout=subprocess.PIPE).stdout


def options_in_help(text):
    options = set()
    for line in text.split("\n"):
        if match := re.match(r"  (-\S+)", line):
            options |= {name for name in match[1].split(",") if name.startswith("--")}
    return options - {"--help"}


def commands_in_help(text):
    return re.findall(r"^  (\w+) ", text[text.index("Subcommands:"):], re.MULTILINE)


def options_in_reference(text):
    """Command -> options: sections "## sectile NAME", options in the first column of their tables."""
    found = {}
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        if match := re.match(r"`sectile (\w+)", section):
            cells = re.findall(r"^\| ((?:[^|\\]|\\.)*)\|", section, re.MULTILINE)
            found[match[1]] = {name for cell in cells for name in re.findall(r"(--[a-z][a-z0-9-]*)", cell)}
    return found


def used_options(text):
    """(command, options) of each `sectile COMMAND …` in the shell blocks of a text."""
    uses = []
    for block in blocks_of(text):
        if block.language != "sh":
            continue
        for line in block.text.replace("\\\n", " ").split("\n"):
            for part in re.split(r"&&|\||;", line.split(" #")[0]):
                if match := re.search(r"(?:^|\s)sectile ([a-z]+)\b(.*)", part):
                    uses.append((match[1], re.findall(r"(?<!\S)(--[a-z][a-z0-9-]*)", match[2])))
    return uses


def check_options(root, helps):
    """`helps`: command -> the options that its --help lists."""
    problems = []
    reference = root / "docs" / "reference" / "command-line.md"
    written = options_in_reference(reference.read_text())
    if set(written) != set(helps):
        problems.append(f"{reference.relative_to(root)}: commands {sorted(written)}; the command has {sorted(helps)}")
    for command in sorted(set(written) & set(helps)):
        for option in sorted(helps[command] - written[command]):
            problems.append(f"{reference.relative_to(root)}: sectile {command}: {option} is missing")
        for option in sorted(written[command] - helps[command]):
            problems.append(f"{reference.relative_to(root)}: sectile {command} has no {option}")
    for file in all_files(root):
        if "lab" in file.parts:
            continue
        for command, options in used_options(file.read_text()):
            unknown = [option for option in options if option not in helps.get(command, {}) and option != "--help"]
            if command not in helps or unknown:
                what = ", ".join(unknown) or "command"
                problems.append(f"{file.relative_to(root)}: sectile {command}: unknown {what}")
    return problems


def heading_names(text):
    """What GitHub makes of headings: #warm-up-a-reference"""
    plain = "\n".join(line for line in re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL).split("\n"))
    names = set()
    for heading in re.findall(r"^#+ +(.*)$", plain, re.MULTILINE):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        names.add(re.sub(r"[^\w\- ]", "", heading).replace(" ", "-"))
    return names


def check_links(root):
    problems, seen = [], 0
    for file in all_files(root):
        text = re.sub(r"^```.*?^```", "", file.read_text(), flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", text)):
            if re.match(r"[a-z]+:", link):
                continue
            seen += 1
            path, _, heading = link.partition("#")
            target = file.parent / path if path else file
            if not target.exists():
                problems.append(f"{file.relative_to(root)}: {link}: no such file")
            elif heading and heading not in heading_names(target.read_text()):
                problems.append(f"{file.relative_to(root)}: {link}: no such heading")
        # The diary names files as they were called on its days. Words in capitals stand for a name.
        if "lab" in file.parts:
            continue
        for name in re.findall(r"`((?:src|docs|tests|tools|include|shaders|cmake)/[\w./-]+)`", text):
            seen += 1
            if not (root / name).exists() and not re.search(r"[A-Z]{4}", name):
                problems.append(f"{file.relative_to(root)}: `{name}`: no such file")
    return problems, seen


def check_folders(root):
    """Folders that the architecture does not name. src's stand there without "src/"."""
    architecture = root / "docs" / "design" / "architecture.md"
    text = architecture.read_text()
    names = [folder.relative_to(root) for top in ("src", "shaders", "tools")
             for folder in sorted((root / top).iterdir()) if folder.is_dir() and not folder.name.startswith((".", "_"))]
    return [f"{architecture.relative_to(root)}: does not name {name}" for name in names
            if f"`{str(name).removeprefix('src/')}`" not in text]


def run_command(options):
    sectile = pathlib.Path(options.sectile).resolve()
    work = pathlib.Path(options.work).resolve()
    (work / "home").mkdir(parents=True, exist_ok=True)   # drivers' caches stay there from run to run
    environment = {name: value for name, value in os.environ.items() if not name.startswith("XDG_CACHE")}
    environment |= {"HOME": str(work / "home"), "PATH": f"{sectile.parent}:{os.environ['PATH']}"}
    if options.library:
        environment |= {"SECTILE_LIBRARY": str(pathlib.Path(options.library).resolve()),
                        "PYTHONPATH": str(ROOT / "bindings" / "python")}
    file = pathlib.Path(options.file).resolve()
    with tempfile.TemporaryDirectory(dir=work) as folder:
        programs = pathlib.Path(options.programs).resolve()
        problems, count = run_file(ROOT, file, folder, environment, programs, options.only_programs)
    if count == 0:
        problems.append(f"{file}: no block was run")
    print(f"{file.name}: {count} blocks run")
    return problems


def main():
    parser = argparse.ArgumentParser()
    actions = parser.add_subparsers(dest="action", required=True)
    programs = actions.add_parser("programs")
    programs.add_argument("out", type=pathlib.Path)
    run = actions.add_parser("run")
    run.add_argument("file")
    for name in ("--sectile", "--programs", "--work"):
        run.add_argument(name, required=True)
    run.add_argument("--library")
    run.add_argument("--only-programs", action="store_true")
    actions.add_parser("options").add_argument("--sectile", required=True)
    actions.add_parser("links")
    options = parser.parse_args()
    problems = []
    if options.action == "programs":
        print("\n".join(write_programs(ROOT, options.out)))
    elif options.action == "run":
        problems = run_command(options)
    elif options.action == "options":
        commands = commands_in_help(help_of(options.sectile))
        problems = check_options(ROOT, {name: options_in_help(help_of(options.sectile, name)) for name in commands})
    else:
        problems, seen = check_links(ROOT)
        problems += check_folders(ROOT)
        if seen < 100:
            problems.append(f"only {seen} links and file names were found")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
