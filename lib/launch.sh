# shellcheck shell=bash
# What its callers set and read is theirs (SC2154, SC2034).
# shellcheck disable=SC2154,SC2034
#
# What ./qualify and ./rdmatest share: finding the JDK, and building the project when it is not built or was changed.
# Whoever sources this has set project, the root of the project, and sets java_home by find_jdk.
: "${project:?}"

# shellcheck source=../fabric-config/rdma-jdk/lib/common.sh
. "$project/fabric-config/rdma-jdk/lib/common.sh"

# The path of this folder may have any letters. In a locale that knows only ASCII a JVM finds no file with others in its name;
# with this one, which every Debian has, it does, and all that changes is that such letters are shown as well.
[ "$(locale charmap 2>/dev/null)" != ANSI_X3.4-1968 ] || export LC_ALL=C.UTF-8

# Exit status for "this host cannot run it".
readonly HOST_NOT_READY=3

# The script's path below the project.
script=$(readlink -f "$0")
readonly script=${script#"$(readlink -f "$project")/"}

complain() {
    printf './%s: %s\n' "$script" "$1" >&2
    exit "$HOST_NOT_READY"
}

# Without it, a lock that nobody holds would look like one that somebody holds.
command -v flock >/dev/null \
    || complain "there is no program flock on the PATH; run as root: $(install_command "$(package_of program:flock)")"

# Prints the home of a JDK that is new enough.
find_jdk() {
    # In a shell of its own, for it ends the shell where it finds none, having said so.
    (real_java_home) || exit "$HOST_NOT_READY"
}

# Whether a module is as its sources are: built MODULE STAMP MODULES...; STAMP has the time at which the last build began,
# and MODULES are those that MODULE is made of, itself included. A deleted source is newer through its folder. What else is
# packaged, like the fabrics that have names, counts as a source.
built() {
    local stamp=$1 module sources=("$project/pom.xml")
    shift
    [ -e "$stamp" ] || return 1
    for module; do
        sources+=("$project/$module/pom.xml" "$project/$module/src/main")
        [ ! -d "$project/$module/fabrics" ] || sources+=("$project/$module/fabrics")
    done
    [ -z "$(find "${sources[@]}" -newer "$stamp" -print -quit 2>/dev/null)" ]
}

# Builds what is missing or older than its sources: build_if_stale STAMP MODULES..., as for built; the last of MODULES is
# the one that leaves the stamp.
build_if_stale() {
    local stamp=$1 target=${1%/*} log status=0
    built "$@" && return
    if [ -n "${RDMA_NODE-}" ]; then
        # In the virtual machine there is no network, and a build would take minutes.
        [ ! -e "$stamp" ] \
            && complain "the project is not built, and cannot be in the virtual machine; on the host run: $project/$script --help"
        printf './%s: sources are newer than the build, which is used nevertheless\n' "$script" >&2
        return
    fi
    command -v mvn >/dev/null \
        || complain "Maven (mvn) is needed to build the project and is not on the PATH; run as root: $(install_command "$(package_of program:mvn)")"
    mkdir -p "$target" || complain "cannot write to $target"
    # Two commands that find the same thing missing must not both build it; each leaves another stamp, and they share modules.
    mkdir -p "$project/target" || complain "cannot write to $project/target"
    exec 8>"$project/target/build.lock" || complain "cannot write to $project/target"
    flock -n 8 || { echo 'Waiting for another build of this project ...' >&2 && flock 8; }
    if ! built "$@"; then
        echo 'Building (the first time this downloads the dependencies) ...' >&2
        log=$target/build.log
        # Maven itself needs some Java, too.
        if [ -z "${JAVA_HOME-}" ] && ! command -v java >/dev/null; then
            export JAVA_HOME=$java_home
        fi
        # Whoever runs it needs no tests: to compile them would take longer than the rest.
        (cd "$project" && mvn --batch-mode -ntp -pl "${*: -1}" -am -DskipTests -Dmaven.test.skip -Dspotless.check.skip=true \
            -Drdma.setup.skip package) >"$log" 2>&1 </dev/null 8>&- || status=$?
        if [ "$status" != 0 ]; then
            tail -n 40 "$log" >&2
            complain "the build failed; its log is $log"
        fi
    fi
    exec 8>&-
}

# Prints where the JVM is to load a module from: its jar, for the JVM prepares the classes of jars only, else its folder.
classes_of() {
    local jar
    for jar in "$project/$1/target/$1"-*.jar; do
        if [[ $jar != *-sources.jar && $jar != *-javadoc.jar && -e $jar ]]; then
            printf '%s\n' "$jar"
            return
        fi
    done
    printf '%s\n' "$project/$1/target/classes"
}

# What lets a JVM start with its classes loaded and linked already; empty where that is not to be had.
prepared=()

# Sets prepared: prepare STAMP JAVA ARGUMENTS... rehearses the call of java once after each build, and keeps what comes of it
# beside STAMP. In emulation a JVM with JUnit came to the end of its tests, five that find no device, in 9 s instead of 14 s then.
prepare() {
    local stamp=$1 java=$2 cache=${1%.stamp}.aot
    local log=$cache.log new=$cache.$$ status=0 interrupted=
    shift 2
    # In the virtual machine the project can't be written to, and a rehearsal would take longer than it saves.
    if [ -z "${RDMA_NODE-}" ] && [ -w "${cache%/*}" ] && { [ ! -e "$cache" ] || [ "$stamp" -nt "$cache" ]; }; then
        # Classes only: the adapters that a JVM 25 also keeps are made for this processor, with AVX-512 where it has that, and are
        # executed without question on an emulated one that has not; one of them, in a rare case, ends with SIGILL there.
        # Ctrl-C does not end this shell: a JVM that gets it exits by itself, and not with 130 if it was writing the cache then.
        trap 'interrupted=yes' INT
        "$java" "-XX:AOTCacheOutput=$new" -XX:+UnlockDiagnosticVMOptions -XX:-AOTAdapterCaching -XX:-AOTStubCaching \
            "$@" >"$log" 2>&1 </dev/null || status=$?
        trap - INT
        [ -z "$interrupted" ] || status=130
        case $status in
            130 | 143)
                # What is left is no sign that there is nothing to be prepared.
                rm -f "$new" "$new.config"
                exit "$status"
                ;;
        esac
        # An empty one says that it was tried for this build.
        [ -s "$new" ] || : >"$new"
        mv -f "$new" "$cache"
    fi
    # A JVM that can't use it, after another update of its JDK for example, does without and has nothing to say about it.
    [ ! -s "$cache" ] || prepared=("-XX:AOTCache=$cache" -Xlog:aot=off -Xlog:cds=off "-Drdmatest.aot=$cache")
}
