#!/usr/bin/env bash
# archive.sh ROOT BUILD FOLDER: packs the program for Linux systems other than Debian 12 into FOLDER, as
# tandem-VERSION-linux-MACHINE.tar.gz. It has the libraries that other systems have in other versions. The C library, that
# of C++ and the loaders of drivers come from the system; README.txt says which versions. It needs patchelf.
set -euo pipefail
[ $# -eq 3 ] || { echo "usage: archive.sh ROOT BUILD FOLDER" >&2; exit 2; }
root=$1 build=$2 folder=$3
command -v patchelf >/dev/null || { echo "archive.sh: patchelf is not installed (./dev setup package)" >&2; exit 1; }
version=$(sed -nE 's/^project\(tandem VERSION ([0-9.]+).*/\1/p' "$root/CMakeLists.txt")
name=tandem-$version-linux-$(uname -m)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tree=$scratch/$name
umask 022
mkdir -p "$tree/bin" "$tree/libexec/tandem" "$tree/lib/tandem" "$tree/share/licences" "$folder"
install -s "$build/tandem" "$tree/bin/tandem"
install -s "$build/tandem-prove" "$tree/libexec/tandem/tandem-prove"

# The system has these in every version that is new enough: glibc, the libraries of gcc, the loaders of drivers.
of_system='^(linux-vdso|ld-linux.*|libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|libOpenCL|libvulkan)\.so'
ldd "$tree/bin/tandem" "$tree/libexec/tandem/tandem-prove" | sed -nE 's/^\s+(\S+) => (\S+) .*/\1 \2/p' | sort -u |
  while read -r library path; do
    [[ $library =~ $of_system ]] && continue
    install -m 644 "$path" "$tree/lib/tandem/$library"
    patchelf --set-rpath '$ORIGIN' "$tree/lib/tandem/$library"
    package=$(dpkg -S "$(realpath "$path")" 2>/dev/null || dpkg -S "$(realpath "$path" | sed 's|^/usr||')")
    package=${package%%:*}
    install -m 644 "/usr/share/doc/$package/copyright" "$tree/share/licences/$package"
  done
patchelf --set-rpath '$ORIGIN/../lib/tandem' "$tree/bin/tandem"
patchelf --set-rpath '$ORIGIN/../../lib/tandem' "$tree/libexec/tandem/tandem-prove"
python3 -B "$root/packaging/documents.py" program "$root" "$build" "$build/packaging/archive"
cp -r "$build/packaging/archive/usr/share/man" "$tree/share/man"
for shell in bash-completion zsh fish; do cp -r "$build/packaging/archive/usr/share/$shell" "$tree/share/$shell"; done
install -m 644 "$build/packaging/archive/usr/share/doc/tandem/copyright" "$tree/share/licences/tandem"

# newest SYMBOL: the newest version of SYMBOL_ that a file of the tree asks for.
newest() {
  find "$tree" -type f \( -path '*/bin/*' -o -path '*/lib/*' -o -path '*/libexec/*' \) -exec objdump -T {} + |
    grep -oE "\\(?$1_[0-9.]+" | sed -E "s/\\(?$1_//" | sort -Vu | tail -n 1
}
cat >"$tree/README.txt" <<TEXT
Tandem $version for Linux on $(uname -m)

It needs glibc $(newest GLIBC) or newer, libstdc++ with GLIBCXX_$(newest GLIBCXX) or newer, and the loaders libOpenCL.so.1 and
libvulkan.so.1. A driver makes a GPU known to them; PoCL is one for the processor itself. No model is in this archive.

  bin/tandem --version
  bin/tandem devices
  bin/tandem run --chat -m MODEL.gguf -p "What is the capital of France?"

The folder may lie anywhere. lib/tandem has the libraries that come with it, and share/licences has all licences.
TEXT
tar --sort=name --mtime="@${SOURCE_DATE_EPOCH:-0}" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -C "$scratch" -cf - "$name" |
  gzip -9n >"$folder/$name.tar.gz"
