# shellcheck shell=sh
# find-java.sh, which comes before it, sets variables (SC2154).
# shellcheck disable=SC2154
#
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
    find_java @NAMED@
    if [ -z "$java" ]; then
        [ -n "$seen" ] || fail @NO_JAVA@ "there is no java at $looked: install a JDK @VERSION@ or later, or name one by RDMATEST_JAVA or the node's key java"
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
