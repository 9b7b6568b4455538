#!/bin/sh
# Calls the tool that this file is named after, as `shelf call` would: every argument is the tool's own, and --help
# prints its definition.
case $0 in
/*) set -- "$0" "$@" ;;
*) set -- "./$0" "$@" ;;
esac
command -v shelf >/dev/null || {
    printf '%s\n' "error: $0 needs the command shelf, which is not in PATH" "hint: add its directory to PATH" >&2
    exit 127
}
exec shelf call -- "$@"
