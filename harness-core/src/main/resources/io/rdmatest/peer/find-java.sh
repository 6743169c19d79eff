# shellcheck shell=sh
# The script that follows reads the variables (SC2034).
# shellcheck disable=SC2034
#
# Sets java to the path of the first java that is new enough: the named one, else RDMATEST_JAVA, else those in the usual
# places; to an empty text if there is none. Then looked lists the places, and seen the javas that are too old. The launching
# side replaces the names between at signs. No command reads the standard input, which may be this text.
find_java() {
    java='' seen=''
    # No search if one is chosen.
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
