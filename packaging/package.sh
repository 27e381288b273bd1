# Packages for Debian 12, and an archive for other systems. ./dev sources this file, which uses its say, die, need,
# provide and build.

probe_package() {
  need help2man "makes man pages of the help texts" help2man --version
  need "dpkg-dev file" "say what packages depend on" dpkg-shlibdeps --version
  need patchelf "lets the archive's program find its libraries" patchelf --version
  need lintian "judges the packages" lintian --version
  need debootstrap "the test of the packages installs them in a bare Debian" debootstrap --version
}

# One date for all files of a package: that of the commit.
date_of_tree() { git -C "$root" log -1 --format=%ct 2>/dev/null || stat -c %Y "$root/CHANGELOG.md"; }

package() {
  local folder="$root/build/packages"
  case "${1:-}" in
    '') ;;
    --out) [ $# -eq 2 ] || { say "dev: --out needs a folder"; exit 2; }; folder=$(realpath -m "$2") ;;
    *) say "dev: ./dev package knows --out FOLDER, and not '$1'"; exit 2 ;;
  esac
  setup >&2
  provide probe_python
  provide probe_package
  configured_with tandem_python
  build release tandem_packaged >&2
  SOURCE_DATE_EPOCH=$(date_of_tree)
  export SOURCE_DATE_EPOCH
  mkdir -p "$folder"
  local contact="${DEBFULLNAME:-The Tandem authors} <${DEBEMAIL:-authors@tandem.invalid}>"
  (cd "$root/build/release" && cpack -G DEB -B "$folder" -D "CPACK_PACKAGE_CONTACT=$contact" >"$root/build/cpack.log" 2>&1) ||
    { tail -n 30 "$root/build/cpack.log" >&2; die "the packages could not be made (see above)"; }
  rm -rf "$folder/_CPack_Packages"
  "$root/packaging/archive.sh" "$root" "$root/build/release" "$folder" || die "the archive could not be made (see above)"
  (cd "$folder" && ls -s --block-size=KiB -- *.deb *.tar.gz)
}
