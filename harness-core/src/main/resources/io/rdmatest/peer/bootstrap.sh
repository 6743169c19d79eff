# shellcheck shell=sh
# find-java.sh, which comes before it, sets variables (SC2154).
# shellcheck disable=SC2154
#
# Starts the agent on a node. A shell reads this from the standard input that the agent then takes over. The launching side
# replaces the names between at signs. It sends nothing more until the script asks for the jar, or the agent sends its
# hello: so a shell that reads ahead loses nothing.
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
        [ -n "$seen" ] || fail @NO_JAVA@ "no java at $looked: install a JDK @VERSION@ or later, or name one by RDMATEST_JAVA or the node's key java"
        fail @OLD_JAVA@ "java @VERSION@ or later is needed, found:$seen; install one, or name it by RDMATEST_JAVA or the node's key java"
    fi
    jar=@JAR@ folder=''
    if [ ! -r "$jar" ] || [ "$(sha256sum <"$jar" 2>/dev/null)" != '@SHA256@  -' ]; then
        folder=$(mktemp -d "${TMPDIR:-/tmp}/rdmatest-agent.XXXXXXXXXX" </dev/null) ||
            fail @NO_SPACE@ "can't make a folder in ${TMPDIR:-/tmp}: set TMPDIR to a folder with room for @LENGTH@ bytes"
        trap 'rm -rf "$folder"' EXIT
        trap 'exit 129' HUP
        trap 'exit 130' INT
        trap 'exit 143' TERM
        jar=$folder/rdmatest-agent.jar
        echo '@SEND@'
        head -c @LENGTH@ >"$jar"
        [ "$(wc -c <"$jar")" -eq @LENGTH@ ] ||
            fail @NO_SPACE@ "no room in $folder for the agent's @LENGTH@ bytes: make room, or set TMPDIR to another folder"
    fi
    # The JVM keeps the jar open and removes the folder at its start, so nothing is left behind.
    # In an emulated machine (RDMA_NODE) the second compiler costs more than it saves.
    exec "$java" ${RDMA_NODE:+-XX:TieredStopAtLevel=1} -XX:+UseSerialGC -Xshare:auto -XX:+DisplayVMOutputToStderr -Xlog:disable -Xlog:all=warning:stderr \
        "-Drdmatest.agent.folder=$folder" -jar "$jar"
}
start_the_agent
