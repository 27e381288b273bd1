# A release, checked and not made. ./dev sources this file behind package.sh, and uses its package and its own say.

release() {
  local suites=1 dry=''
  while [ $# -gt 0 ]; do
    case $1 in
      --dry-run) dry=1 ;;
      --without-suites) suites='' ;;
      *) say "dev: ./dev release knows --dry-run and --without-suites, and not '$1'"; exit 2 ;;
    esac
    shift
  done
  [ -n "$dry" ] || { say "dev: ./dev release only checks (--dry-run); docs/release.md says what a person does then"; exit 2; }
  local status=0
  if [ -n "$suites" ]; then package >&2; fi
  python3 -B "$root/packaging/release.py" "$root" || status=1
  if [ -n "$suites" ]; then
    (run_tests) || { say "dev: release: a suite is not green"; status=1; }
  else
    say "the suites were left out"
  fi
  if [ $status = 0 ]; then say "nothing stands against a release"; else say "dev: release: not yet (see above)"; fi
  return $status
}
