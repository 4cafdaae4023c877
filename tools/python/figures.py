#!/usr/bin/env python3
"""Makes docs/performance.md, and the figures of README.md, from the result files in docs/figures.

    figures.py [--sectile BIN]            writes both
    figures.py --check [--sectile BIN]    says where they differ from what the files give; exit code 1 if they do

A result file is what `sectile bench --preset P` or `--sweep OP` wrote by --json-file: it names the device, its profile,
the driver, the planner, the date and the command. Members put in by hand: "rivals" says which versions they
had, "note" (sentences) what else is to be known.
With --sectile, a row whose plan today's planner no longer chooses is marked with a dagger, and named on standard
output.
Marks are no reason to fail: the figures are still those of the day, and the page is the same without them.
"""
import argparse
import itertools
import json
import math
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MOST_LINES = 250
MARK = " †"
TWIN = " epi=bias+relu"   # conv2d's rows with it stand in one line with those without
BEGIN, END = "<!-- figures: made by tools/python/figures.py -->", "<!-- end of figures -->"
APIS = {"vulkan": "Vulkan", "cuda": "CUDA"}
PRESETS = {"seeds-permute": "Permutes", "matmul": "Matmuls", "matmul-units": "Matmuls on the matrix unit",
           "conv2d": "Convolutions"}
SWEEPS = {"permute": "Random permutes", "matmul": "Random matmuls", "conv2d": "Random convolutions"}

HEAD = """# Performance

Made from the result files in `docs/figures` by `python3 tools/python/figures.py --sectile build/release/sectile`: not
written by hand. Older figures, and what was tried: [lab](lab/2026-11-figures.md), [diary](lab/2026-11.md). Kernel
names: [candidates.md](reference/candidates.md). Each command stands with its figures. Only figures of one card, of one
call, are compared.

A permute alternates with a copy of the same bytes, the better of the API's own command and a kernel of ours: "of a
copy" is the copy's time over ours. "Rival / ours" is the time of the fastest rival over ours, above 1 where we are
faster; rivals ran in a process of their own on the same card right before ([rivals.md](reference/rivals.md)). Runs
rotate over 512 MB, several times the L2, after a reference kernel whose time is stable
([sweep.md](reference/sweep.md)). Two figures in one cell: plain, and with a bias and relu. † marks a plan that the
planner no longer chooses for that device.
"""


class Bad(Exception):
    """What is wrong with a file."""


def read_reports(folder):
    reports = []
    for path in sorted(folder.glob("*.json")):
        try:
            report = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise Bad(f"{path.name}: {error}") from error
        for name in ("device", "driver", "planner", "date", "command", "profile", "rows"):
            if not isinstance(report, dict) or not report.get(name):
                raise Bad(f"{path.name}: no {name}: want what `sectile bench --json-file` writes")
        if report.get("preset") not in PRESETS and report.get("sweep") not in SWEEPS:
            raise Bad(f"{path.name}: want one of --preset {', '.join(PRESETS)}, --sweep {', '.join(SWEEPS)}")
        report["file"] = path.name
        report["api"] = report["profile"].get("api", "vulkan")
        report["changed"] = set()
        reports.append(report)
    if not reports:
        raise Bad(f"{folder}: no result file")
    return reports


def replan(reports, folder, sectile):
    """Fills each report's `changed` with the problems that are planned otherwise now. Gives a line about each."""
    command = [sectile, "bench", "--json", "--replan", *(str(folder / report["file"]) for report in reports)]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise Bad(f"{sectile} bench --replan: {done.stderr.strip() or done.stdout.strip()}")
    files, lines = json.loads(done.stdout)["files"], []
    for report in reports:
        for row in files[str(folder / report["file"])]["changed"]:
            report["changed"].add(row["problem"])
            lines.append(f"{report['file']}: {row['row']}: timed with {row['was']}, now {row['now']}")
    return lines


# ---- one row

def micros(seconds):
    value = seconds * 1e6
    return f"{value:.0f}" if value >= 1000 else f"{value:.1f}"


def ratio(value):
    return f"{value:.2f}" if value else "-"


def own_seconds(row):
    return row["ours"]["median_s"] if "ours" in row else row.get("median_s", 0)


def rival_ratio(row):
    """The fastest rival's time over ours; 0 without one. A copy by another API is none."""
    rivals = [seconds for name, seconds in row.get("rivals_s", {}).items() if not name.startswith("copy")]
    return min(rivals) / own_seconds(row) if rivals and own_seconds(row) else 0


def copy_ratio(row):
    if "fraction_of_copy" in row:
        return row["fraction_of_copy"]
    return row["copy_s"] / own_seconds(row) if row.get("copy_s") and own_seconds(row) else 0


def kernel(row, report):
    name = f"`{row['candidate']}`" + (MARK if row["problem"] in report["changed"] else "")
    return name + (" (unsteady)" if row.get("unsteady") else "")


def joined(values):
    """One cell of a row and its twin; empty where neither was timed."""
    return values[0] if len(set(values)) == 1 else "; ".join(values)


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(cells) + " |" for cells in rows]


# ---- presets

def preset_columns(preset):
    columns = [("kernel", kernel), ("µs", lambda row, _: micros(own_seconds(row)))]
    if preset == "seeds-permute":
        columns.append(("of a copy", lambda row, _: ratio(copy_ratio(row))))
    if preset.startswith("matmul"):
        columns.append(("TFLOP/s", lambda row, _: f"{row['contenders'][0].get('flops', 0) / 1e12:.1f}"))
    return columns + [("rival / ours", lambda row, _: ratio(rival_ratio(row)))]


def preset_section(preset, reports):
    """`reports` of one card: one for each API."""
    columns, by_api = preset_columns(preset), {}
    for report in reports:
        if report["api"] in by_api:
            raise Bad(f"{report['file']}, {by_api[report['api']]['file']}: "
                      f"both are --preset {preset} of one card and API")
        by_api[report["api"]] = report
    reports = [by_api[api] for api in APIS if api in by_api]
    names = list(dict.fromkeys(row["name"] for report in reports for row in report["rows"]))
    lines, rows = [], []
    for name in names:
        if name.endswith(TWIN) and name.removesuffix(TWIN) in names:
            continue
        cells = [name.replace("|", "\\|")]
        for report in reports:
            found = [row for row in report["rows"] if row["name"] in (name, name + TWIN)]
            for _, cell in columns:
                cells.append(joined([cell(row, report) if "error" not in row else "failed" for row in found]))
        rows.append(cells)
    head = ["row"] + [f"{APIS[report['api']]}: {title}" if i == 0 else title
                      for report in reports for i, (title, _) in enumerate(columns)]
    lines += source_lines(reports) + table(head, rows)
    goals = [(report, [row["goal_met"] for row in report["rows"] if "goal_met" in row]) for report in reports]
    told = [f"{sum(met)} of {len(met)} on {APIS[report['api']]}" for report, met in goals if met]
    if told:
        lines += ["", f"Rows that reach their goal: {', '.join(told)}."]
    return lines


def source_lines(reports):
    lines = []
    for report in reports:
        rivals = f" Rivals: {report['rivals']}." if report.get("rivals") else ""
        note = f" {report['note']}" if report.get("note") else ""
        lines.append(f"- {APIS[report['api']]}, {report['date'][:10]}, {report['driver']}, "
                     f"planner {report['planner']}: `{report['command'].replace('`', '')}`.{rivals}{note}")
    return lines + [""]


# ---- sweeps

def geometric_mean(values):
    return math.exp(sum(math.log(value) for value in values) / len(values))


def nearest_rank(values, part):
    return sorted(values)[max(1, math.ceil(part * len(values))) - 1]


def compared(report):
    """What a sweep's rows are held against: rivals where there are some, otherwise a copy."""
    return rival_ratio if any(rival_ratio(row) for row in report["rows"]) else copy_ratio


def sweep_groups(report):
    """Name -> rows: classes, types of products, and all."""
    rows = [row for row in report["rows"] if own_seconds(row)]
    groups = {}
    for key in ("class", "type") if report["sweep"] != "permute" else ("class",):
        for name in sorted({row[key] for row in rows}):
            groups[name] = [row for row in rows if row[key] == name]
    return groups | {"all": rows}


def sweep_cells(report, rows):
    """Cells by column, of a group."""
    value, cells = compared(report), {}
    ratios = [value(row) for row in rows if value(row)]
    if any(value(row) for row in report["rows"]):
        cells["rows"] = str(len(ratios))
        for title, of in (("least", min), ("p10", lambda values: nearest_rank(values, 0.1)),
                          ("median", lambda values: nearest_rank(values, 0.5)), ("geo. mean", geometric_mean)):
            cells[title] = ratio(of(ratios)) if ratios else "-"
    if any("regret" in row for row in report["rows"]):
        regrets = [row["regret"] for row in rows if "regret" in row]
        cells["regret: geo. mean"] = ratio(geometric_mean(regrets)) if regrets else "-"
        cells["most"] = ratio(max(regrets)) if regrets else "-"
    return cells


def sweep_section(operation, reports):
    reports = sorted(reports, key=lambda report: (list(APIS).index(report["api"]), report["file"]))
    groups = [sweep_groups(report) for report in reports]
    names = list(dict.fromkeys(name for group in groups for name in group if name != "all")) + ["all"]
    head, rows = ["class"], [[name] for name in names]
    for report, group in zip(reports, groups):
        titles = list(sweep_cells(report, group["all"]))
        head += [f"{APIS[report['api']]}: {title}" if i == 0 else title for i, title in enumerate(titles)]
        for cells, name in zip(rows, names):
            found = sweep_cells(report, group.get(name, []))
            cells += [found.get(title, "-") for title in titles]
    against = "a copy" if all(compared(report) is copy_ratio for report in reports) else "the fastest rival"
    lines = source_lines(reports)
    told = f"Time of {against} over ours, by class ([sweep.md](reference/sweep.md))."
    if any("most" in sweep_cells(report, group["all"]) for report, group in zip(reports, groups)):
        told += " Regret: our time over that of the best admissible candidate."
    lines += [told, ""]
    changed = sum(row["problem"] in report["changed"] for report in reports for row in report["rows"])
    lines += table(head, rows)
    if changed:
        count = sum(len(report["rows"]) for report in reports)
        lines += ["", f"{changed} of {count} rows{MARK} are planned otherwise now."]
    return lines


# ---- the page, and README's part of it

def cards_of(reports):
    return sorted({report["device"] for report in reports})


def heading(title, card):
    return f"{title}: {card}"


def anchor(title, card):
    return re.sub(r"[^\w\- ]", "", heading(title, card).lower()).replace(" ", "-")


def page_of(reports):
    lines = HEAD.rstrip("\n").split("\n")
    for card in cards_of(reports):
        lines += ["", f"## {card}"]
        for kind, titles, section in (("preset", PRESETS, preset_section), ("sweep", SWEEPS, sweep_section)):
            for name, title in titles.items():
                found = [report for report in reports if report["device"] == card and report.get(kind) == name]
                if found:
                    lines += ["", f"### {heading(title, card)}", ""] + section(name, found)
    if len(lines) > MOST_LINES:
        raise Bad(f"the page would have {len(lines)} lines, {MOST_LINES} at most: "
                  "move a card's older files from docs/figures to a table in docs/lab")
    return "\n".join(lines) + "\n"


def span(values):
    return f"{min(values):.2f} to {max(values):.2f}" if values else "-"


def summary_of(reports):
    """README's lines: of the card that was measured last on Vulkan, and of matmuls on CUDA."""
    vulkan = [report for report in reports if report["api"] == "vulkan"]
    if not vulkan:
        raise Bad("no result file of Vulkan: README's figures are of one")
    newest = max(vulkan, key=lambda report: report["date"])
    card = newest["device"]
    found = {(kind, report[kind]): report for report in vulkan if report["device"] == card
             for kind in ("preset", "sweep") if report.get(kind)}

    def link(title, text):
        return f"([{text}](docs/performance.md#{anchor(title, card)}))"

    lines = [f"On an {card} ({newest['driver']}, Vulkan), {newest['date'][:10]}:", ""]
    if report := found.get(("preset", "seeds-permute")):
        ratios = [copy_ratio(row) for row in report["rows"] if copy_ratio(row)]
        high = [value for value in ratios if value >= 0.9]
        lines += [f"- Of {len(ratios)} layout transforms (TVM's and OneFlow's examples, plain transposes, "
                  "one of six axes)",
                  f"  {len(high)} run at 0.90 of a copy of the same bytes or more, the worst at {min(ratios):.2f}",
                  f"  {link('Permutes', 'table')}."]
    if report := found.get(("sweep", "permute")):
        ratios = [compared(report)(row) for row in report["rows"] if compared(report)(row)]
        lines += ["- Randomly drawn permutes of all shapes and types: half of them at "
                  f"{nearest_rank(ratios, 0.5):.2f} of a copy or more,",
                  f"  the worst tenth below {nearest_rank(ratios, 0.1):.2f} {link('Random permutes', 'sweep')}."]
    if report := found.get(("preset", "matmul")):
        lines += matmul_summary(report, link("Matmuls", "table"))
    units = [report for report in reports if report["api"] == "cuda" and report["device"] == card
             and report.get("preset") == "matmul-units"]
    if units:
        ratios = [rival_ratio(row) for row in units[-1]["rows"] if rival_ratio(row)]
        lines += [f"- CUDA: {len(ratios)} matmuls on the matrix unit, some with an epilogue: {span(ratios)} of the rate",
                  f"  of cuBLAS, or of PyTorch's eager mode or Inductor {link(PRESETS['matmul-units'], 'table')}."]
    if report := found.get(("preset", "conv2d")):
        parts = []
        for text in ("f32 nchw", "f16 nhwc", "f16 nchw"):
            rows = [row for row in report["rows"] if row["problem"].startswith(f"conv2d {text}") and rival_ratio(row)]
            if rows:
                kind, layout = text.split()
                parts.append(f"{kind} in {layout.upper()} {span([rival_ratio(row) for row in rows])}")
        if parts:
            lines += ["- Convolutions at so many times the rate of cuDNN or Inductor, the faster of them:",
                      f"  {', '.join(parts)} {link('Convolutions', 'table')}."]
    return "\n".join(lines) + "\n"


def matmul_summary(report, link):
    rows = [row for row in report["rows"] if "error" not in row]
    best = max((row for row in rows if row["problem"].startswith("matmul f16")), default=None,
               key=lambda row: row["contenders"][0].get("flops", 0))
    lines = []
    if best:
        beside = f", {rival_ratio(best):.2f} of cuBLAS's rate" if rival_ratio(best) else ""
        rate = best["contenders"][0]["flops"] / 1e12
        lines = [f"- f16 matmuls: up to {rate:.0f} TFLOP/s (`{best['name']}`){beside}."]
    ratios = [rival_ratio(row) for row in rows if rival_ratio(row)]
    if ratios:
        lines += [f"- {len(ratios)} matmuls of all types and sizes: {span(ratios)} of cuBLAS's rate {link}."]
    return lines


def with_summary(readme, summary):
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise Bad(f"README.md has no lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{summary}{END}{after}"


def without_marks(text):
    text = re.sub(r"\n\n\d+ of \d+ rows † are planned otherwise now\.", "", text)
    return text.replace(MARK, "")


def first_difference(path, want, have):
    for number, (a, b) in enumerate(itertools.zip_longest(want.split("\n"), have.split("\n"), fillvalue=""), 1):
        if a != b:
            return f"{path}:{number}: has '{b[:160]}', the result files give '{a[:160]}'"
    return f"{path}: differs in its last line's end"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, and compare")
    parser.add_argument("--sectile", help="the command: marks rows whose plans are no longer chosen")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="the folder with docs/ and README.md")
    options = parser.parse_args()
    folder, page, readme = (options.root / name for name in ("docs/figures", "docs/performance.md", "README.md"))
    try:
        reports = read_reports(folder)
        stale = replan(reports, folder, options.sectile) if options.sectile else []
        wanted = {page: page_of(reports), readme: with_summary(readme.read_text(encoding="utf-8"), summary_of(reports))}
    except Bad as error:
        print(f"figures: error: {error}", file=sys.stderr)
        return 2
    for line in stale:
        print(f"planned otherwise now: {line}")
    wrong = []
    for path, text in wanted.items():
        have = path.read_text(encoding="utf-8") if path.exists() else ""
        if not options.check:
            path.write_text(text, encoding="utf-8")
        elif without_marks(have) != without_marks(text):
            wrong.append(first_difference(path, without_marks(text), without_marks(have)))
    for line in wrong:
        print(f"{line}\nrun: python3 tools/python/figures.py --sectile build/release/sectile", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
