#!/usr/bin/env bash
# tests/install/deb.sh: the Debian packages: lintian has no complaint, and what is unpacked works. Skipped where debhelper
# or lintian is missing.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
for program in dh dpkg-deb lintian; do
  command -v $program >/dev/null || { echo "skipped: $program is not installed"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "== packages"
"$root/tools/make_deb.sh" "$work/packages"
version=$(sed -n 's/^#define FURROW_VERSION "\(.*\)"/\1/p' "$root/include/furrow/version.h")
for name in furrow furrow-mpi furrow-serve libfurrow1 libfurrow-dev python3-furrow; do
  package=$(ls "$work"/packages/${name}_"$version"_*.deb)
  dpkg-deb -x "$package" "$work/root"
done

echo "== lintian"
lintian --allow-root --no-cfg --tag-display-limit 0 --fail-on error,warning "$work"/packages/*.deb

echo "== use"
lib=$(dirname "$(ls "$work"/root/usr/lib/*/libfurrow.so)")
"$work/root/usr/bin/furrow" --version
zcat "$work/root/usr/share/man/man1/furrow.1.gz" | head -n 1
if readelf -d "$work/root/usr/bin/furrow" "$lib"/libfurrow.so.1 | grep -F libmpi; then exit 1; fi # loaded, not linked
readelf -d "$lib"/furrow/libfurrow_mpi.so | grep -F libmpi.so
if command -v mpirun.openmpi >/dev/null; then
  said=$("$root/tests/mpi/run_ranks.sh" 3 "$work/root/usr/bin/furrow" --version)
  [ "$said" = "furrow $version" ] # once
fi
[ ! -e "$work/root/etc" ] # what is served is the administrator's to say
"$work/root/usr/bin/furrow-serve" --help | cmp - <("$work/root/usr/bin/furrow" serve --help)
zcat "$work/root/usr/share/man/man1/furrow-serve.1.gz" | head -n 1
unit=$(find "$work/root" -path '*/lib/systemd/system/furrow-serve.service')
cmp "$unit" "$root/packaging/furrow-serve.service"
grep -x 'ExecStart=/usr/bin/furrow-serve .*' "$unit"
# A first installation does not enable it: the script that dpkg runs, with programs that only note how they are called.
dpkg-deb --ctrl-tarfile "$work"/packages/furrow-serve_*.deb | tar -xO ./postinst >"$work/postinst"
mkdir "$work/noting"
for program in deb-systemd-helper deb-systemd-invoke systemctl; do
  printf '#!/bin/sh\necho "%s $*" >>"%s"\n[ "$1" != debian-installed ]\n' $program "$work/noted" >"$work/noting/$program"
  chmod +x "$work/noting/$program"
done
PATH=$work/noting:$PATH sh "$work/postinst" configure
grep 'deb-systemd-helper update-state' "$work/noted"
if grep -w enable "$work/noted"; then exit 1; fi
cc "$root/tests/install/consumer.c" -I"$work/root/usr/include" -L"$lib" -lfurrow -o "$work/consumer"
LD_LIBRARY_PATH=$lib "$work/consumer"

echo "== use from Python"
modules=$work/root/usr/lib/python3/dist-packages
readelf -d "$modules"/furrow/_core.abi3.so | grep -F 'libfurrow.so.1' # not a copy of it
if ! /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
  echo "skipped: python3-numpy is not installed"
  exit 77
fi
cd "$work"
loaded=$(LD_LIBRARY_PATH=$lib PYTHONPATH=$modules /usr/bin/python3 -c 'import furrow; print(furrow.__file__, furrow.__version__)')
echo "$loaded"
[ "$loaded" = "$modules/furrow/__init__.py $version" ]
