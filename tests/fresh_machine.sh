#!/usr/bin/env bash
# Proves that a bare Debian 12 needs only this repository. The script makes a minimal Debian 12 in a folder, clones the
# committed tree into it, and runs the README's two commands there. It needs root and debootstrap. It ends with PASS or
# with FAIL.
#
#   tests/fresh_machine.sh [COMMAND...]   runs each COMMAND in the clone, in order; default: the README's two
#   CARRY=FOLDER                          puts the folder's files into /carried there
#   KEEP=1                                leaves the folder, and says where it is
#   SUITE=trixie                          another Debian than bookworm, from the same mirror
#   SUITE=noble MIRROR=URL                an Ubuntu (main and universe) from there, without checks of signatures
#
# Package sources (of bookworm), keys, proxies and certificates come from the machine that runs the script.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[ "$(id -u)" = 0 ] || { echo "fresh_machine: needs root (chroot, mounts)" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "fresh_machine: needs debootstrap (apt-get install debootstrap)" >&2; exit 1; }
[ $# -gt 0 ] || set -- './dev run "What is the capital of France?"' './dev test'

scratch=$(mktemp -d "${TMPDIR:-/tmp}/fresh_machine.XXXXXX")
machine=$scratch/machine
clean_up() {
  local mount root
  # Background processes of the commands would go on without /proc and /sys.
  for root in /proc/[0-9]*/root; do
    [ "$(readlink "$root")" != "$machine" ] || kill "$(basename "${root%/root}")" || echo "fresh_machine: a process has ended by itself" >&2
  done
  for mount in "$machine/dev/shm" "$machine/dev" "$machine/proc" "$machine/sys"; do
    ! mountpoint -q "$mount" || umount "$mount" || umount -l "$mount"
  done
  # With a remaining mount the removal would reach into the host.
  if grep -q " $scratch" /proc/mounts; then
    echo "fresh_machine: something is still mounted under $scratch; left as it is" >&2
  elif [ "${KEEP:-0}" = 1 ]; then
    echo "fresh_machine: kept $machine" >&2
  else
    rm -rf "$scratch"
  fi
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# The first mirror of bookworm's main part in this machine's apt sources, one-line or deb822.
mirror() {
  find /etc/apt -name '*.list' -exec cat {} + | sed -nE 's/^deb +(\[[^]]*\] +)?([^ ]+) +bookworm +.*main.*/\2/p'
  find /etc/apt -name '*.sources' -exec awk 1 {} + | awk -v RS= '/Suites:[^\n]*bookworm( |\n)/ && /Components:[^\n]*main/' |
    sed -nE 's/^URIs: *([^ ]+).*/\1/p'
}
suite=${SUITE:-bookworm}
url=${MIRROR:-$(mirror | sed -n 1p)}
[ -n "$url" ] || { echo "fresh_machine: no bookworm mirror in this machine's apt sources" >&2; exit 1; }
components=main options=()
# The script of debootstrap for the suite. A suite that debootstrap does not know is like its predecessors.
script=/usr/share/debootstrap/scripts/$suite
if [ -n "${MIRROR:-}" ]; then
  components=main,universe options=(--no-check-gpg)
  [ -e "$script" ] || script=/usr/share/debootstrap/scripts/gutsy
fi
[ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid

debootstrap --variant=minbase --components="$components" "${options[@]}" "$suite" "$machine" "$url" "$script" \
  >"$scratch/debootstrap.log" 2>&1 ||
  { tail -n 20 "$scratch/debootstrap.log" >&2; echo "fresh_machine: FAIL (debootstrap)"; exit 1; }

# Only Debian's own sources: any other source may need a package that a bare machine lacks.
rm -f "$machine/etc/apt/sources.list"
if [ "$suite" != bookworm ]; then
  printf 'deb %s %s %s\n' "$url" "$suite" "${components/,/ }" >"$machine/etc/apt/sources.list"
fi
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
  if [ "$suite" = bookworm ] && [ -s "$file" ] && grep -q bookworm "$file" && grep -q debian "$file"; then
    cp "$file" "$machine/etc/apt${file#/etc/apt}"
  fi
done
cp -r /etc/apt/apt.conf.d/. "$machine/etc/apt/apt.conf.d/"
# The configuration of missing packages would make apt complain or fail.
grep -lE 'Post-Invoke|Pre-Install|DPkg::(Pre|Post)' "$machine"/etc/apt/apt.conf.d/* | xargs -r rm -f
# copy_if_there FROM... TO_FOLDER
copy_if_there() {
  local folder=${!#} from
  mkdir -p "$folder"
  for from in "${@:1:$#-1}"; do
    if [ -e "$from" ]; then cp -r "$from" "$folder/"; fi
  done
}
copy_if_there /etc/resolv.conf /etc/hosts "$machine/etc"
copy_if_there /usr/share/keyrings "$machine/usr/share"
copy_if_there /etc/apt/keyrings /etc/apt/trusted.gpg.d "$machine/etc/apt"

# Certificates lie in a folder where the package ca-certificates does not replace them.
environment=(HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 TERM=dumb)
bundle=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
if [ -f "$bundle" ]; then
  mkdir -p "$machine/opt/certificates"
  cp -L "$bundle" "$machine/opt/certificates/bundle.crt"
  echo 'Acquire::https::CAInfo "/opt/certificates/bundle.crt";' >"$machine/etc/apt/apt.conf.d/99certificates"
  for name in PIP_CERT SSL_CERT_FILE REQUESTS_CA_BUNDLE CURL_CA_BUNDLE; do
    environment+=("$name=/opt/certificates/bundle.crt")
  done
fi
for name in $(compgen -e); do
  case $name in
    PIP_CERT | PIP_FIND_LINKS) ;;
    PIP_* | [hH][tT][tT][pP]_[pP][rR][oO][xX][yY] | [hH][tT][tT][pP][sS]_[pP][rR][oO][xX][yY] | [nN][oO]_[pP][rR][oO][xX][yY])
      environment+=("$name=${!name}") ;;
  esac
done
if [ -f /etc/pip.conf ]; then
  sed 's|^\( *cert *= *\).*|\1/opt/certificates/bundle.crt|' /etc/pip.conf >"$machine/etc/pip.conf"
fi

if [ -n "${CARRY:-}" ]; then cp -r "$CARRY" "$machine/carried"; fi
git clone --quiet --no-hardlinks "$here" "$machine/root/tandem"
mount -t proc proc "$machine/proc"
mount --bind /dev "$machine/dev"
mount --bind /sys "$machine/sys"
mount -o remount,bind,ro "$machine/sys"
if [ -d /dev/shm ]; then mount --bind /dev/shm "$machine/dev/shm"; fi

for command in "$@"; do
  echo "=== $command"
  started=$SECONDS
  if chroot "$machine" /usr/bin/env -i "${environment[@]}" bash -c "cd /root/tandem && $command" </dev/null; then
    echo "=== ok, $((SECONDS - started)) s"
  else
    echo "fresh_machine: FAIL ($command)"
    exit 1
  fi
done
echo "fresh_machine: PASS"
