#!/usr/bin/env bash
# Checks that every `./dev bench NAME` in the documents is a program of the build.
# tests/house/bench_names.sh ROOT BUILD_DIR
set -euo pipefail
names=$(grep -rhoE '\./dev bench [a-z_-]+' "$1/README.md" "$1/CONTRIBUTING.md" "$1/docs" | awk '{ print $3 }' | sort -u)
[ -n "$names" ] || { echo "no document names a bench program"; exit 1; }
status=0
for name in $names; do
  [ -x "$2/bench/$name" ] || { echo "no program $name in $2/bench"; status=1; }
done
exit $status
