#!/usr/bin/env bash
# tests/install/container.sh BUILD: what can be checked of packaging/Containerfile without a container engine: fixed base
# images, a user without rights, nothing downloaded but packages, sources that CMake can configure, the packages of
# the libraries that furrow-serve loads, a health check that works.
set -euo pipefail
build=$(realpath "$1")
root=$(cd "$(dirname "$0")/../.." && pwd)
file=$root/packaging/Containerfile
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill -KILL "$server" 2>/dev/null; rm -rf "$work"' EXIT
bad=0
complain() {
  echo "Containerfile: $*"
  bad=1
}
# One instruction per line.
sed -e '/^#/d' -e ':join' -e '/\\$/{N;s/\\\n//;b join' -e '}' "$file" >"$work/steps"

echo "== rules"
while read -r _ image _; do
  case $image in *:latest | *[!:a-z0-9./-]*) complain "the base image $image is not fixed" ;; *:?*) ;; *) complain "the base image $image has no tag" ;; esac
done < <(grep '^FROM ' "$work/steps")
user=$(sed -n 's/^USER //p' "$work/steps" | tail -n 1)
case $user in '' | 0 | 0:* | root*) complain "it runs as root" ;; esac
# after USER nothing needs rights
sed -n '/^USER /,$p' "$work/steps" | grep -q '^RUN' && complain "it runs something after USER"
grep -q '^ADD ' "$work/steps" && complain "ADD may download; COPY does not"
grep -E '^RUN ' "$work/steps" | grep -E 'curl|wget|git clone|pip |npm ' && complain "it downloads something"
grep -q 'insecure' "$work/steps" && complain "it listens without a token"
grep '^ENTRYPOINT' "$work/steps" | grep -q -- '"--token-file"' || complain "its command has no token"
grep '^RUN apt-get' "$work/steps" | grep -v 'rm -rf /var/lib/apt/lists' && complain "package lists stay in a layer"

echo "== sources"
mkdir "$work/tree"
while read -r _ words; do
  case $words in --from=*) continue ;; esac
  read -r -a names <<<"$words"
  target=${names[-1]}
  unset 'names[-1]'
  for name in "${names[@]}"; do
    [ -e "$root/$name" ] || { complain "$name does not exist" && continue; }
    if [ -d "$root/$name" ]; then cp -r "$root/$name" "$work/tree/$target"; else cp "$root/$name" "$work/tree"; fi
  done
done < <(grep '^COPY ' "$work/steps")
env -u CC -u CFLAGS cmake -S "$work/tree" -B "$work/configured" >"$work/log" 2>&1 || { tail -n 20 "$work/log"; complain "the sources cannot be configured"; }

echo "== packages"
for package in $(sed -n 's/.*has_library .* || echo //p' "$root/tools/packages.sh"); do
  grep -q " $package\b" "$work/steps" || complain "the build lacks $package"
done
if [ ! -x "$build/furrow-serve" ]; then
  echo "furrow-serve is not built"
  exit $((bad ? 1 : 77))
fi
# The codename decides the names of packages.
if grep -q '^VERSION_CODENAME=bookworm' /etc/os-release 2>/dev/null && command -v dpkg >/dev/null; then
  for library in $(ldd "$build/furrow-serve" | sed -n 's/.*=> \([^ ]*\) .*/\1/p'); do
    package=$(dpkg -S "$(realpath "$library")" 2>/dev/null || dpkg -S "$library" 2>/dev/null || echo unknown)
    package=${package%%:*}
    case $package in libc6 | libgcc-s1 | unknown) continue ;; esac
    sed -n '/^FROM [^ ]*$/,$p' "$work/steps" | grep -q " $package\b" || complain "the image lacks $package ($library)"
    echo "$package"
  done
fi

echo "== health"
printf '1 1:1\n0 2:1\n1 1:1 3:1\n0 2:1 3:1\n%.0s' $(seq 50) >"$work/rows.libsvm"
"$build/furrow" train --model lr --train "$work/rows.libsvm" --out "$work/model" -q
echo secret-of-the-test >"$work/token"
"$build/furrow-serve" --listen 127.0.0.1:0 --token-file "$work/token" --model "m=$work/model" >"$work/said" 2>&1 &
server=$!
for i in $(seq 1200); do
  port=$(sed -n 's,^listening on http://127.0.0.1:,,p' "$work/said")
  [ -z "$port" ] && kill -0 $server 2>/dev/null && sleep 0.1 || break
done
# the words of the JSON array after CMD, with our port
check=$(sed -n 's/^HEALTHCHECK .*CMD \["bash", "-c", "\(.*\)"\]$/\1/p' "$work/steps" | sed 's,\\\\,\\,g')
[ -n "$check" ] && [ -n "$port" ] && bash -c "${check//8080/$port}" || { cat "$work/said"; complain "the health check fails on a server that is ready"; }
kill -TERM $server && wait $server || complain "the server does not stop as it should"
server=
if bash -c "${check//8080/$port}" 2>/dev/null; then complain "the health check succeeds without a server"; fi
exit $bad
