#!/bin/sh
# Checks what can be checked without a network. Prints one line a check; exits with 1 if any failed.
failed=0
check() { # check WORDS COMMAND...
    words=$1; shift
    if "$@" >/dev/null 2>&1; then echo "ok      $words"; else echo "FAILED  $words"; failed=1; fi
}
clean() { test -z "$(git status --porcelain)"; }
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
check "the work tree is clean" clean
check "Cargo.toml names a version" test -n "$version"
check "CHANGELOG.md has a section for $version" grep -q "^## \[$version\]" CHANGELOG.md
check "there is no tag v$version yet" sh -c "! git rev-parse -q --verify refs/tags/v$version"
exit $failed
