#!/usr/bin/env python3
"""Tests the tests: applies each mutant of set/ to a copy of the tree, builds what it touches, and runs those of CI's
tests that could see it until one fails. `tools/dev mutants` starts it, in the copy. See docs/design/testing.md.
"""
import argparse
import fnmatch
import json
import os
import re
import signal
import sys
import time

import edits
import sites
import trees

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SET = os.path.join(HERE, "set")
SAMPLED = os.path.join(SET, "sampled.txt")
WANTED = 0.95


def arguments(argv):
    parser = argparse.ArgumentParser(prog="tools/dev mutants", description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", action="append", default=[], metavar="X",
                        help="an id, or a pattern of ids (repeated)")
    parser.add_argument("--shard", default="1/1", metavar="I/N",
                        help="every Nth mutant from the Ith on, in a copy of its own")
    parser.add_argument("--survivors", action="store_true",
                        help="only mutants that no earlier run caught, on whatever tree: after tests were added")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="parallel jobs of a build (default 1)")
    parser.add_argument("--list", action="store_true", help="list the mutants and where they apply")
    parser.add_argument("--check", action="store_true", help="only see whether each still applies")
    parser.add_argument("--table", action="store_true", help="only print the table of the results that are there")
    parser.add_argument("--sample", type=int, metavar="SEED",
                        help="draw set/sampled.txt again by the rules of sites.py")
    parser.add_argument("--prepare", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--own-build", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    match = re.fullmatch(r"(\d+)/(\d+)", options.shard)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        parser.error(f"--shard {options.shard}: want I/N with I from 1 to N")
    options.shard = int(match[1]), int(match[2])
    return options


def chosen(mutants, options):
    if options.only:
        for pattern in options.only:
            if not any(fnmatch.fnmatch(m.id, pattern) for m in mutants):
                raise SystemExit(f"mutants: --only {pattern} fits no mutant")
        mutants = [m for m in mutants if any(fnmatch.fnmatch(m.id, p) for p in options.only)]
    index, count = options.shard
    return mutants[index - 1::count]


# ---- results, one JSON object a line; the last one of a key counts

class Results:
    def __init__(self, path):
        self.path, self.rows = path, []
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    try:
                        self.rows.append(json.loads(line))
                    except ValueError:
                        pass  # cut off when a run was killed

    def add(self, **row):
        row["at"] = time.strftime("%Y-%m-%dT%H:%M:%S")
        self.rows.append(row)
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row, sort_keys=True) + "\n")

    def of(self, mutant, tree=None):
        """The last result of a mutant: on this tree, or on any."""
        for row in reversed(self.rows):
            if row.get("mutant") == mutant.id and row.get("digest") == mutant.digest() and tree in (None, row["tree"]):
                return row
        return None

    def passes(self, test, tree):
        return any(row.get("baseline") == test and row["tree"] == tree for row in self.rows)


# ---- areas

def read_areas():
    with open(os.path.join(HERE, "areas.json"), encoding="utf-8") as file:
        return json.load(file)


def unfit_patterns(areas, tests):
    """What is wrong with the patterns of the release preset's tests: a test that was renamed would be left out."""
    return [f"areas.json, {area}: '{pattern}' fits no test" for area, patterns in areas.items() for pattern in patterns
            if ":" not in pattern and not any(re.fullmatch(pattern, name) for name in tests)]


# ---- one mutant

class Runner:
    def __init__(self, root, results, jobs, log):
        self.copy = trees.Copy(root, jobs, log)
        self.root, self.results = root, results
        self.hash = trees.tree_hash(root)
        self.areas = read_areas()
        self.tests = {}
        for preset in ("release", "asan"):
            # A copy from an earlier run knows the tests of its day until it is configured again.
            if os.path.exists(os.path.join(root, "build", preset, "build.ninja")):
                self.copy.build(preset, ["build.ninja"])
            self.tests.update(trees.tests_of(root, preset))
        if not self.tests:
            raise SystemExit(f"mutants: no release build in {root}")
        for complaint in unfit_patterns(self.areas, self.tests):
            raise SystemExit(f"mutants: {complaint}")

    def of_area(self, area):
        """The area's tests in its order, and the patterns of presets that are not built here."""
        out, absent = [], []
        for pattern in self.areas[area]:
            fits = [t for name, t in self.tests.items() if re.fullmatch(pattern, name) and t not in out]
            out += sorted(fits, key=lambda t: t.usual or 60)
            if not fits and ":" in pattern:
                absent.append(pattern)
        return out, absent

    def cost(self, area):
        return sum(test.usual or 60 for test in self.of_area(area)[0])

    def write(self, path, text):
        with open(os.path.join(self.root, path), "w", encoding="utf-8") as file:
            file.write(text)

    def see(self, mutant, tree):
        """Applies one mutant, runs tests until one fails, takes it back, and adds the result."""
        path, line, text = tree.mutated(mutant)
        tests, absent = self.of_area(mutant.area)
        row = {"mutant": mutant.id, "digest": mutant.digest(), "tree": self.hash, "place": f"{path}:{line}",
               "build": 0.0, "test": 0.0, "ran": [], "absent": absent, "verdict": "survived", "by": ""}
        self.write(path, text)
        try:
            for test in tests:
                if not self.one(test, row):
                    break
        finally:
            self.write(path, tree.read(path))
        if row["verdict"] == "caught":
            self.verify(self.tests[row["by"]])
        self.results.add(**row)
        return row

    def one(self, test, row):
        """Builds and runs one test; False where it saw the mutant."""
        begin = time.monotonic()
        try:
            row["build"] += self.copy.build(test.preset, test.targets)
            begin = time.monotonic()
            seconds = self.copy.test(test)
        except trees.Failed as failure:
            built = failure.why != "build"
            row["test" if built else "build"] += time.monotonic() - begin
            row.update(verdict="caught" if built else "unbuilt", by=test.name, why=failure.why,
                       said=str(failure)[-1500:])
            return False
        if seconds is not None:
            row["test"] += seconds
            row["ran"].append(test.name)
        return True

    def verify(self, test):
        """A test that failed has to pass without the mutant: once for each tree."""
        if self.results.passes(test.name, self.hash):
            return
        try:
            self.copy.build(test.preset, test.targets)
            seconds = self.copy.test(test)
        except trees.Failed as failure:
            raise SystemExit(f"mutants: {test.name} fails without a mutant ({failure.why}):\n{failure}") from None
        test.usual = max(test.usual or 0, seconds or 0)
        self.results.add(baseline=test.name, tree=self.hash, seconds=seconds)


# ---- what is printed

def table(mutants, results, tree_hash):
    """Prints a row for each mutant, the survivors and the score. True where the score is what is wanted."""
    of_verdict = {"caught": [], "survived": [], "unbuilt": []}
    missing, older = [], 0
    print(f"{'mutant':42} {'place':46} {'caught by':24} {'build':>6} {'tests':>6}")
    for mutant in mutants:
        if not mutant.counts:
            print(f"{mutant.id:42} {mutant.file:46} {'equivalent' if mutant.equivalent else 'needs a GPU'}")
            continue
        row = results.of(mutant, tree_hash) or results.of(mutant)
        if row is None:
            missing.append(mutant)
            print(f"{mutant.id:42} {mutant.file:46} not run")
            continue
        older += row["tree"] != tree_hash
        how = {"survived": "SURVIVED", "unbuilt": "DOES NOT COMPILE", "caught": row["by"]}[row["verdict"]]
        how += " (time-out)" if row.get("why") == "time-out" else ""
        of_verdict[row["verdict"]].append(mutant)
        print(f"{mutant.id:42} {row['place']:46} {how:24} {row['build']:6.1f} {row['test']:6.1f}")
    caught, survived, unbuilt = of_verdict.values()
    total = len(caught) + len(survived)
    for mutant in unbuilt:
        print(f"does not compile, and so is no mutant: {mutant.id} (change it, or name it in passed_over)")
    for mutant in survived:
        print(f"survived: {mutant.id}: {mutant.says}")
    if older:
        print(f"{older} results are of another state of the tree")
    print(f"{len(caught)} caught of {total}: {len(caught) / total if total else 0:.3f} (wanted {WANTED})"
          + (f"; {len(missing)} not run" if missing else ""))
    return not missing and not unbuilt and total > 0 and len(caught) >= WANTED * total


def check_all(mutants, tree):
    """Prints each edit that fails; the number of them."""
    failed = 0
    for mutant in mutants:
        try:
            tree.place(mutant)
        except edits.EditError as error:
            failed += 1
            print(f"mutants: {error}", file=sys.stderr)
    areas = read_areas()
    # Only the root has every driver, and so every test.
    inside = os.environ.get("SECTILE_INSIDE") == "root"
    complaints = unfit_patterns(areas, trees.tests_of(ROOT, "release")) if inside else []
    for complaint in complaints:
        failed += 1
        print(f"mutants: {complaint}", file=sys.stderr)
    for mutant in mutants:
        if mutant.area not in areas:
            failed += 1
            print(f"mutants: {mutant.where}: {mutant.id}: areas.json has no '{mutant.area}'", file=sys.stderr)
    return failed


def run(mutants, options, results):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what runs is ended too
    log = os.path.join(ROOT, "build", "mutants", f"log-{options.shard[0]}")
    os.makedirs(os.path.dirname(log), exist_ok=True)
    with open(log, "wb"):
        pass
    runner = Runner(ROOT, results, options.jobs, log)
    tree = edits.Tree(ROOT)
    todo = [m for m in mutants if m.counts and not results.of(m, runner.hash)]
    if options.survivors:
        todo = [m for m in todo if (results.of(m) or {}).get("verdict") != "caught"]
    todo.sort(key=lambda mutant: runner.cost(mutant.area))  # the cheap ones first: most is known early
    for number, mutant in enumerate(todo, 1):
        row = runner.see(mutant, tree)
        print(f"[{number}/{len(todo)}] {mutant.id}: {row['verdict']} {row['by']}, build {row['build']:.0f} s, tests "
              f"{row['test']:.0f} s", flush=True)
    return runner.hash


def main(argv):
    options = arguments(argv)
    tree = edits.Tree(ROOT)
    if options.sample is not None:
        sites.sample(tree, options.sample, SAMPLED)
    try:
        mutants = edits.read_mutants(SET)
    except edits.EditError as error:
        raise SystemExit(f"mutants: {error}") from None
    if check_all(mutants, tree):
        return 1
    if options.check or options.sample is not None:
        print(f"{len(mutants)} mutants apply, {sum(m.origin.startswith('rule') for m in mutants)} of them by rule")
        return 0
    mutants = chosen(mutants, options)
    if options.list:
        for mutant in mutants:
            path, found = tree.place(mutant)
            print(f"{mutant.id:42} {mutant.origin:24} {path}:{tree.line(path, found)}: {mutant.says}")
        return 0
    if options.prepare:
        copy = os.path.join(ROOT, "build", "mutants", f"copy-{options.shard[0]}")
        trees.sync(ROOT, copy)
        if not options.own_build:
            trees.copy_builds(ROOT, copy, ("release", "asan"))
        print(copy)
        return 0
    results = Results(os.path.join(ROOT, "build", "mutants", "results.jsonl"))
    tree_hash = trees.tree_hash(ROOT) if options.table else run(mutants, options, results)
    return 0 if table(mutants, results, tree_hash) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
