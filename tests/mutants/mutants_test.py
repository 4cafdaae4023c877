"""The edit engine: what is found, what is refused, what a rule makes, and what a copy may be."""
import contextlib
import io
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import edits
import mutants
import sites
import trees

ONE = """# a comment
mutant: bound
origin: hand
area: plan
file: one.cpp
says: Something
  that takes two lines.
= int f(int a, int b) {
- if (a < b) return 0;
+ if (a <= b) return 0;
"""
SOURCE = """int f(int a, int b) {
  if (a < b) return 0;
  return a;
}
"""


def tree_of(folder, files):
    for path, text in files.items():
        path = os.path.join(folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return edits.Tree(folder)


class Case(unittest.TestCase):
    def setUp(self):
        # pylint: disable-next=consider-using-with
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = self.temporary.name
        self.one = edits.parse(ONE)[0]

    def mutated(self, files, mutant=None):
        return tree_of(self.folder, files).mutated(mutant or self.one)


class Edits(Case):
    def testReadsBlocks(self):
        self.assertEqual((self.one.id, self.one.says), ("bound", "Something that takes two lines."))
        self.assertEqual(self.one.find, ["int f(int a, int b) {", "if (a < b) return 0;"])
        self.assertEqual(self.one.replace[1], "if (a <= b) return 0;")
        self.assertTrue(self.one.counts)
        self.assertFalse(edits.parse(ONE.replace("says:", "equivalent: proved\nsays:"))[0].counts)

    def testAppliesWhateverTheFormat(self):
        other = "int f(int a,\n      int b)\n{  // why\n  if (a <\n      b) return /* none */ 0;\n  return a;\n}\n"
        for text in (SOURCE, other):
            path, line, new = self.mutated({"src/one.cpp": text})
            self.assertEqual((path, line), ("src/one.cpp", 1))
            self.assertIn("if (a <= b) return 0;", new)
            self.assertTrue(new.endswith("return a;\n}\n"))

    def testFindsAFileThatMovedOrWasRenamed(self):
        self.assertEqual(self.mutated({"src/deep/one.cpp": SOURCE})[0], "src/deep/one.cpp")
        os.remove(os.path.join(self.folder, "src/deep/one.cpp"))
        self.assertEqual(self.mutated({"tools/two.cpp": SOURCE})[0], "tools/two.cpp")

    def testRefusesWhatStandsNotOnce(self):
        with self.assertRaisesRegex(edits.EditError, "nowhere"):
            self.mutated({"src/one.cpp": SOURCE.replace("a < b", "b < a")})
        with self.assertRaisesRegex(edits.EditError, "2 times: src/one.cpp:1, src/one.cpp:5"):
            self.mutated({"src/one.cpp": SOURCE + SOURCE})

    def testTakesWholeWordsAndOperators(self):
        mutant = edits.parse(ONE.replace("= int f(int a, int b) {\n", "").replace("- if (a < b) return 0;", "- a <")
                             .replace("+ if (a <= b) return 0;", "+ a >"))[0]
        with self.assertRaisesRegex(edits.EditError, "nowhere"):
            self.mutated({"src/one.cpp": "if (a <= b) f(aa < b, a_ < b);\n"}, mutant)
        self.assertEqual(self.mutated({"src/one.cpp": "f(aa < b, a < b);\n"}, mutant)[2], "f(aa < b, a > b);\n")

    def testStringsAreExact(self):
        text = ONE.replace("= int f(int a, int b) {\n", "").replace("if (a < b) return 0;", 'f("a b");')
        mutant = edits.parse(text)[0]
        with self.assertRaisesRegex(edits.EditError, "nowhere"):
            self.mutated({"src/one.cpp": 'f("a  b");\n'}, mutant)
        self.mutated({"src/one.cpp": 'f( "a b" );\n'}, mutant)

    def testRefusesBadFiles(self):
        for text, why in ((ONE.replace("area: plan\n", ""), "no 'area'"), (ONE.replace("<=", "<"), "changes nothing"),
                          (ONE.replace("- if (a < b) return 0;\n= ", "").replace("- if", "* if"), "neither"),
                          ("origin: hand\n", "want 'mutant: ID' first")):
            with self.assertRaisesRegex(edits.EditError, why):
                edits.parse(text)
        for name in ("a.txt", "b.txt"):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(ONE)
        with self.assertRaisesRegex(edits.EditError, "b.txt:2: bound stands in a.txt:2 too"):
            edits.read_mutants(self.folder)


class Rules(Case):
    def made(self, line, before="{"):
        return {(rule, new) for rule, new, _ in sites.sites_of_line(line, before)}

    def testEachRuleMakesItsChange(self):
        self.assertEqual(self.made("  barrier();"), {("barrier", "")})
        self.assertEqual(self.made("  barrier();", "  if (first != 0u)"), set())
        self.assertEqual(self.made("if (a < n && b >= m) {"),
                         {("bound", "if (a <= n && b >= m) {"), ("bound", "if (a < n && b > m) {"),
                          ("clause", "if (b >= m) {"), ("clause", "if (a < n) {")})
        self.assertEqual(self.made("x = std::min<int>(f(a, b), c) * 2;"), {("clamp", "x = (f(a, b)) * 2;")})
        self.assertEqual(self.made("n = (m + kStep - 1u) / kStep;"),
                         {("clamp", "n = (m) / kStep;"), ("bound", "n = (m + kStep) / kStep;")})
        self.assertEqual(self.made("scratch_bytes = 4 * n;"), {("size", "scratch_bytes = (4 * n) / 2;")})
        self.assertEqual(self.made('if (n > most) return fail(kind, "n");'),
                         {("check", 'if (false && (n > most)) return fail(kind, "n");'),
                          ("bound", 'if (n >= most) return fail(kind, "n");')})
        self.assertEqual(self.made("run(a.size[0], a.size[1], a.size[2]);"),
                         {("exchange", "run(a.size[1], a.size[0], a.size[2]);"),
                          ("exchange", "run(a.size[0], a.size[2], a.size[1]);")})
        self.assertEqual(self.made("if (f(a) || b.c || !d) return x;"),
                         {("clause", "if (b.c || !d) return x;"), ("clause", "if (f(a) || !d) return x;"),
                          ("clause", "if (f(a) || b.c) return x;")})
        self.assertEqual(self.made("if (a && (b || c)) {"), {("clause", "if ((b || c)) {"), ("clause", "if (a) {")})
        self.assertEqual(self.made("if (a && b || c) {"), set())
        self.assertEqual(self.made("std::vector<int> x;"), set())

    def testASiteIsUniqueByTheLinesAroundIt(self):
        text = "void f() {\n  first();\n  barrier();   // one\n  second();\n  barrier();\n}\n"
        tree = tree_of(self.folder, {"shaders/permute/permute_box.comp": text})
        found = [sites.mutant_of(tree, site) for site in sites.sites(tree)]
        self.assertEqual([m.find for m in found], [["first();", "barrier();"], ["second();", "barrier();"]])
        for mutant in found:
            mutant.origin = "rule barrier, seed 1"
            again = edits.parse(sites.text_of(mutant))[0]
            self.assertEqual((again.id, again.find, again.replace), (mutant.id, mutant.find, mutant.replace))
            self.assertEqual(tree.mutated(again)[2].count("barrier();"), 1)

    def testASampleIsTheSameForASeedAndKeepsProofs(self):
        lines = "".join(f"  if (a{i} < n) f({i});\n" for i in range(40))
        tree = tree_of(self.folder, {"shaders/permute/permute_box.comp": lines})
        path = os.path.join(self.folder, "sampled.txt")

        def drawn(seed):
            sites.sample(tree, seed, path)
            with open(path, encoding="utf-8") as file:
                return file.read()
        first = drawn(1)
        self.assertEqual(drawn(1), first)
        self.assertNotEqual(drawn(2), first)
        with open(path, "w", encoding="utf-8") as file:
            file.write(first.replace("says:", "equivalent: n is never reached\nsays:"))
        self.assertIn("equivalent: n is never reached", drawn(1))
        with open(os.path.join(self.folder, "passed_over"), "w", encoding="utf-8") as file:
            file.write(edits.parse(first)[0].id + " costs time alone\n")
        self.assertNotEqual(drawn(1), first)


class Copies(Case):
    def testACopyIsTheTreeAndAnEditedFileIsMended(self):
        tree = os.path.join(self.folder, "tree")
        tree_of(tree, {"src/a.cpp": "1", "src/b.cpp": "2", "build/x": "3", "docs/d.md": "4"})
        copy = os.path.join(tree, "build", "mutants", "copy-1")
        trees.sync(tree, copy)
        self.assertEqual(set(trees.files_of(copy)), {"src/a.cpp", "src/b.cpp", "docs/d.md"})
        tree_of(copy, {"src/a.cpp": "mutated", "src/c.cpp": "5"})
        before = trees.tree_hash(tree)
        self.assertNotEqual(trees.tree_hash(copy), before)
        os.utime(os.path.join(tree, "src/a.cpp"), (1, 1))
        trees.sync(tree, copy)
        self.assertEqual(trees.tree_hash(copy), before)
        self.assertGreater(os.path.getmtime(os.path.join(copy, "src/a.cpp")), 1)
        tree_of(tree, {"docs/d.md": "another", "tests/mutants/set/x.txt": "6"})
        self.assertEqual(trees.tree_hash(tree), before)

    def testOnlyACopyIsEdited(self):
        with self.assertRaisesRegex(SystemExit, "no copy"):
            trees.Copy(self.folder, 1, os.devnull)

    def testAProgramIsEndedInTime(self):
        with open(os.path.join(self.folder, trees.MARK), "w", encoding="utf-8"):
            pass
        log = os.path.join(self.folder, "log")
        with open(log, "w", encoding="utf-8"):
            pass
        copy = trees.Copy(self.folder, 1, log)
        self.addCleanup(copy.lock.close)
        self.assertEqual(copy.run(["sh", "-c", "exit 3"], self.folder, 10)[1], 3)
        self.assertIsNone(copy.run(["sleep", "20"], self.folder, 0.1)[1])
        text = "echo 'check: 5/600 after 10 s, 37 s left, 1 failed'; sleep 20"
        seconds, code = copy.run(["sh", "-c", text], self.folder, 30)
        self.assertEqual(code, 1)
        self.assertLess(seconds, 10)


    def testATestBuildsTheProgramsOfItsCommand(self):
        tree_of(self.folder, {"test_a": "", "data/a.txt": "", "made/of": ""})
        os.chmod(os.path.join(self.folder, "test_a"), 0o755)

        def targets(name, *words):
            command = [os.path.join(self.folder, w) for w in words]
            return trees.targets_of({"name": name, "command": command}, self.folder)
        self.assertEqual(targets("a", "test_a", "data/a.txt", "made", "not-there.txt"), ["test_a"])
        self.assertEqual(targets("a", "data/a.txt"), ["all"])
        self.assertEqual(targets("consumer", "test_a"), ["all"])

    def testABuildThatDoesNotBeginIsNoVerdict(self):
        tree_of(self.folder, {"build/release/build.ninja": "rule cc\n command = false\nbuild a: cc\n", trees.MARK: "",
                              "log": ""})
        copy = trees.Copy(self.folder, 1, os.path.join(self.folder, "log"))
        self.addCleanup(copy.lock.close)
        with self.assertRaisesRegex(trees.Failed, "FAILED"):
            copy.build("release", ["a"])
        with self.assertRaisesRegex(SystemExit, "unknown target 'b'"):
            copy.build("release", ["b"])


class Table(Case):
    def testTheScoreLeavesEquivalentsOut(self):
        path = os.path.join(self.folder, "results.jsonl")
        results = mutants.Results(path)
        ids = [f"m{i}" for i in range(20)]
        all_of = [edits.Mutant(i, find=["a"], replace=["b"]) for i in ids] + [edits.Mutant("e", equivalent="proved")]

        def score():
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                good = mutants.table(all_of, mutants.Results(path), "t")
            return good, out.getvalue()
        for mutant in all_of[:18]:
            results.add(mutant=mutant.id, digest=mutant.digest(), tree="t", verdict="caught", by="plan", why="failed",
                        place="x:1", build=1.0, test=1.0)
        self.assertEqual(score()[0], False)  # two have not run
        results.add(mutant="m18", digest=all_of[18].digest(), tree="old", verdict="caught", by="plan", why="failed",
                    place="x:1", build=1.0, test=1.0)
        for verdict, good, text in (("survived", True, "19 caught of 20: 0.950"), ("caught", True, "20 caught of 20")):
            why = {"why": "failed"} if verdict == "caught" else {}
            results.add(mutant="m19", digest=all_of[19].digest(), tree="t", verdict=verdict, by="", place="x:1",
                        build=1.0, test=1.0, **why)
            got = score()
            self.assertEqual(got[0], good)
            self.assertIn(text, got[1])
            self.assertIn("1 results are of another state", got[1])
        results.add(mutant="m18", digest=all_of[18].digest(), tree="t", verdict="unbuilt", by="", why="build",
                    place="x:1", build=1.0, test=1.0)
        got = score()
        self.assertEqual(got[0], False)
        self.assertIn("no mutant: m18", got[1])
        self.assertIn("19 caught of 19", got[1])
        results.add(mutant="m18", digest=all_of[18].digest(), tree="t", verdict="survived", by="", why="",
                    place="x:1", build=1.0, test=1.0)
        results.add(mutant="m19", digest=all_of[19].digest(), tree="t", verdict="survived", by="", why="",
                    place="x:1", build=1.0, test=1.0)
        self.assertEqual(score()[0], False)

    def testShardsAndPatternsChoose(self):
        all_of = [edits.Mutant(f"m{i}") for i in range(5)]

        def ids(*argv):
            return [m.id for m in mutants.chosen(all_of, mutants.arguments(list(argv)))]
        self.assertEqual(ids("--shard", "1/2") + ids("--shard", "2/2"), ["m0", "m2", "m4", "m1", "m3"])
        self.assertEqual(ids("--only", "m[13]"), ["m1", "m3"])
        with self.assertRaisesRegex(SystemExit, "fits no mutant"):
            ids("--only", "x*")


if __name__ == "__main__":
    unittest.main()
