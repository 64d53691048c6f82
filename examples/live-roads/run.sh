#!/usr/bin/env bash
# Two queries over a road network are followed while another process writes, is killed, and goes on.
#
#   examples/live-roads/run.sh [EDGES [FOLDER]]      500000 roads in a new folder, unless you say otherwise
#
# 1. The roads lead from each town to two others and to their next ones, so that every town is reached from t0, and a road and two roads meet
#    in a triangle. They are loaded into a knowledge base.
# 2. `metroon watch` follows the towns that are reached from t0, by recursive rules, and the triangles, a join of three patterns.
# 3. Roads are added and taken away, then many more are added by a process that is killed with SIGKILL.
# 4. The knowledge base is opened again. Both queries are followed from the commit on up to which the first watchers were told; together
#    they tell of every change once.
# 5. `metroon why --tree` says why a town is reached.
#
# It needs bash and awk, and `metroon` on the PATH.
set -euo pipefail

edges=${1:-500000}
folder=${2:-$(mktemp -d)}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$folder"
cd "$folder"

closure=('(reach t0)' '$to' --result '$to')
triangles=('(, (road $a $b) (road $b $c) (road $a $c))' '($a $b $c)')

# Ends what this script has started, by number.
children=()
trap 'for child in "${children[@]}"; do kill -KILL "$child" 2>/dev/null || true; done' EXIT

fail() { echo "live-roads: $*; look into $folder" >&2; exit 1; }
now() { echo "${EPOCHREALTIME:-$SECONDS}"; }
# What a step took goes to the standard error, so that the output is the same in each run.
took() { awk -v name="$1" -v begun="$2" -v ended="$(now)" 'BEGIN { printf "%-34s %8.2f s\n", name, ended - begun }' >&2; }

# Waits until a file has a line of this form.
wait_for() {
    for _ in $(seq 3000); do
        grep -q -e "$2" "$1" && return
        sleep 0.1
    done
    fail "no line $2 in $1"
}

# What commits told of, without the first answers.
changes() { sed -E '1,/^[0-9]+ \. [0-9]+ answers?$/d' "$1"; }

echo "== $edges roads"
begun=$(now)
awk -v towns="$((edges / 2 + 2))" 'BEGIN {
    for (town = 1; town < towns; town++) {
        parent = int((town - 1) / 2)
        print "(road t" parent " t" town ")"
        if (parent > 0) print "(road t" int((parent - 1) / 2) " t" town ")"
    }
}' | head -n "$edges" > facts.metta
metroon run --kb roads "$here/roads.metta"
metroon kb load roads facts.metta > loaded.txt
took "load" "$begun"
first=$(metroon run --read-only --kb roads -e '!(epoch &self)' | tr -d '[]')

echo "== follow what is reached, and triangles"
begun=$(now)
metroon watch roads "${closure[@]}" > reached.txt & reached=$!; children+=("$reached")
metroon watch roads "${triangles[@]}" > triangles.txt & found=$!; children+=("$found")
wait_for reached.txt ' \. [0-9]* answer'
took "the first answers of the closure" "$begun"
wait_for triangles.txt ' \. [0-9]* answer'
took "the first answers of both" "$begun"
grep -h -o ' \. .*' reached.txt triangles.txt | sed 's/^ \. //'

echo "== a road to the harbour comes, and goes, and comes again"
change() {
    begun=$(now)
    metroon run --kb roads -e "$1" > answer.txt
    took "the commit, with opening" "$begun"
    wait_for reached.txt "$2"
    wait_for triangles.txt "$3"
    took "until both watchers have told" "$begun"
}
change '!(add-atoms &self ((road t5 harbour) (road t2 harbour)))' ' + harbour' ' + (t2 t5 harbour)'
change '!(remove-atoms &self ((road t5 harbour) (road t2 harbour)))' ' - harbour' ' - (t2 t5 harbour)'
change '!(add-atoms &self ((road t6 harbour) (road t2 harbour)))' "^$((first + 3)) + harbour" ' + (t2 t6 harbour)'
changes reached.txt | sed 's/^[0-9]* //' | tail -n 3
changes triangles.txt | sed 's/^[0-9]* //' | tail -n 3

echo "== the process that writes is killed"
awk 'BEGIN { for (n = 1; n <= 20000; n++) print "!(add-atoms &self ((road harbour p" n ") (road t6 p" n ")))" }' > ports.metta
metroon run --kb roads ports.metta > ports.txt & writer=$!; children+=("$writer")
wait_for reached.txt ' + p20$'
kill -KILL "$writer"; wait "$writer" 2>/dev/null || true
# The watchers end too, somewhere on the way.
kill -KILL "$reached" "$found"; wait "$reached" "$found" 2>/dev/null || true
[ "$(grep -c . ports.txt)" -lt 20000 ] || fail "the writer had ended before it was killed"

echo "== open again, and go on"
begun=$(now)
last=$(metroon run --kb roads -e '!(add-atoms &self ((road harbour island) (road t6 island)))' -e '!(epoch &self)' | tail -n 1 | tr -d '[]')
took "open, after the writer was killed" "$begun"
# Goes on after the last commit that a watcher has told of in full: its last line may be cut, and its commit too.
resume() {
    local name=$1; shift
    local upto
    upto=$(sed -n -E 's/^([0-9]+) [-+~.] .*/\1/p' "$name.txt" | tail -n 1)
    changes "$name.txt" | awk -v upto="$upto" '$1 < upto' > told.txt
    metroon watch roads "$@" --from "$((upto - 1))" --to "$last" >> told.txt
    metroon watch roads "$@" --from "$first" --to "$last" > once.txt
    cmp told.txt once.txt || fail "$name: what was told in two parts is not what is told in one"
    [ "$(sort told.txt | uniq -d | wc -l)" -eq 0 ] || fail "$name: something was told twice"
}
begun=$(now)
resume reached "${closure[@]}"
took "the closure, resumed and compared" "$begun"
begun=$(now)
resume triangles "${triangles[@]}"
took "the triangles, resumed and compared" "$begun"
tail -n 1 once.txt | sed 's/^[0-9]* //'
# What was acknowledged is there, whatever came after.
acknowledged=$(grep -c . ports.txt || true)
kept=$(metroon kb query roads '(road harbour $port)' '$port' | grep -c '^p')
[ "$kept" -ge "$acknowledged" ] || fail "$acknowledged commits were acknowledged, and $kept are there"
echo "every change was told once"

echo "== why the island is reached"
begun=$(now)
metroon why roads '(= (reach t0) island)' --tree | sed -E 's/  commit .*//'
took "why" "$begun"
