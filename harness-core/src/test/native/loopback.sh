#!/bin/sh
# Compiles the library that loops back: loopback.sh FOLDER. FOLDER is then for LD_LIBRARY_PATH.
sources=$(dirname "$0")
compile() {
    name=$1
    shift
    cc -std=gnu11 -O2 -Wall -Wextra -Werror -fPIC -fvisibility=hidden -shared "-Wl,-soname,${name##*/}" -o "$name" "$@"
}
compile "$1/libibverbs.so.1" "$sources/loopback_verbs.c" "$sources/loopback_record.c" -lpthread &&
    compile "$1/librdmacm.so.1" "$sources/loopback_cm.c" "$1/libibverbs.so.1"
