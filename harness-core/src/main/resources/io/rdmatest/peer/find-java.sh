# shellcheck shell=sh
# What comes after it reads the variables (SC2034).
# shellcheck disable=SC2034
#
# Sets java to the path of the first java that is new enough: of the one that is named, else of RDMATEST_JAVA, else of those in
# the usual places; to nothing if there is none. Then looked says where, and seen what was there instead. What stands between
# at signs is put in by whoever sends it; no command reads the standard input, which may be this text.
find_java() {
    java='' seen=''
    # Whoever chooses one means that one.
    if [ -n "$1" ]; then
        set -- "$(command -v "$1" || printf %s "$1")"
    elif [ -n "${RDMATEST_JAVA-}" ]; then
        set -- "$RDMATEST_JAVA"
    else
        set -- @JAVA@ "${JAVA_HOME:+$JAVA_HOME/bin/java}" "$(command -v java)" /usr/lib/jvm/*/bin/java
    fi
    looked=$*
    for candidate; do
        if [ ! -x "$candidate" ] || [ -d "$candidate" ]; then
            continue
        fi
        release=$(dirname "$(dirname "$(readlink -f "$candidate")")")/release
        version=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$release" 2>/dev/null </dev/null)
        [ -n "$version" ] ||
            version=$("$candidate" -version 2>&1 </dev/null | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1)
        if [ "${version:-0}" -ge @VERSION@ ]; then
            java=$candidate
            return
        fi
        seen="$seen $candidate (${version:-of an unknown version})"
    done
}
