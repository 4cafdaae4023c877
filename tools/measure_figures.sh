#!/usr/bin/env bash
# Measures what docs/figures holds, on an otherwise idle machine with one GPU and PyTorch (docs/figures/README.md).
#   SECTILE=/path/to/sectile OUT=FOLDER [LIMIT=SECONDS] tools/measure_figures.sh NAME...
# NAMEs: seeds-permute, matmul, conv2d (presets beside rivals, on vulkan:0 and cuda:0: 140, 180 and 330 s on an H200),
# matmul-units (likewise; not timed yet), sweep-permute (both APIs, 320 s), sweep-matmul and sweep-conv2d (beside
# rivals, on vulkan:0).
# Leaves $OUT/figures.tgz (JSON files, rivals, log), written anew after every step, so a run that is cut short keeps
# what it has. A step that would begin after LIMIT is left out, and said so.
set -u
limit=${LIMIT:-100000}
: "${SECTILE:?}" "${OUT:?}"
tree=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d); mkdir -p "$work/bin" "$OUT"
ln -s "$(realpath "$SECTILE")" "$work/bin/sectile"
export PATH=$work/bin:$PATH PYTHONUNBUFFERED=1
cd "$work"
card=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1 | tr 'A-Z ' 'a-z-' | sed 's/nvidia-//; s/-80gb.*//; s/[^a-z0-9-]//g')
python3 - >versions.txt 2>/dev/null <<'PY'
import torch
try:
    import triton
    more = f", Triton {triton.__version__}"
except Exception:
    more = ""
print(f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}{more}")
PY
keep() {   # puts the rivals' versions into what is there, and packs it
    python3 - <<'PY'
import glob, json
rivals = open("versions.txt").read().strip()
for path in glob.glob("*-vulkan-*.json") + glob.glob("*-cuda-*.json"):
    report = json.load(open(path))
    if "--rivals" in report.get("command", "") and rivals and "rivals" not in report:
        report["rivals"] = rivals
        json.dump(report, open(path, "w"), indent=1)
PY
    shopt -s nullglob
    tar -czf "$OUT/figures.tgz.part" -- *.json *.txt && mv "$OUT/figures.tgz.part" "$OUT/figures.tgz"
}
step() {
    if ((SECONDS > limit)); then echo "[$SECONDS s] LEFT OUT: $*" | tee -a log.txt; return; fi
    echo "[$SECONDS s] $*" | tee -a log.txt
    timeout 300 "$@" >>log.txt 2>&1 || echo "[$SECONDS s] FAILED ($?): $*" | tee -a log.txt
    keep
}
rivals() {   # rivals NAME LISTING...: NAME-rivals.json of what `sectile bench LISTING --list --json` names
    local name=$1; shift
    sectile bench "$@" --list --json >"$name-rows.json"
    step python3 "$tree/tools/python/rivals.py" --rows "$name-rows.json" --output "$name-rivals.json" \
        --details "$name-details.json" --min-time 0.05 --warmup 3
    rm -f "$name-rows.json"
    beside=""
    [[ ! -e $name-rivals.json ]] || beside="--rivals $name-rivals.json"   # without PyTorch there are none
}
quick="--min-time 0.03 --warmup 0.7 --no-verify"
preset() {   # preset NAME: rivals, then ours on both APIs right after
    local name=$1 only=""
    [[ $name != conv2d ]] || only="--only f32"   # CUDA has no matrix kernels for convolutions
    rivals "$name" --preset "$name"
    # shellcheck disable=SC2086
    step sectile bench --preset "$name" --device vulkan:0 $quick $beside --json-file "$card-vulkan-$name.json"
    # shellcheck disable=SC2086
    step sectile bench --preset "$name" $only --device cuda:0 $quick $beside --json-file "$card-cuda-$name.json"
}
sweep() {   # sweep OPERATION SEED CASES: on Vulkan, beside rivals where the operation is no permute
    local name=$1 seed=$2 cases=$3 beside=""
    if [[ $name != permute ]]; then
        rivals "sweep-$name" --sweep "$name" --seed "$seed" --cases "$cases" --device vulkan:0
    fi
    # shellcheck disable=SC2086
    step sectile bench --sweep "$name" --seed "$seed" --cases "$cases" --device vulkan:0 $quick $beside --json-file "$card-vulkan-sweep-$name.json"
    [[ $name != permute ]] ||
        step sectile bench --sweep permute --seed "$seed" --cases "$cases" --device cuda:0 $quick --json-file "$card-cuda-sweep-permute.json"
}
(($#)) || { echo "measure_figures: name what to measure" >&2; exit 2; }
for name; do
    case $name in
        seeds-permute|matmul|matmul-units|conv2d) preset "$name" ;;
        sweep-permute) sweep permute 20261123 80 ;;
        sweep-matmul)  sweep matmul 20261123 40 ;;
        sweep-conv2d)  sweep conv2d 909 40 ;;
        *) echo "measure_figures: $name?" >&2; exit 2 ;;
    esac
done
keep
echo "[$SECONDS s] done"; ls -la "$OUT"
grep -c UNSTEADY log.txt || true
