# Starts the agent on a node. A shell reads this from the standard input that the agent then takes over. What stands between
# at signs is put in by whoever sends it. The launching side sends nothing more until it is asked to, or the agent says
# hello: a shell that reads ahead takes nothing away.
start_the_agent() {
    fail() {
        status=$1
        shift
        echo "rdmatest-agent: $*" >&2
        exit "$status"
    }
    umask 077
    java='' seen='' named=@NAMED@
    # Whoever chooses one means that one.
    if [ -n "$named" ]; then
        set -- "$(command -v "$named" || printf %s "$named")"
    elif [ -n "${RDMATEST_JAVA-}" ]; then
        set -- "$RDMATEST_JAVA"
    else
        set -- @JAVA@ "${JAVA_HOME:+$JAVA_HOME/bin/java}" "$(command -v java)" /usr/lib/jvm/*/bin/java
    fi
    for candidate; do
        [ -n "$candidate" ] && [ -x "$candidate" ] && [ ! -d "$candidate" ] || continue
        release=$(dirname "$(dirname "$(readlink -f "$candidate")")")/release
        version=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$release" 2>/dev/null </dev/null)
        [ -n "$version" ] ||
            version=$("$candidate" -version 2>&1 </dev/null | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1)
        if [ "${version:-0}" -ge @VERSION@ ]; then
            java=$candidate
            break
        fi
        seen="$seen $candidate (${version:-of an unknown version})"
    done
    if [ -z "$java" ]; then
        [ -n "$seen" ] || fail @NO_JAVA@ "there is no java at $*: install a JDK @VERSION@ or later, or name one by RDMATEST_JAVA or the node's key java"
        fail @OLD_JAVA@ "a java of version @VERSION@ or later is needed, seen:$seen; install one, or name it by RDMATEST_JAVA or the node's key java"
    fi
    jar=@JAR@ folder=''
    if [ ! -r "$jar" ] || [ "$(sha256sum <"$jar" 2>/dev/null)" != '@SHA256@  -' ]; then
        folder=$(mktemp -d "${TMPDIR:-/tmp}/rdmatest-agent.XXXXXXXXXX" </dev/null) ||
            fail @NO_SPACE@ "no folder can be made in ${TMPDIR:-/tmp}: set TMPDIR to one that takes @LENGTH@ bytes"
        trap 'rm -rf "$folder"' EXIT
        trap 'exit 129' HUP
        trap 'exit 130' INT
        trap 'exit 143' TERM
        jar=$folder/rdmatest-agent.jar
        echo '@SEND@'
        head -c @LENGTH@ >"$jar"
        [ "$(wc -c <"$jar")" -eq @LENGTH@ ] ||
            fail @NO_SPACE@ "$folder did not take the agent's @LENGTH@ bytes: make room, or set TMPDIR to another folder"
    fi
    # The JVM keeps the jar open and removes the folder first of all: nothing is left, however it ends.
    # In an emulated machine (RDMA_NODE) the second compiler costs more than it saves.
    exec "$java" ${RDMA_NODE:+-XX:TieredStopAtLevel=1} -XX:+UseSerialGC -Xshare:auto -XX:+DisplayVMOutputToStderr -Xlog:disable -Xlog:all=warning:stderr \
        "-Drdmatest.agent.folder=$folder" -jar "$jar"
}
start_the_agent
