#!/bin/bash
# tests/cli/browser.sh FURROW: the report of a small demo in a browser without a screen, on a phone's width and a desk's,
# light and dark. Exits with 77 where there is no chromium, or none that can run.
set -u
furrow=$(realpath "${1:?usage: browser.sh FURROW}")
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
  echo "skipped: no chromium"
  exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

complain() {
  echo "not ok - $1"
  failed=1
}

# Loads a page with nothing but what is in it: no name can be looked up.
browse() {
  timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars --no-first-run \
    --user-data-dir="$work/profile" --host-resolver-rules='MAP * ~NOTFOUND' --enable-logging=stderr --v=0 "$@" 2>"$work/log"
}

echo '<p id="sign">here' >"$work/plain.html"
browse --dump-dom "file://$work/plain.html" | grep -q 'id="sign"' || {
  echo "skipped: $browser does not run here"
  exit 77
}

"$furrow" demo --rows 20000 --users 150 --items 150 --out "$work/demo" -q || exit 1
report=$work/demo/report.html

# What a script finds in the page: drawings that have a size, text that is inside of them, what was loaded from elsewhere.
probe='<script>addEventListener("load", function () {
  var all = Array.from(document.querySelectorAll("svg")), figures = Array.from(document.querySelectorAll("figure svg[role=img]"));
  var box = function (e) { return e.getBoundingClientRect(); };
  var flat = all.filter(function (e) { return box(e).width < 1 || box(e).height < 1; }).length;
  var out = figures.filter(function (e) { return Array.from(e.querySelectorAll("text")).some(function (t) {
    return box(t).left < box(e).left - 1 || box(t).right > box(e).right + 1 || box(t).bottom > box(e).bottom + 1; }); }).length;
  var empty = figures.filter(function (e) { return e.querySelectorAll("path,circle,rect").length < 3; }).length;
  var small = figures.filter(function (e) { return box(e).width < 300; }).length;
  var wide = document.documentElement.scrollWidth > innerWidth ? 1 : 0;
  var cut = innerWidth < 1000 ? 0 : Array.from(document.querySelectorAll(".scroll,pre")).filter(function (e) {
    return e.scrollWidth > e.clientWidth + 1; }).length;
  var foreign = document.querySelectorAll("[src],[srcset],object,embed,iframe,link:not([href^=\"data:\"]),image,use").length +
    performance.getEntriesByType("resource").length;
  var dark = matchMedia("(prefers-color-scheme:dark)").matches;
  var ground = getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number);
  parent.postMessage(["figures", figures.length, "drawings", all.length > 60 ? "many" : all.length, "flat", flat, "empty", empty,
    "text outside", out, "narrow", small, "wider than the screen", wide, "cut off", cut, "from elsewhere", foreign,
    "ground", (ground[0] < 100) === dark ? "fits" : "does not fit", "sections", document.querySelectorAll("section").length,
    "width", innerWidth, dark ? "dark" : "light"].join(" "), "*");
});</script>'
sed "s,</body>,$(printf '%s' "$probe" | tr '\n' ' ' | sed 's/[&,\\]/\\&/g')</body>," "$report" >"$work/demo/probe.html"

for width in 400 1000 1200; do
  # a window is never narrower than 500, a frame is
  echo "<script>onmessage = function (e) { document.title = e.data; }</script>
<iframe src=\"probe.html\" style=\"border:0;width:${width}px;height:900px\"></iframe>" >"$work/demo/frame.html"
  for scheme in light dark; do
    settings=$([ $scheme = dark ] && echo preferredColorScheme=0 || echo preferredColorScheme=1)
    found=$(browse --window-size=1300,1000 --blink-settings=$settings --virtual-time-budget=5000 --dump-dom "file://$work/demo/frame.html" |
      sed -n 's,.*<title>\(figures .*\)</title>.*,\1,p')
    expected="figures 11 drawings many flat 0 empty 0 text outside 0 narrow 0 wider than the screen 0 cut off 0 from elsewhere 0 ground fits sections 7 width $width $scheme"
    [ "$found" = "$expected" ] || complain "at $width, $scheme: found '$found', not '$expected'"
    grep CONSOLE "$work/log" && complain "at $width, $scheme: the console says something"
    browse --window-size=$width,2000 --blink-settings=$settings --screenshot="$work/shot.png" "file://$report" >/dev/null
    # a page of one colour would be a few kilobytes
    [ "$(stat -c %s "$work/shot.png" 2>/dev/null || echo 0)" -gt 40000 ] || complain "at $width, $scheme: the picture is empty"
  done
done
[ $failed -eq 0 ] && echo "ok - the report in $("$browser" --version 2>/dev/null)"
exit $failed
