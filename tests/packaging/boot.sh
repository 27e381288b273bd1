#!/bin/bash
# boot.sh FOLDER TREE: starts systemd as the first process of namespaces of their own, on this machine's files with those
# of TREE above them. Nothing outside changes: what is written stays in memory, and ends with the process.
# unshare --fork --pid --mount --uts --ipc --cgroup --kill-child boot.sh FOLDER TREE
set -euo pipefail
folder=$1 tree=$2
mount --make-rprivate /
mkdir -p "$folder/layers" "$folder/root"
mount -t tmpfs tmpfs "$folder/layers"
mkdir "$folder/layers/upper" "$folder/layers/work"
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/layers/upper,workdir=$folder/layers/work" "$folder/root"
cd "$folder/root"
cp -r "$tree/." .
rm -rf etc/systemd/system/*.wants  # services of this machine
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t tmpfs -o mode=755 tmpfs sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
mount --rbind /dev dev
mount --make-rshared "$folder/root"  # services get their credentials by a mount that comes from the first process
exec chroot . /usr/bin/env -i container=tandem-test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system
