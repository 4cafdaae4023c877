"""Mutants as data: reading the files in set/, and applying an edit wherever its text stands today.

A mutant's text is compared token by token: white space, line breaks and comments between tokens do not count, so that
neither a move of a file nor another format breaks it. It has to stand exactly once, or the edit fails.
"""
import fnmatch
import hashlib
import os
import re
from dataclasses import dataclass, field

# What is mutated. Tests and what they compare with are not.
FOLDERS = ("include", "shaders", "src", "tools")
SUFFIXES = (".cpp", ".hpp", ".h", ".comp", ".glsl", ".cu", ".cuh")
KEYS = ("mutant", "origin", "area", "file", "says", "equivalent", "gpu")

TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)\'|[\w$]+|<<=|>>=|[<>=!+\-*/%&|^]=|&&|\|\||<<|>>|->|::|\+\+|--|\S')
WORD = re.compile(r"[\w$]")
GAP = r"(?:\s|\\\n|//[^\n]*(?=\n)|/\*.*?\*/)"


class EditError(Exception):
    """An edit that does not apply, or a file of mutants that cannot be read."""


@dataclass
class Mutant:
    id: str
    origin: str = ""
    area: str = ""
    file: str = ""
    says: str = ""
    equivalent: str = ""  # the proof, where no test can tell it from the original
    gpu: str = ""  # why nothing runs it without a GPU
    find: list = field(default_factory=list)
    replace: list = field(default_factory=list)
    where: str = ""  # file and line of its definition

    @property
    def counts(self):
        return not self.equivalent and not self.gpu

    def digest(self):
        text = "\n".join([self.id, self.file, *self.find, "=>", *self.replace])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_mutants(folder):
    """All mutants of a folder's *.txt files, in order of file and line."""
    out, seen = [], {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".txt"):
            out += read_file(os.path.join(folder, name))
    for mutant in out:
        if mutant.id in seen:
            raise EditError(f"{mutant.where}: {mutant.id} stands in {seen[mutant.id]} too")
        seen[mutant.id] = mutant.where
    return out


def read_file(path):
    with open(path, encoding="utf-8") as file:
        return parse(file.read(), os.path.basename(path))


def parse(text, name="text"):
    """Blocks of `key: value` lines and then edit lines: `=` stays, `-` is taken out, `+` is put in."""
    out, current, key = [], None, None
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{name}:{number}"
        if line.startswith("#"):
            continue
        if not line.strip():
            current, key = None, None
            continue
        head = re.match(r"([a-z]+): (.*)$", line)
        if head and head[1] == "mutant":
            current = Mutant(head[2].strip(), where=where)
            out.append(current)
            key = None
        elif current is None:
            raise EditError(f"{where}: want 'mutant: ID' first, not '{line}'")
        elif line[0] in "=+-" and line[1:2] in ("", " "):
            code = line[2:]
            if line[0] in "=-":
                current.find.append(code)
            if line[0] in "=+":
                current.replace.append(code)
            key = None
        elif head and head[1] in KEYS:
            key = head[1]
            setattr(current, key, head[2].strip())
        elif key and line.startswith("  "):
            setattr(current, key, getattr(current, key) + " " + line.strip())
        else:
            raise EditError(f"{where}: '{line}' is neither 'key: value' nor a line of an edit")
    for mutant in out:
        check(mutant)
    return out


def check(mutant):
    for key in ("origin", "area", "file", "says"):
        if not getattr(mutant, key):
            raise EditError(f"{mutant.where}: {mutant.id} has no '{key}'")
    if not any(line.strip() for line in mutant.find):
        raise EditError(f"{mutant.where}: {mutant.id} has nothing to find")
    if tokens(mutant.find) == tokens(mutant.replace):
        raise EditError(f"{mutant.where}: {mutant.id} changes nothing")


def tokens(lines):
    return TOKEN.findall("\n".join(lines))


def pattern_of(lines):
    """A regular expression for these lines, whatever white space and comments stand between their tokens."""
    parts, before = [], ""
    for token in tokens(lines):
        if before:
            parts.append(GAP + ("+" if WORD.match(before[-1]) and WORD.match(token[0]) else "*"))
        parts.append(re.escape(token))
        before = token
    first, last = tokens(lines)[0], before
    ahead = r"(?<![\w$])" if WORD.match(first[0]) else ""
    behind = r"(?![\w$])" if WORD.match(last[-1]) else r"(?![=])" if last[-1] in "<>=!+-*/%&|^" else ""
    return re.compile(ahead + "".join(parts) + behind, re.DOTALL)


def sources(root):
    """Every file that may be mutated, relative to `root`."""
    out = []
    for folder in FOLDERS:
        for at, folders, files in os.walk(os.path.join(root, folder)):
            folders.sort()
            out += (os.path.relpath(os.path.join(at, name), root) for name in sorted(files) if name.endswith(SUFFIXES))
    return out


def named(path, pattern):
    """Whether `pattern` (a file's name, with folders before it where that is needed) fits the path."""
    return fnmatch.fnmatch(path, pattern) or fnmatch.fnmatch(path, "*/" + pattern)


class Tree:
    """The sources under a folder, read once."""

    def __init__(self, root):
        self.root = root
        self.paths = sources(root)
        self.text = {}

    def read(self, path):
        if path not in self.text:
            with open(os.path.join(self.root, path), encoding="utf-8") as file:
                self.text[path] = file.read()
        return self.text[path]

    def matches(self, mutant, paths):
        pattern = pattern_of(mutant.find)
        return [(path, found) for path in paths for found in pattern.finditer(self.read(path))]

    def place(self, mutant):
        """Path and match of the one place where the mutant's text stands. A file that was renamed is found as well."""
        here = [path for path in self.paths if named(path, mutant.file)]
        found = self.matches(mutant, here)
        if not found:
            suffix = os.path.splitext(mutant.file)[1]
            found = self.matches(mutant, [path for path in self.paths if path.endswith(suffix) and path not in here])
        if len(found) != 1:
            times = "nowhere" if not found else f"{len(found)} times: " + ", ".join(
                f"{path}:{self.line(path, match)}" for path, match in found[:4])
            raise EditError(f"{mutant.where}: {mutant.id}: its text stands {times} (file {mutant.file})")
        return found[0]

    def line(self, path, match):
        return self.read(path).count("\n", 0, match.start()) + 1

    def mutated(self, mutant):
        """Path, line and new text."""
        path, match = self.place(mutant)
        text = self.read(path)
        return path, self.line(path, match), text[:match.start()] + "\n".join(mutant.replace) + text[match.end():]
