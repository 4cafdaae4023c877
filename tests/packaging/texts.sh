#!/usr/bin/env bash
# The manual and the completions have every command and option that --help lists, and bash completes with them.
# usage: texts.sh SECTILE
set -euo pipefail
sectile=$(realpath -- "$1") wrong=0 seen=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "$*"; wrong=1; }

"$sectile" manual >"$work/manual"
# What a reader sees of the page: dashes without their escapes, no changes of font.
sed -E 's/\\-/-/g; s/\\f[BIR]//g' "$work/manual" >"$work/page"
for shell in bash zsh fish; do "$sectile" completion "$shell" >"$work/$shell"; done

# The part of a script that is about a command.
part() {
    case $1 in
        page) awk -v begin="^\\\\.SS \"sectile $2[ \"]" '/^\.S[SH]/ { on = $0 ~ begin } on' "$work/page" ;;
        bash) awk -v begin="^    $2)$" '$0 ~ begin { on = 1 } on; /esac ;;/ { on = 0 }' "$work/bash" ;;
        zsh) awk -v begin="^    $2)$" '$0 ~ begin { on = 1 } on; on && /;;$/ { on = 0 }' "$work/zsh" ;;
        fish) grep "from $2'" "$work/fish" || true ;;
    esac
}

has_option() {  # PART'S-FILE KIND OPTION
    local name=$3
    case $2 in
        page) grep -qE -- "^(.*, )?$name( |,|\$)" "$1" ;;
        bash) grep -qE -- "options='(.* )?$name[ ']" "$1" ;;
        zsh) grep -qE -- "['*)]$name\[" "$1" ;;
        fish) if [[ $name == --* ]]; then grep -qE -- " -l ${name#--} " "$1"; else grep -qE -- " -s ${name#-} " "$1"; fi ;;
    esac
}

commands=$("$sectile" --help | awk '/^Subcommands:/ { on = 1; next } on && /^  [a-z]/ { print $1 }')
for command in $commands; do
    grep -q "^      '$command:" "$work/zsh" || fail "zsh: no command $command"
    grep -q -- "-a $command -d" "$work/fish" || fail "fish: no command $command"
    grep -qE "'' *\) words='(.* )?$command[ ']" "$work/bash" || fail "bash: no command $command"
    options=$("$sectile" "$command" --help | grep -oE '^  -\S+' | tr ',' '\n' | tr -d ' ')
    for kind in page bash zsh fish; do
        part "$kind" "$command" >"$work/part"
        [[ -s $work/part ]] || fail "$kind: no part about $command"
        for option in $options; do
            has_option "$work/part" "$kind" "$option" || fail "$kind: $command has no $option"
            seen=$((seen + 1))
        done
    done
done
((seen > 400)) || fail "only $seen options were compared"

# Bash itself: what is typed, and a word that must and one that must not be offered.
complete_as_bash() {
    bash --norc -c '
        source "$1"; shift
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
        _sectile 2>/dev/null
        printf "%s\n" "${COMPREPLY[@]}"' bash "$work/bash" "$@"
}
offers() {  # WANTED UNWANTED WORDS...
    local wanted=$1 unwanted=$2 offered
    shift 2
    offered=$(complete_as_bash "$@")
    grep -qxF -- "$wanted" <<<"$offered" || fail "bash: '$*' does not offer $wanted"
    ! grep -qxF -- "$unwanted" <<<"$offered" || fail "bash: '$*' offers $unwanted"
}
offers plan --version sectile p
offers --version plan sectile --v
offers --few-pipelines --json sectile plan --few
offers nvidia-hopper lavapipe sectile plan --target nvi
offers nvidia-hopper lavapipe sectile plan --target = nvi
offers sm_90a sm_75 sectile plan --target cuda : sm_9
offers conv2d --op sectile check --op c
offers nvidia-hopper cuda:sm_75 sectile targets nvidia-h
cd "$work"
: >nvidia.json
offers nvidia.json bash sectile plan --target nvi

# Hidden commands stay hidden, and a shell that is not known is refused.
! "$sectile" --help | grep -qE '^  (completion|manual) ' || fail "--help lists completion or manual"
! "$sectile" completion csh 2>/dev/null || fail "completion csh is no error"
exit $wrong
