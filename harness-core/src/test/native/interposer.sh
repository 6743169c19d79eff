#!/bin/sh
# Compiles interposer.c: interposer.sh FOLDER. FOLDER/libibverbs.so.1 is the library, for LD_LIBRARY_PATH.
sources=$(dirname "$0")
real=$(readlink -f "$(cc -print-file-name=libibverbs.so)")
[ -f "$real" ] || {
    echo "No such file or directory: the linker finds no libibverbs.so" >&2
    exit 1
}
# The real library is needed by its whole path, as its name is taken. An empty library with that name stands for it.
cc -shared -x c /dev/null "-Wl,-soname,$real" -o "$1/real.so" || exit 1
exec cc -std=gnu11 -O2 -Wall -Wextra -Werror -fPIC -fvisibility=hidden -shared -Wl,-soname,libibverbs.so.1 \
    "-DREAL=\"$real\"" -o "$1/libibverbs.so.1" "$sources/interposer.c" -Wl,--no-as-needed "$1/real.so" -ldl
