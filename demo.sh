#!/bin/sh
# What leakscan does for the people who publish, reproduce and curate a benchmark, on made-up data.
# Run by `make demo`.  Every command must end with the exit status that is due.
set -eu
cd "$(dirname "$0")"
PATH="$PWD/.venv/bin:$PATH"
started=$(date +%s)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

step() { # step STATUS SENTENCE COMMAND...
    due=$1
    printf '\n== %s\n$' "$2"
    shift 2
    printf ' %s' "$@"
    printf '\n'
    status=0
    "$@" || status=$?
    if [ "$status" -ne "$due" ]; then
        echo "demo: exit status $status where $due was due" >&2
        exit 1
    fi
    echo "(exit status $status, as it should be)"
}

fixtures=fixtures/releases

echo "-- You publish a benchmark."
step 1 "The gate: a release that gives its recordings and answers away does not pass." \
    leakscan $fixtures/mub-leaky --evaluator fixtures/evaluator/mub/evaluator.toml
step 0 "The same benchmark without the leaks passes." \
    leakscan $fixtures/mub-clean --evaluator fixtures/evaluator/mub/evaluator.toml
step 0 "A releasable copy of the leaky one; what was renamed goes into a private mapping, kept apart." \
    leakscan clean $fixtures/mub-leaky "$work/release" --mapping "$work/mapping.json"
step 0 "The copy passes the gate." \
    leakscan "$work/release"
step 0 "An index of the audio, so that others can find out whether they have the same recordings." \
    leakscan fingerprint $fixtures/mub-clean/audio --plain-private -o "$work/index.jsonl"

printf '\n%s\n' "-- You reproduce a benchmark with your own copies."
step 0 "Which of my files is which item, and does it lie on the same time line?" \
    leakscan match fixtures/takes --against "$work/index.jsonl"

printf '\n%s\n' "-- You curate a collection."
step 0 "Which files hold the same recording?" \
    leakscan duplicates fixtures/collection

printf '\nAll as it should be, in %s seconds.\n' "$(($(date +%s) - started))"
