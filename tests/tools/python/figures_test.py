#!/usr/bin/env python3
"""figures.py on made-up result files: no figure here was measured."""
import json
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent.parent.parent.parent / "tools" / "python"
sys.path.insert(0, str(TOOLS))
import figures  # noqa: E402

CARD = "Made-up card 1"


def report(**more):
    return {"device": CARD, "driver": "driver 1", "planner": "7", "date": "2026-01-02T03:04Z",
            "command": "sectile bench x", "profile": {"name": CARD}, "rows": []} | more


def preset_row(problem, seconds, rival=None, **more):
    row = {"name": problem, "problem": problem, "candidate": "kernel 1", "ours": {"median_s": seconds},
           "contenders": [{"flops": 2e9 / seconds}], "rivals_s": {"copy_cuda": 1e-9}}
    if rival:
        row["rivals_s"]["cudnn"] = rival
    return row | more


def sweep_row(group, kind, seconds, copy, **more):
    return {"class": group, "type": kind, "problem": f"{group} {seconds}", "candidate": "kernel 2", "median_s": seconds,
            "copy_s": copy} | more


def permutes(**more):
    rows = [preset_row("permute f32 8x6 axes=1,0", 2e-6, 1e-6, fraction_of_copy=0.91, goal_met=True),
            preset_row("permute f32 9x7 axes=1,0", 40e-6, 60e-6, fraction_of_copy=0.31, goal_met=False, unsteady=True),
            {"name": "broken", "problem": "permute f32 9x9 axes=1,0", "error": "no memory"}]
    return report(preset="seeds-permute", rows=rows) | more


def convolutions(**more):
    rows = []
    for layout, ours in (("f32 nchw", 1e-6), ("f16 nhwc", 2e-6)):
        rows += [preset_row(f"conv2d {layout} 1x8x9x9 k=8", ours, 2e-6),
                 preset_row(f"conv2d {layout} 1x8x9x9 k=8 epi=bias+relu", ours * 1.5, 3e-6)]
    return report(preset="conv2d", rows=rows) | more


class Figures(unittest.TestCase):
    def test_what_was_put_in_by_hand_stands_with_the_command(self):
        self.put(a=permutes(rivals="Torch 1", note="Another card was busy."), b=convolutions())
        self.assertEqual(self.run_it().returncode, 0)
        self.assertIn("`sectile bench x`. Rivals: Torch 1. Another card was busy.\n", self.page())
        self.assertIn("`sectile bench x`.\n", self.page())

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "docs" / "figures").mkdir(parents=True)
        (self.root / "README.md").write_text(f"Before.\n\n{figures.BEGIN}\nold\n{figures.END}\n\nAfter.\n")

    def put(self, **files):
        for name, value in files.items():
            (self.root / "docs" / "figures" / f"{name}.json").write_text(json.dumps(value))

    def run_it(self, *arguments):
        return subprocess.run([sys.executable, "-B", str(TOOLS / "figures.py"), "--root", str(self.root), *arguments],
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def page(self):
        return (self.root / "docs" / "performance.md").read_text()

    def command(self, changed):
        """A sectile whose planner chooses otherwise for these problems."""
        path = self.root / "sectile"
        path.write_text(f"#!{sys.executable}\nimport json, sys\nfiles = sys.argv[sys.argv.index('--replan') + 1:]\n"
                        f"changed = [{{'row': p, 'problem': p, 'was': 'a', 'now': 'b'}} for p in {changed!r}]\n"
                        "print(json.dumps({'files': {f: {'rows': 1, 'changed': changed} for f in files}}))\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def test_what_is_written_is_what_the_check_wants(self):
        self.put(a=permutes(), b=convolutions())
        self.assertEqual(self.run_it().returncode, 0)
        self.assertEqual(self.run_it("--check").returncode, 0)
        page = self.page()
        self.assertIn("| permute f32 8x6 axes=1,0 | `kernel 1` | 2.0 | 0.91 | 0.50 |", page)
        self.assertIn("| permute f32 9x7 axes=1,0 | `kernel 1` (unsteady) | 40.0 | 0.31 | 1.50 |", page)
        self.assertIn("| broken | failed | failed | failed | failed |", page)
        self.assertIn("Rows that reach their goal: 1 of 2 on Vulkan.", page)
        self.assertIn("| conv2d f32 nchw 1x8x9x9 k=8 | `kernel 1` | 1.0; 1.5 | 2.00 |", page)
        self.assertIn("`sectile bench x`", page)
        readme = (self.root / "README.md").read_text()
        self.assertTrue(readme.startswith("Before.\n") and readme.endswith("After.\n"))
        self.assertNotIn("old", readme)
        self.assertIn("1 run at 0.90 of a copy of the same bytes or more, the worst at 0.31", readme)
        self.assertIn("f32 in NCHW 2.00 to 2.00, f16 in NHWC 1.00 to 1.00", readme)
        for link in ("permutes-made-up-card-1", "convolutions-made-up-card-1"):
            self.assertIn(f"docs/performance.md#{link}", readme)

    def test_edits_by_hand_are_seen(self):
        self.put(a=permutes())
        self.run_it()
        for path in (self.root / "docs" / "performance.md", self.root / "README.md"):
            was = path.read_text()
            path.write_text(was.replace("0.31", "0.97"))
            ran = self.run_it("--check")
            self.assertEqual(ran.returncode, 1)
            self.assertIn("0.97", ran.stderr)
            self.assertIn("0.31", ran.stderr)
            path.write_text(was)
        page = self.root / "docs" / "performance.md"
        page.write_text(page.read_text() + "more\n")
        self.assertIn(": has 'more', the result files give ''", self.run_it("--check").stderr)
        page.write_text(self.page().removesuffix("more\n"))
        self.assertEqual(self.run_it("--check").returncode, 0)
        self.put(a=permutes(date="2026-02-02T00:00Z"))
        self.assertEqual(self.run_it("--check").returncode, 1)

    def test_a_plan_that_is_no_longer_chosen_is_marked_and_no_failure(self):
        self.put(a=permutes(), b=report(sweep="permute", rows=[sweep_row("a x", "f32", 2e-6, 1e-6)]))
        self.run_it()
        plain = self.page()
        command = self.command(["permute f32 8x6 axes=1,0", "a x 2e-06"])
        ran = self.run_it("--check", "--sectile", command)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("planned otherwise now: a.json: permute f32 8x6 axes=1,0: timed with a, now b", ran.stdout)
        self.assertEqual(self.run_it("--sectile", command).returncode, 0)
        self.assertIn("| permute f32 8x6 axes=1,0 | `kernel 1` † | 2.0 |", self.page())
        self.assertNotIn("`kernel 1` (unsteady) †", self.page())
        self.assertIn("1 of 1 rows † are planned otherwise now.", self.page())
        self.assertEqual(self.run_it("--check").returncode, 0)   # with marks and without: the same page
        self.assertEqual(self.run_it("--check", "--sectile", self.command([])).returncode, 0)
        self.run_it("--sectile", self.command([]))
        self.assertEqual(self.page(), plain)

    def test_apis_share_a_table_and_cards_do_not(self):
        cuda = permutes(profile={"name": CARD, "api": "cuda"})
        cuda["rows"] = cuda["rows"][:1]
        cuda["rows"][0] = cuda["rows"][0] | {"ours": {"median_s": 3e-6}}
        self.put(a=permutes(), b=cuda, c=permutes(device="Made-up card 2"))
        self.run_it()
        page = self.page()
        self.assertIn("axes=1,0 | `kernel 1` | 2.0 | 0.91 | 0.50 | `kernel 1` | 3.0 | 0.91 | 0.33 |", page)
        self.assertIn("| broken | failed | failed | failed | failed |  |  |  |  |", page)
        self.assertLess(page.index("### Permutes: Made-up card 1"), page.index("## Made-up card 2"))
        self.assertIn("### Permutes: Made-up card 2", page)
        self.put(d=permutes())
        ran = self.run_it()
        self.assertEqual(ran.returncode, 2)
        self.assertIn("d.json, a.json: both are --preset seeds-permute of one card and API", ran.stderr)

    def test_sweeps_are_summed_up_by_class_and_type(self):
        rows = [sweep_row("a x", "f32", 2e-6, 0, rivals_s={"torch": 1e-6, "eager": 4e-6}),
                sweep_row("a x", "f16", 1e-6, 0, rivals_s={"torch": 2e-6}),
                sweep_row("b y", "f16", 4e-6, 0, rivals_s={}),
                {"class": "b y", "type": "f16", "problem": "p", "error": "no"}]
        self.put(a=report(sweep="matmul", rows=rows), b=permutes(),
                 c=report(sweep="matmul", rows=[sweep_row("a x", "f32", 2e-6, 0, regret=1.5),
                                                sweep_row("b y", "f32", 3e-6, 0, regret=1.0)]))
        self.run_it()
        page = self.page()
        self.assertIn("| a x | 2 | 0.50 | 0.50 | 0.50 | 1.00 | 1.50 | 1.50 |", page)
        self.assertIn("| b y | 0 | - | - | - | - | 1.00 | 1.00 |", page)
        self.assertIn("| f16 | 1 | 2.00 | 2.00 | 2.00 | 2.00 | - | - |", page)
        self.assertIn("| all | 2 | 0.50 | 0.50 | 0.50 | 1.00 | 1.22 | 1.50 |", page)

    def test_rows_of_the_matrix_unit_are_a_section_of_their_own(self):
        row = preset_row("matmul f16 nt 4096x4096x4096", 2e-4, 1e-4, goal_met=False)
        self.put(a=permutes(), b=report(preset="matmul", rows=[row]), c=report(preset="matmul-units", rows=[row]))
        self.assertEqual(self.run_it().returncode, 0)
        page = self.page()
        self.assertIn("### Matmuls: Made-up card 1", page)
        part = page[page.index("### Matmuls on the matrix unit: Made-up card 1"):]
        self.assertIn("| row | Vulkan: kernel | µs | TFLOP/s | rival / ours |", part)
        self.assertIn("| matmul f16 nt 4096x4096x4096 | `kernel 1` | 200.0 | 10.0 | 0.50 |", part)
        self.assertNotIn("- CUDA", (self.root / "README.md").read_text())
        self.put(d=report(preset="matmul-units", driver="CUDA 13", profile={"name": CARD, "api": "cuda"}, rows=[row]))
        self.assertEqual(self.run_it().returncode, 0)
        self.assertIn("- CUDA: 1 matmuls on the matrix unit, some with an epilogue: 0.50 to 0.50 of the rate\n",
                      (self.root / "README.md").read_text())

    def test_files_that_are_none_are_named(self):
        self.assertIn("no result file", self.run_it().stderr)
        for value, said in (([], "a.json: no device"), (report(preset="matmul"), "a.json: no rows"),
                            (permutes(profile=None), "a.json: no profile"),
                            (permutes(preset="host"), "want one of --preset")):
            self.put(a=value)
            ran = self.run_it()
            self.assertEqual(ran.returncode, 2)
            self.assertIn(said, ran.stderr)
        (self.root / "docs" / "figures" / "a.json").write_text("{")
        self.assertIn("a.json", self.run_it().stderr)
        rows = [preset_row(f"permute f32 {i}x7 axes=1,0", 1e-6, fraction_of_copy=1) for i in range(250)]
        self.put(a=permutes(rows=rows))
        self.assertIn("250 at most", self.run_it().stderr)
        self.assertFalse((self.root / "docs" / "performance.md").exists())
        self.put(a=permutes())
        (self.root / "README.md").write_text("no place\n")
        self.assertIn("README.md has no lines", self.run_it().stderr)


if __name__ == "__main__":
    unittest.main()
