"""The copies of the tree in which mutants are built, and the builds and tests in them."""
import fcntl
import filecmp
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field

# `sectile check` runs all of its cases, but says meanwhile how many have failed.
COUNTED = re.compile(rb"^check: .* [1-9]\d* failed$", re.MULTILINE)
MARK = ".mutants-copy"  # only a tree with this file is ever edited
LEFT_OUT = {".git", ".root", ".cache", "build", "out", "__pycache__", MARK}
# What a verdict depends on: not documentation, and not the mutants themselves.
RELEVANT = ("cmake/", "include/", "shaders/", "src/", "tests/", "tools/", "CMakeLists.txt", "CMakePresets.json")
IRRELEVANT = ("tests/mutants/", "tools/dev", "tools/python/")


def files_of(root):
    for at, folders, files in os.walk(root):
        inside = os.path.relpath(at, root)
        folders[:] = sorted(f for f in folders if f not in LEFT_OUT)
        for name in sorted(files):
            if name not in LEFT_OUT:
                yield os.path.normpath(os.path.join(inside, name))


def sync(source, copy):
    """Makes `copy` the same as `source` but for builds. A changed file is new to the build, whatever its date is
    there."""
    fresh = not os.path.exists(os.path.join(copy, MARK))
    os.makedirs(copy, exist_ok=True)
    wanted = set(files_of(source))
    for path in set(files_of(copy)) - wanted:
        os.remove(os.path.join(copy, path))
    for path in sorted(wanted):
        here, there = os.path.join(source, path), os.path.join(copy, path)
        if os.path.exists(there) and filecmp.cmp(here, there, shallow=False):
            continue
        os.makedirs(os.path.dirname(there), exist_ok=True)
        shutil.copy2(here, there)
        if not fresh:
            os.utime(there)
    with open(os.path.join(copy, MARK), "w", encoding="utf-8"):
        pass


def copy_builds(source, copy, presets):
    """Copies the builds that the copy lacks, so that a first build is an incremental one."""
    for preset in presets:
        here, there = (os.path.join(root, "build", preset) for root in (source, copy))
        if os.path.exists(os.path.join(here, "build.ninja")) and not os.path.exists(os.path.join(there, "build.ninja")):
            os.makedirs(os.path.dirname(there), exist_ok=True)
            shutil.rmtree(there, ignore_errors=True)
            subprocess.run(["cp", "-a", here, there], check=True)


def tree_hash(root):
    sum_ = hashlib.sha256()
    for path in files_of(root):
        if path.startswith(RELEVANT) and not path.startswith(IRRELEVANT) and not path.endswith(".md"):
            with open(os.path.join(root, path), "rb") as file:
                sum_.update(path.encode() + b"\0" + hashlib.sha256(file.read()).digest())
    return sum_.hexdigest()[:16]


@dataclass
class Test:
    name: str  # PRESET:NAME, and NAME alone for the release preset
    preset: str
    command: list
    folder: str
    environment: dict
    limit: float  # seconds that ctest gives it
    skip: int = None
    usual: float = None  # seconds
    targets: list = field(default_factory=list)


def tests_of(root, preset):
    """What ctest would run, from ctest itself; none where the preset is not built here."""
    folder = os.path.join(root, "build", preset)
    if not os.path.exists(os.path.join(folder, "build.ninja")):
        return {}
    # By a folder of its own that names the build: in the build itself ctest would begin its log again, perhaps while
    # another ctest writes it.
    with tempfile.TemporaryDirectory() as outside:
        with open(os.path.join(outside, "CTestTestfile.cmake"), "w", encoding="utf-8") as file:
            file.write(f'subdirs("{folder}")\n')
        listed = subprocess.run(["ctest", "--test-dir", outside, "--show-only=json-v1"], check=True,
                                capture_output=True, text=True).stdout
    costs = costs_of(os.path.join(folder, "Testing", "Temporary", "CTestCostData.txt"))
    out = {}
    for row in json.loads(listed)["tests"]:
        has = {p["name"]: p["value"] for p in row.get("properties", [])}
        name = row["name"] if preset == "release" else f"{preset}:{row['name']}"
        out[name] = Test(name, preset, row.get("command", []), has.get("WORKING_DIRECTORY", folder),
                         dict(e.split("=", 1) for e in has.get("ENVIRONMENT", [])), has.get("TIMEOUT", 1500.0),
                         has.get("SKIP_RETURN_CODE"), costs.get(row["name"]), targets_of(row, folder))
    return out


def caches():
    """What tools/dev test keeps of compiled kernels, in folders of the mutants' own: keyed by content, as there."""
    folder = os.environ.get("SECTILE_CACHE")
    if not folder:
        return {}
    mesa = os.path.join(folder, "mutants-mesa")
    os.makedirs(mesa, exist_ok=True)
    return {"SECTILE_PASSED_KERNELS": os.path.join(folder, "mutants-kernels"), "MESA_SHADER_CACHE_DIR": mesa,
            "MESA_SHADER_CACHE_MAX_SIZE": "512M"}


def costs_of(path):
    out = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.startswith("---"):
                    break
                words = line.split()
                if len(words) == 3 and float(words[2]) > 0:
                    out[words[0]] = float(words[2])
    return out


def targets_of(row, folder):
    """What ninja has to build for a test: the programs in its command, or all where it takes more than these."""
    if re.match(r"consumer$|docs_(?!reader|links|options)", row["name"]):
        return ["all"]
    inside = [os.path.relpath(word, folder) for word in row.get("command", []) if word.startswith(folder + os.sep)]
    # Other words are files that a test writes or reads.
    return [word for word in inside if os.access(os.path.join(folder, word), os.X_OK)
            and os.path.isfile(os.path.join(folder, word))] or ["all"]


class Failed(Exception):
    """A build or a test that failed; its text is the end of what it said."""

    def __init__(self, why, said):
        super().__init__(said)
        self.why = why


class Copy:
    """The tree at `root`, which is a copy and may be edited. Its processes are run one at a time."""

    def __init__(self, root, jobs, log):
        if not os.path.exists(os.path.join(root, MARK)):
            raise SystemExit(f"mutants: {root} is no copy made for mutants: nothing there is edited")
        self.root, self.jobs, self.log = root, jobs, log
        # pylint: disable-next=consider-using-with
        self.lock = open(os.path.join(root, MARK), "w", encoding="utf-8")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SystemExit("mutants: another run uses this copy (another --shard has its own)") from None

    def run(self, command, folder, limit, environment=None):
        """Seconds and exit code. The code is None after a time-out, and 1 as soon as the output counts a failure."""
        begin, start = time.monotonic(), os.path.getsize(self.log)
        with open(self.log, "ab") as log, subprocess.Popen(
                command, cwd=folder, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                env={**os.environ, **caches(), **(environment or {})}, start_new_session=True) as process:
            try:
                code = self.wait(process, begin + limit, start)
            finally:
                end_group(process)
        return time.monotonic() - begin, code

    def wait(self, process, end, start):
        while True:
            try:
                return process.wait(0.5)
            except subprocess.TimeoutExpired:
                if time.monotonic() > end:
                    return None
            if os.path.getsize(self.log) > start:
                with open(self.log, "rb") as log:
                    log.seek(start)
                    if COUNTED.search(log.read()):
                        return 1

    def build(self, preset, targets):
        folder = os.path.join(self.root, "build", preset)
        seconds, code = self.run(["ninja", "-C", folder, "-j", str(self.jobs), *targets], self.root, 3600)
        if code != 0:
            said = self.said()
            # Nothing was compiled: that is a fault of this program or of the tree, and no mutant's.
            if "ninja: error:" in said[said.rfind("ninja: Entering directory"):]:
                raise SystemExit(f"mutants: ninja refuses {' '.join(targets)} of {preset}:\n{said[-600:]}")
            raise Failed("build", said)
        return seconds

    def test(self, test):
        """Seconds, or None where it was skipped."""
        command = list(test.command)
        if os.path.basename(command[0]).startswith("test_"):
            command.append("--abort-after=1")
        # A test that keeps what passed (cuda_kernels) takes 1 s as a rule, and a minute after an edit of a header.
        limit = min(test.limit, 3 * test.usual + 120) if test.usual else test.limit
        seconds, code = self.run(command, test.folder, limit, test.environment)
        if code is None:
            raise Failed("time-out", f"no end after {limit:.0f} s")
        if test.skip is not None and code == test.skip:
            return None
        if code != 0:
            raise Failed("failed", self.said())
        return seconds

    def said(self):
        with open(self.log, "rb") as log:
            log.seek(max(0, os.path.getsize(self.log) - 4000))
            return log.read().decode(errors="replace")


def end_group(process):
    """Ends what a command has left running: its process group is its own."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
