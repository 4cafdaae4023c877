"""Mutants by rule: a scanner lists every site in the sources where a rule applies, and a seed draws from each stratum
(a rule in an area). What was drawn is kept in set/sampled.txt, so that the set does not change with the sources.
"""
import hashlib
import os
import random
import re
from dataclasses import dataclass

import edits

# Area, what belongs to it. The first that fits counts.
AREAS = (
    # What nothing runs without an NVIDIA GPU has no sites: matmul_coopmat2.comp (VK_NV_cooperative_matrix2),
    # permute_tma.cu and lib/tma.cuh (PTX), of which hand.txt has some.
    ("glsl coopmat", r"shaders/gemm/(matmul_coopmat\.comp|coopmat\w*\.glsl)"),
    ("glsl permute", r"shaders/(permute/\w+\.(comp|glsl)|lib/(memory|fused)\.glsl)"),
    ("glsl matmul", r"shaders/(gemm/(?!matmul_coopmat2)\w+\.comp|gemm/(base|finish|gemm|epilogue|simt\w*)\.glsl"
                    r"|lib/(activation|numbers)\.glsl)"),
    ("glsl conv2d", r"shaders/conv2d/\w+\.(comp|glsl)"),
    ("cu permute", r"shaders/(permute/(?!permute_tma)\w+\.cuh?|lib/(memory|fused)\.cuh)"),
    ("cu matmul", r"shaders/(gemm/\w+\.cuh?|lib/(activation|numbers)\.cuh)"),
    ("cu conv2d", r"shaders/conv2d/\w+\.cuh?"),
    ("checker", r"src/plan/(check|permute/checks)\.cpp"),
    ("readers", r"src/plan/(\w+/)?(json|text|plan_reading)\.cpp|src/base/json_text\.hpp"
                r"|src/device/(profile|vulkaninfo)\.cpp|tools/cli/npy\.cpp"),
    ("plan", r"src/plan/.*\.cpp"),
    ("vulkan", r"src/vulkan/.*\.cpp"),
    ("cuda", r"src/cuda/.*\.cpp"),
    ("freeze", r"src/spirv/.*\.cpp"),
    ("pack", r"src/module/.*\.cpp"),
    ("backend", r"src/backend/.*\.[ch]pp"),
    ("tune", r"src/tune/.*\.cpp"),
)
# How many of a stratum are drawn; 1 where nothing is said.
DRAWN = {("glsl matmul", "bound"): 2, ("glsl conv2d", "bound"): 4, ("glsl conv2d", "clamp"): 4,
         ("plan", "bound"): 2, ("readers", "check"): 2, ("checker", "clause"): 3, ("pack", "clause"): 3}
# Parts of conditions are drawn where each is a promise; elsewhere many save time alone.
UNDRAWN = ("clause",)

COMPARISON = re.compile(r" (<=|>=|<|>) (?=[\w(*&-])")
SHIFTED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
LIMIT = re.compile(r"(?<![\w.>])(?:std::)?(?:f?min|f?max|clamp|fminf|fmaxf)(?:<[\w:]+>)?\(")
ROUNDED = re.compile(r"(?<![\w.>])(ceil_div|roundEven|nearest_int)\(")
FILLED = re.compile(r" \+ (\w+(?:\.\w+)?) - 1u?\) / (\w+(?:\.\w+)?)")
SIZED = re.compile(r"\b((?!subgroup|required)\w*(?:bytes|size|size_[sdmnk]|range|end|scratch|limit|span|left)_?) "
                   r"(\+?=) (?!0u?;|u?vec\d)(?![^;]*(?:[?{\"]|&&|\|\||\bfail\b))([^;=]+);")
# Neighbours of one array in a list of arguments, as a launch's sizes.
NEIGHBOURS = re.compile(r"\b(?<![.>])(?=((?:\w+(?:\.|->))*\w+)\[(\d)\], \1\[(\d)\])")
PARTS = re.compile(r"^(\s*(?:\} else )?if \()([^;]*? (\|\||&&) .*)(\)(?: return\b.*| \{)?)$")
REFUSAL = re.compile(r"^(\s*)(?:\} else )?if \((.+)\)"
                     r"(?: return (?:fail|refuse|refusal\.no|garbage|broken|exceeded)\b|\s*$)")
STEP = re.compile(r" [+-] 1u?\b(?!\.)")
BARRIER = re.compile(r"^\s*(?:barrier|__syncthreads|subgroupBarrier|order_results)\(\);\s*$")


@dataclass
class Site:
    rule: str
    area: str
    path: str
    number: int  # line, from 0
    line: str  # what takes its place; empty: nothing
    says: str


def area_of(path):
    for area, pattern in AREAS:
        if re.fullmatch(pattern, path):
            return area
    return None


def code_of(text):
    """The lines without comments."""
    text = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.DOTALL)
    return [re.sub(r'^((?:[^"/]|"(?:[^"\\]|\\.)*"|/(?!/))*)//.*$', r"\1", line).rstrip() for line in text.split("\n")]


def argument_list(line, at):
    """The arguments of the call whose bracket opens before `at`, and where it ends; None where the line ends first."""
    depth, begin, out = 0, at, []
    for i in range(at, len(line)):
        c = line[i]
        if c in "([{":
            depth += 1
        elif c in ")]}" and depth > 0:
            depth -= 1
        elif c == ")":
            return out + [line[begin:i].strip()], i + 1
        elif c == "," and depth == 0:
            out.append(line[begin:i].strip())
            begin = i + 1
    return None


def clauses(condition, operator):
    """The parts of a condition that one operator joins; None where another one stands beside it, or a bracket is
    open."""
    depth, begin, parts = 0, 0, []
    for i, c in enumerate(condition):
        depth += (c in "([{") - (c in ")]}")
        if depth < 0:
            return None
        pair = condition[i:i + 2]
        if depth == 0 and pair in ("||", "&&"):
            if pair != operator:
                return None
            parts.append(condition[begin:i].strip())
            begin = i + 2
    return parts + [condition[begin:].strip()] if depth == 0 and parts else None


def sites_of_line(line, before):
    """(rule, new line, what it says) of each change of one line; `before` is the line before it."""
    if line.lstrip().startswith(("#", "template", "//")):
        return
    if BARRIER.match(line) and not re.search(r"\b(if|else|while|do)\b[^{]*$", before):
        yield "barrier", "", "A barrier is dropped."
    # A loop that runs once too often over an array is undefined, and mostly seen by nothing: not drawn.
    if not re.search(r"\bfor \(", line) and re.search(r"\b(if|while) \(|\breturn\b| \? |&&|\|\|| = ", line):
        for found in COMPARISON.finditer(line):
            old = found[1]
            yield "bound", line[:found.start(1)] + SHIFTED[old] + line[found.end(1):], f"{old} is {SHIFTED[old]}."
    for found in LIMIT.finditer(line):
        got = argument_list(line, found.end())
        if got and len(got[0]) > 1 and "inline" not in line:
            yield "clamp", line[:found.start()] + f"({got[0][0]})" + line[got[1]:], f"{found[0]}...) limits nothing."
    for found in ROUNDED.finditer(line):
        got = argument_list(line, found.end())
        if got and found[1] == "ceil_div" and len(got[0]) == 2:
            new = f"(({got[0][0]}) / ({got[0][1]}))"
            yield "clamp", line[:found.start()] + new + line[got[1]:], "Rounded down and not up."
        elif got and found[1] != "ceil_div":
            new = {"roundEven": "trunc", "nearest_int": "int"}[found[1]]
            yield "clamp", line[:found.start(1)] + new + line[found.end(1):], "Rounded to zero and not to nearest."
    for found in FILLED.finditer(line):
        if found[1] == found[2]:
            yield "clamp", line[:found.start()] + f") / {found[2]}" + line[found.end():], "Rounded down and not up."
    found = SIZED.search(line)
    if found and not re.search(r"\b(for|if|while)\b", line):
        yield "size", line[:found.start(3)] + f"({found[3]}) / 2" + line[found.end(3):], f"{found[1]} is halved."
    found = REFUSAL.match(line)
    if found and found[2].count("(") == found[2].count(")") and ";" not in found[2]:
        at = line.index(found[2])
        yield "check", line[:at] + f"false && ({found[2]})" + line[at + len(found[2]):], "A check is left out."
    for found in NEIGHBOURS.finditer(line):
        if found[2] != found[3]:
            old, new = (f"{found[1]}[{a}], {found[1]}[{b}]" for a, b in (found.group(2, 3), found.group(3, 2)))
            yield ("exchange", line[:found.start()] + new + line[found.start() + len(old):],
                   f"[{found[2]}] and [{found[3]}] change places.")
    found = PARTS.match(line)
    if found and (parts := clauses(found[2], found[3])):
        for i in range(len(parts)):
            rest = f" {found[3]} ".join(parts[:i] + parts[i + 1:])
            yield "clause", found[1] + rest + found[4], f"'{parts[i]}' is not asked."
    if not re.search(r"\bfor \(", line):
        for found in STEP.finditer(line):
            yield "bound", line[:found.start()] + line[found.end():], f"'{found[0].strip()}' is left out."


def sites(tree):
    for path in tree.paths:
        area = area_of(path)
        if area is None:
            continue
        lines = code_of(tree.read(path))
        for number, line in enumerate(lines):
            before = lines[number - 1] if number > 0 else ""
            following = next((l.strip() for l in lines[number + 1:] if l.strip()), "")
            for rule, new, says in sites_of_line(line, before):
                refuses = "return" in line or re.match(r"return (fail|refus|garbage|broken)", following)
                if rule == "check" and not refuses:
                    continue
                if rule == "check" and not path.startswith(("src/", "tools/")):
                    continue
                yield Site(rule, area, path, number, new, says)


def file_of(tree, path):
    """The shortest end of the path that names it alone."""
    parts = path.split("/")
    for count in range(1, len(parts) + 1):
        name = "/".join(parts[-count:])
        if sum(edits.named(other, name) for other in tree.paths) == 1:
            return name
    return path


def mutant_of(tree, site):
    """The site as a mutant, with as many lines around it as make it unique; None where none do."""
    lines = code_of(tree.read(site.path))
    text, stem = tree.read(site.path), os.path.basename(site.path).split(".")[0].replace("_", "-")
    for around in range(0, 9):
        first, last = site.number - (around + 1) // 2, site.number + around // 2
        if first < 0 or last >= len(lines):
            return None
        find = [l.strip() for l in lines[first:last + 1]]
        if not any(find) or not edits.tokens(find):
            continue
        if len(edits.pattern_of(find).findall(text)) == 1:
            at, new = site.number - first, [site.line.strip()] * bool(site.line)
            replace = find[:at] + new + find[at + 1:]
            text = "\n".join([site.path.rsplit("/", 1)[-1], *find, "=>", *replace])
            digest = hashlib.sha256(text.encode()).hexdigest()[:4]
            mutant = edits.Mutant(f"{site.rule}-{stem}-{digest}", area=site.area, says=site.says, find=find,
                                  replace=replace)
            mutant.file = file_of(tree, site.path)
            mutant.context = (find[:at], find[at:at + 1], new, find[at + 1:])
            return mutant
    return None


def text_of(mutant):
    out = [f"mutant: {mutant.id}", f"origin: {mutant.origin}", f"area: {mutant.area}", f"file: {mutant.file}",
           f"says: {mutant.says}"]
    for key in ("equivalent", "gpu"):
        if getattr(mutant, key):
            out.append(f"{key}: {getattr(mutant, key)}")
    for sign, lines in zip("=-+=", mutant.context):
        out += [f"{sign} {line}" for line in lines if line]
    return "\n".join(out) + "\n"


def passed_over(folder):
    """Ids that are not drawn, each with its reason: `ID reason` a line."""
    path = os.path.join(folder, "passed_over")
    if not os.path.exists(path):
        return set()
    with open(path, encoding="utf-8") as file:
        return {line.split()[0] for line in file if line.strip() and not line.startswith("#")}


def sample(tree, seed, path):
    """Writes the drawn mutants. What was said of one before (its proof) stays."""
    over = passed_over(os.path.dirname(path))
    def bare(mutant):  # the mutated code, whatever its format
        return "".join("".join(code_of(tree.mutated(mutant)[2])).split())

    others = {bare(m) for m in edits.read_mutants(os.path.dirname(path)) if not m.origin.startswith("rule")}
    before = {m.id: m for m in edits.read_file(path)} if os.path.exists(path) else {}
    strata = {}
    for site in sites(tree):
        strata.setdefault((site.area, site.rule), []).append(site)
    order = [area for area, _ in AREAS]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"# Written by `tools/dev mutants --sample {seed}`: mutants by rule (sites.py), so many of each "
                   "rule in\n# each area. Kept as it is when the sources change; only proofs (equivalent:) are added "
                   "by hand.\n")
        for (area, rule), found in sorted(strata.items(), key=lambda item: (order.index(item[0][0]), item[0][1])):
            random.Random(f"{seed} {area} {rule}").shuffle(found)
            left = DRAWN.get((area, rule), 0 if rule in UNDRAWN else 1)
            for site in found:
                mutant = mutant_of(tree, site) if left > 0 else None
                if mutant is None or mutant.id in over or bare(mutant) in others:
                    continue
                mutant.origin = f"rule {rule}, seed {seed}"
                for key in ("equivalent", "gpu"):
                    setattr(mutant, key, getattr(before.get(mutant.id), key, ""))
                file.write("\n" + text_of(mutant))
                left -= 1
    return strata
