#!/usr/bin/env bash
# Measures the package of ./dev card on a machine with a graphics card and nothing else: bash, Python 3 and the card's
# driver. llama.cpp also needs CMake and nvcc; without them it is left out. `run.sh --help` lists the flags.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
for python in python3 /usr/bin/python3; do
  if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null; then
    exec "$python" -B "$here/card/card.py" "$@"
  fi
done
echo "run.sh: there is no Python 3.8 or newer here, which runs the steps" >&2
exit 1
