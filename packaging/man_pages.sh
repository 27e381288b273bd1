#!/usr/bin/env bash
# man_pages.sh PROGRAM FOLDER: writes tandem.1 and a page for each command into FOLDER, made of the help texts by help2man.
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: man_pages.sh PROGRAM FOLDER" >&2; exit 2; }
program=$1 folder=$2
command -v help2man >/dev/null || { echo "man_pages.sh: help2man is not installed (./dev setup package)" >&2; exit 1; }
version=$("$program" --version) version=${version#tandem } version=${version%% *}
mkdir -p "$folder"

# page NAME SENTENCE COMMAND...
page() {
  local name=$1 sentence=$2
  shift 2
  help2man --no-info --manual=Tandem --source="Tandem $version" --version-string="$version" --name="$sentence" \
    --output="$folder/$name.1" "$*"
}

page tandem "language models on a GPU and an NPU that share one memory" "$program"
# A command's line in the help: two blanks, its name, blanks, its purpose.
"$program" --help | sed -n '/^Commands that/,$p' | sed -nE 's/^  ([a-z][a-z-]*) +(.*)$/\1\t\2/p' |
  while IFS=$'\t' read -r name sentence; do page "tandem-$name" "$sentence" "$program" "$name"; done
