#!/bin/sh
# The page and `nod watch`: types, Chromium, tmux. Ends with `N passed, N failed`. NOD names the binary.
set -eu
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
export NOD="${NOD:-$root/build/nod}"
./install
log=$(mktemp)
trap 'rm -f "$log"' EXIT
bad=0
"$root/web/build" >/dev/null
node node_modules/typescript/bin/tsc -p "$root/web" || { bad=1; echo "FAILED  types of the page: see above"; }
[ $bad -eq 0 ] && echo "1 passed, 0 failed (types)" >"$log" || echo "0 passed, 1 failed (types)" >"$log"
node run.mjs "$@" | tee -a "$log" || true
node watch.mjs "$@" | tee -a "$log" || true
awk '/^[0-9]+ passed, [0-9]+ failed/ { p += $1; f += $3; n++ } END { if (n < 3) f++; printf "%d passed, %d failed\n", p, f; exit f > 0 }' "$log"
