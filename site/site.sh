# The documentation as a site. ./dev sources this file, which uses its say, die, provide, need and build.

probe_site() {
  need mkdocs "makes the site of the pages" mkdocs --version
  need mkdocs-material "its theme" test -d /usr/share/mkdocs/themes/material
  need doxygen "finds classes and functions in the headers" doxygen --version
}

site() {
  local serve=''
  case "${1:-}" in
    '') ;;
    --serve) serve=1 ;;
    *) say "dev: ./dev site knows --serve, and not '$1'"; exit 2 ;;
  esac
  setup >&2
  build release tandem >&2
  provide probe_site
  python3 -B "$root/site/pages.py" "$root" "$root/build/release/tandem" "$root/build/site" || exit 1
  (cd "$root/build/site" && mkdocs build --strict --quiet) || die "the site could not be made (see above)"
  say "build/site/html/index.html"
  if [ -n "$serve" ]; then
    say "http://127.0.0.1:8000/ until Ctrl-C"
    exec python3 -m http.server --bind 127.0.0.1 --directory "$root/build/site/html" 8000
  fi
}
