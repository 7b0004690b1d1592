#!/usr/bin/env bash
# Notes of a release: one line a commit, the newest first.
set -euo pipefail

request=$(cat)

field() {
  sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" <<<"$request"
}

fail() {
  printf '{"status": "error", "error": "%s", "retry": %s}\n' "$1" "$2"
  exit 1
}

case $(field command) in
  handle)
    repository=$(field repository)
    [ -d "$repository/.git" ] || fail "$repository is no repository" false
    echo "reading $repository" >&2
    text=$(git -C "$repository" log --format=%s | tr '\n' ';')
    printf '{"status": "ok", "result": "%s", "events": [{"type": "release_notes.made", "payload": {"text": "%s"}}]}\n' \
      "$(git -C "$repository" rev-list --count HEAD) commits" "$text"
    ;;
  health)
    command -v git >/dev/null || fail "git is not installed" true
    echo '{"status": "ok", "result": "healthy"}'
    ;;
  *) exit 78 ;;
esac
