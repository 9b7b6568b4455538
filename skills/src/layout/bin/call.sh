#!/bin/sh
a=${0##/*}
exec shelf call -- "${a:+./}$0" "$@"
