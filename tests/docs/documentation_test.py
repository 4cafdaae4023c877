"""What documentation.py must find, on a made-up tree: python3 tests/docs/documentation_test.py."""
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import documentation  # noqa: E402

HELP = """Run cases
Usage: sectile check [OPTIONS]

Options:
  -h,--help                   Print this help message and exit
  -o,--out,--output TEXT      The file
  --op TEXT:{permute,matmul} [permute]  Excludes: --big
                              --no-option: a text that begins with one
  --limit UINT
"""


class MadeUpTree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("docs/reference/command-line.md", "## `sectile check`\n\n| option | |\n|---|---|\n| `--op` | x |\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run_text(self, text):
        file = self.write("README.md", text)
        work = self.root / "work"
        work.mkdir(exist_ok=True)
        return documentation.run_file(self.root, file, work, dict(os.environ), self.root / "programs")

    def testCommandsRunInOrderInOneFolder(self):
        self.assertEqual(self.run_text("```sh\necho 1 > a\n```\ntext\n```sh\ngrep 1 a\n```\n"), ([], 2))

    def testACommandThatFailsIsNamed(self):
        for command in ("false", "false; true", "false | true", "sectile-that-is-nowhere"):
            problems, _ = self.run_text(f"# A\n\n```sh\n{command}\n```\n")
            self.assertEqual(len(problems), 1, command)
            self.assertTrue(problems[0].startswith("README.md:3: exit code"), problems)

    def testMarkedBlocksAreNotRun(self):
        for mark in ("# needs a GPU", "# not run here: sets up the root"):
            self.assertEqual(self.run_text(f"```sh\n{mark}\nfalse\n```\n"), ([], 0))

    def testPythonRunsAmongTheCommands(self):
        text = "```python\nopen('a', 'w').write('it\\'s 1')\n```\n```sh\ngrep \"it's 1\" a\n```\n"
        self.assertEqual(self.run_text(text), ([], 2))
        problems, _ = self.run_text("```python\nraise SystemExit('no')\n```\n")
        self.assertEqual(len(problems), 1)
        self.assertTrue(problems[0].startswith("README.md:1: exit code 1"), problems)
        self.assertEqual(len(self.run_text("```python\nname_of_another_block\n```\n")[0]), 1)
        self.assertEqual(self.run_text("```python\n# needs a GPU\n1 / 0\n```\n"), ([], 0))

    def testAMarkStandsInTheFirstLineAndHasAReason(self):
        for block in ("false\n# needs a GPU", "# not run here:\nfalse", "# a note\nfalse"):
            self.assertEqual(len(self.run_text(f"```sh\n{block}\n```\n")[0]), 1, block)

    def testFoldersThatTheArchitectureDoesNotNameAreFound(self):
        for folder in ("src/plan", "shaders/permute", "shaders/conv2d", "tools/bench", "tools/__pycache__"):
            (self.root / folder).mkdir(parents=True)
        self.write("docs/design/architecture.md", "`plan`, `shaders/permute`, `tools/bench`, shaders/conv2d")
        self.assertEqual(documentation.check_folders(self.root),
                         ["docs/design/architecture.md: does not name shaders/conv2d"])

    def testBlocksOfOtherLanguagesAreRefused(self):
        for fence in ("```", "```bash", "```console"):
            self.assertEqual(len(self.run_text(f"{fence}\ntrue\n```\n")[0]), 1, fence)
        self.assertEqual(len(self.run_text("```sh\ntrue\n")[0]), 1)

    def testProgramsAreRunAmongTheCommands(self):
        program = self.write("programs/README_2", "#!/bin/sh\ngrep 1 a\n")
        program.chmod(0o755)
        text = "```cpp\nvoid part();\n```\n```sh\necho 1 > a\n```\n```cpp\nint main() {}\n```\n"
        self.assertEqual(self.run_text(text), ([], 2))
        program.write_text("#!/bin/sh\nexit 3\n")
        self.assertEqual(len(self.run_text(text)[0]), 1)
        self.assertEqual(self.run_text("```cpp\n// needs a GPU\nint main() {}\n```\n"), ([], 0))

    def testProgramsAreWritten(self):
        self.write("README.md", "```cpp\nint f();\n```\n")
        self.write("docs/guide/offline.md", "```cpp\n// Link sectile::packed.\nint main() {}\n```\n")
        lines = documentation.write_programs(self.root, self.root / "out")
        self.assertEqual(lines, ["README_1|sectile::sectile|part", "guide_offline_1|sectile::packed|main"])
        self.assertIn("int main() {}", (self.root / "out" / "guide_offline_1.cpp").read_text())

    def testCmakeLinesStandInATest(self):
        self.assertEqual(len(self.run_text("```cmake\nfind_package(x)\n```\n")[0]), 1)
        self.write("tests/consumer/CMakeLists.txt", "project(y)\nfind_package(x)\n")
        self.assertEqual(self.run_text("```cmake\nfind_package(x)\n```\n"), ([], 0))

    def testHelpIsRead(self):
        self.assertEqual(documentation.options_in_help(HELP), {"--out", "--output", "--op", "--limit"})
        commands = "Usage\n\nSubcommands:\n  plan    Print\n  pack    Bundle\n"
        self.assertEqual(documentation.commands_in_help(commands), ["plan", "pack"])

    def testTheReferenceHasEachCommandAndOption(self):
        self.assertEqual(documentation.check_options(self.root, {"check": {"--op"}}), [])
        self.assertEqual(len(documentation.check_options(self.root, {"check": {"--op", "--new"}})), 1)
        self.assertEqual(len(documentation.check_options(self.root, {"check": set()})), 1)
        self.assertEqual(len(documentation.check_options(self.root, {"check": {"--op"}, "new": set()})), 1)

    def testCommandsUseOptionsThatExist(self):
        for line, wrong in (("sectile check --op x", 0), ("sectile check --oops x", 1), ("sectile chekc", 1),
                            ("# needs a GPU\nA=1 sectile check \\\n    --oops", 1),
                            ("sectile check --op x  # --oops", 0)):
            self.write("docs/a.md", f"```sh\n{line}\n```\n")
            self.assertEqual(len(documentation.check_options(self.root, {"check": {"--op"}})), wrong, line)

    def testLinksLeadSomewhere(self):
        self.write("docs/b.md", "# A title, with `code`: b\n\n```sh\n# no heading\n```\n")
        for text, wrong in (("[b](docs/b.md)", 0), ("[b](b.md)", 1), ("[b](docs/b.md#a-title-with-code-b)", 0),
                            ("[b](docs/b.md#no-heading)", 1), ("[b](https://example.org/b.md)", 0),
                            ("[x](#here)\n# Here", 0),
                            ("[x](#there)\n# Here", 1), ("`docs/b.md`", 0), ("`docs/c.md`", 1), ("`docs/STEM.md`", 0)):
            self.write("README.md", text)
            self.assertEqual(len(documentation.check_links(self.root)[0]), wrong, text)


if __name__ == "__main__":
    unittest.main()
