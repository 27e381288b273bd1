#!/usr/bin/env bash
# The checks of `./dev lint`: format, clang-tidy, floors, shader trip counts, stray marks, temporary files of tests,
# loops over parts of temporaries, words left on a line. Every check runs. The status is 1 if one finds something.
# tests/house/lint.sh ROOT BUILD_DIR
set -uo pipefail
root=$1
build=$2
cd "$root" || exit 1
failed=0
# check NAME COMMAND...
check() {
  local name=$1 started=$SECONDS
  shift
  if "$@"; then
    echo "lint: $name: ok, $((SECONDS - started)) s"
  else
    echo "lint: $name: FAILED"
    failed=1
  fi
}

# The files of the tree: files that git has or would add. Without git (a tree from an archive, a machine without the
# program) these are all files except those in build/ and .git/.
files() {
  { git ls-files --cached --others --exclude-standard 2>/dev/null || find . \( -path ./build -o -path ./.git \) -prune -o -type f -print; } |
    sed 's|^\./||' | sort -u | while IFS= read -r file; do [ -f "$file" ] && printf '%s\n' "$file"; done
}
sources() { files | grep -E '\.(h|cpp)$'; }

format() { sources | xargs -r clang-format --dry-run -Werror; }

# The units that the release build compiles: a file, or one that includes several (CMAKE_UNITY_BUILD).
units() {
  sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' "$build/compile_commands.json" | sort -u |
    grep -E "^($root|$build)/(sync|packed|npu_emu|kernels|engine)/" | grep -E "^$build/.*/Unity/|^$root/[^/]*/.*\.cpp$" | grep -vE "^$build/.*\.cpp$"
}
text_of_unit() {
  cat "$1"
  sed -n 's/^#include "\(\/.*\.cpp\)"$/\1/p' "$1" | tr '\n' '\0' | xargs -0 -r cat
}

# clang-tidy parses as much as a compiler. So a stamp records each unit that passed, by a hash of its text and
# all headers. Asio has no coroutines with Debian 12's clang, and the server needs them.
tidy() {
  local stamps=$build/lint key
  mkdir -p "$stamps"
  key=$({ cat .clang-tidy; sources | grep '\.h$' | xargs cat; } | sha256sum | cut -c1-32)
  find "$stamps" -type f ! -name "$key-*" -delete
  units | grep -v '/engine/serve/http/server\.cpp$' | while IFS= read -r unit; do
    stamp=$stamps/$key-$(text_of_unit "$unit" | sha256sum | cut -c1-32)
    if [ ! -e "$stamp" ]; then printf '%s\n%s\n' "$unit" "$stamp"; fi
  done | xargs -r -d '\n' -n 2 -P "$(nproc)" bash -c 'clang-tidy --quiet --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-ignored-optimization-argument -p "$0" "$1" 2>/dev/null && touch "$2"' "$build"
}

floors() { "$build/tests/house/test_floors" --gtest_brief=1; }
shader_trips() { "$build/tests/house/test_shader_trips" --gtest_brief=1; }

# The patterns are split so that this file does not match them.
marks() {
  local found
  found=$(files | grep -vE '\.(gguf|png|bin)$' |
    xargs -r -d '\n' grep -nIE 'TO''DO|FIX''ME|[|][|] tr''ue|/wo''rk/|/ho''me/[a-z]|/tmp/bu''ild')
  [ -z "$found" ] || { printf '%s\n' "$found"; return 1; }
}

# Two parallel tests with the same name below the temporary folder would overwrite each other's files.
temporary_names() {
  local found
  found=$(files | grep -E '^tests/.*\.(h|cpp)$' | grep -v '^tests/support/scratch_folder\.h$' |
    xargs -r -d '\n' grep -nE 'temp_directory_path|TempDir\(|tmpnam')
  [ -z "$found" ] || { printf '%s\nuse ScratchFolder (tests/support/scratch_folder.h)\n' "$found"; return 1; }
}

# The object of a loop must live as long as the loop. In `parsed(text).at("rows")` only the reference does.
loops_over_temporaries() {
  local found
  found=$(sources | xargs -r -d '\n' grep -nE 'for \([^;]* : [A-Za-z_:]+\(.*\)\.(at|value|front|back|items)\(')
  [ -z "$found" ] || { printf '%s\ngive the value a name before the loop\n' "$found"; return 1; }
}

# A formatter that wraps a comment may leave one word on its last line. Headings are such lines on purpose.
leftover_words() {
  local found
  found=$(files | grep -E '\.(h|cpp|c|cl|comp|glsl)$' | xargs -r -d '\n' grep -nE '^\s*// \S+$' |
    grep -vE '// (Contract|Conventions|NOLINT\S*)$')
  [ -z "$found" ] || { printf '%s\nwrite the comment so that no word stands alone on its last line\n' "$found"; return 1; }
}

# Checks scripts if shellcheck is installed.
scripts() { ! command -v shellcheck >/dev/null || shellcheck --severity=warning dev .ci/run tests/fresh_machine.sh tests/house/lint.sh tests/house/bench_names.sh; }

check format format
check "stray marks" marks
check "temporary names" temporary_names
check "loops over temporaries" loops_over_temporaries
check "words left on a line" leftover_words
check scripts scripts
check floors floors
check "shader trips" shader_trips
check clang-tidy tidy
exit $failed
