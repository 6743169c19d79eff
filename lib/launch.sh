# shellcheck shell=bash
# What its callers set and read is theirs (SC2154, SC2034).
# shellcheck disable=SC2154,SC2034
#
# What ./qualify and ./rdmatest share: finding the JDK, building the project when it is not built or was changed, and running the JVM.
# Whoever sources this has set project, the root of the project, and script, its own path below that; it sets java_home by find_jdk.
: "${project:?}" "${script:?}"

# shellcheck source=../fabric-config/rdma-jdk/lib/common.sh
. "$project/fabric-config/rdma-jdk/lib/common.sh"

# The path of this folder may have any letters. In a locale that knows only ASCII a JVM finds no file with others in its name;
# with this one, which every Debian has, it does, and all that changes is that such letters are shown as well.
[ "$(locale charmap 2>/dev/null)" != ANSI_X3.4-1968 ] || export LC_ALL=C.UTF-8

# Exit status for "this host cannot run it".
readonly HOST_NOT_READY=3

complain() {
    printf './%s: %s\n' "$script" "$1" >&2
    exit "$HOST_NOT_READY"
}

# A JVM takes it for the end of an entry, and has no way to quote it.
[[ $project != *:* ]] || complain "a Java class path cannot name a folder with ':', such as $project: move the project"

# An archive brings a runtime of its own. There nothing is built, and nothing is written into its folder.
installed=
if [ -x "$project/runtime/bin/java" ]; then
    installed=yes
    export RDMA_JAVA_HOME=${RDMA_JAVA_HOME:-$project/runtime}
fi

# Without it, a lock that nobody holds would look like one that somebody holds.
command -v flock >/dev/null \
    || complain "there is no program flock on the PATH; run as root: $(install_command "$(package_of program:flock)")"

# Prints the home of a JDK that is new enough.
find_jdk() {
    # In a shell of its own, for it ends the shell where it finds none, having said so.
    (real_java_home) || exit "$HOST_NOT_READY"
}

# Sets classpath to what COMMAND of MODULE runs with: class_path MODULE COMMAND. Fails where that is not built, or a part is gone.
class_path() {
    local target=$project/$1/target list='' jar entry entries
    { IFS= read -r list <"$target/$2.classpath"; } 2>/dev/null
    [ -n "$list" ] || return 1
    # The file names them from its own folder, so that the whole may be moved. Quoted, no letter of the path means anything.
    list=$target/${list//:/:"$target/"}
    IFS=: read -ra entries <<<"$list"
    for entry in "${entries[@]}"; do
        [ -r "$entry" ] || return 1
    done
    # Its jar, for the JVM prepares the classes of jars only, else its folder.
    classpath=$target/classes
    for jar in "$target/$1"-*.jar; do
        [[ $jar == *-sources.jar || $jar == *-javadoc.jar || ! -e $jar ]] || classpath=$jar
    done
    classpath+=:$list
}

# Whether COMMAND of MODULE can be run as it was built, whatever its sources are now: runnable MODULE COMMAND.
runnable() { [ -e "$project/$1/target/$2.stamp" ] && class_path "$1" "$2"; }

# Whether MODULES are as their sources are, the last of which COMMAND is of: built COMMAND MODULES... The stamp has the time at
# which the last build began. A deleted source is newer through its folder. What else is packaged, like the fabrics that have
# names, counts as a source.
built() {
    local command=$1 stamp module now sources=("$project/pom.xml")
    shift
    runnable "${*: -1}" "$command" || return 1
    stamp=$project/${*: -1}/target/$command.stamp
    for module; do
        sources+=("$project/$module/pom.xml" "$project/$module/src/main")
        [ ! -d "$project/$module/fabrics" ] || sources+=("$project/$module/fabrics")
    done
    [ -z "$(find "${sources[@]}" -newer "$stamp" -print -quit 2>/dev/null)" ] && return
    # The copy of a clone may have times of its own, and the same sources.
    printf -v now '@%(%s)T' -1
    [ -s "$stamp" ] && [ "$(<"$stamp")" = "$("$project/lib/stamp" "$@")" ] || return 1
    touch --date="$now" "$stamp" 2>/dev/null
    return 0
}

# Prints the lines of Maven that say which module is being built, as in "Building 2 of 6: harness-core"; keeps all of them in LOG.
progress() {
    local line
    while IFS= read -r line; do
        printf '%s\n' "$line" >&3
        if [[ $line =~ Building\ (rdmatest:\ )?(.+)\ [^\ ]+\ +\[([0-9]+)/([0-9]+)\]$ ]]; then
            printf 'Building %s of %s: %s\n' "${BASH_REMATCH[3]}" "${BASH_REMATCH[4]}" "${BASH_REMATCH[2]}" >&2
        fi
    done
}

# How to build what a command needs, as words for Maven: whoever runs it needs no tests, and to compile them would take longer
# than the rest.
maven_arguments() {
    printf '%s\n' -ntp -pl "$1" -am -DskipTests -Dmaven.test.skip -Dspotless.check.skip=true -Drdma.setup.skip package
}

# Answers a question about the script that calls it, whose MODULE is not built, and ends: not_built MODULE QUESTION.
not_built() {
    local what how
    how="the first run of ./$script builds it, and so does: (cd $project && mvn $(maven_arguments "$1" | paste -sd ' '))"
    [ "$2" != --list ] || complain "the project is not built, so it has no scenarios to list: $how"
    what=$(sed -n '2s/^# \(.*\): .*/\1/p' "$project/$script")
    printf '%s\n' "$what. It is not built yet, so it cannot show its options: $how"
    exit 0
}

# Builds what is missing or older than its sources, and sets classpath: build_if_stale COMMAND MODULES..., as for built; the last
# of MODULES is the one that leaves stamp and class path.
build_if_stale() {
    local module=${*: -1} target log arguments status=0
    target=$project/$module/target
    if [ -n "$installed" ]; then
        runnable "$module" "$1" || complain "$project lacks a file, or you may not read it: unpack or install rdmatest again"
        return
    fi
    built "$@" && return
    if runnable "$module" "$1" && { [ -n "${RDMA_NODE-}" ] || [ ! -w "$target" ]; }; then
        # In the virtual machine there is no network, and a build would take minutes. Somebody else's clone is theirs to build.
        printf './%s: sources are newer than the build, which is used nevertheless\n' "$script" >&2
        return
    fi
    [ -z "${RDMA_NODE-}" ] \
        || complain "the project is not built, and cannot be in the virtual machine; on the host run: $project/$script --help"
    # Two commands that find the same thing missing must not both build it; each leaves another stamp, and they share modules.
    { mkdir -p "$target" "$project/target" && [ -w "$target" ] && exec 8>"$project/target/build.lock"; } 2>/dev/null \
        || complain "the project is not built, or you may not read its build, and you may not write to $project. Its owner builds it by running ./$script there"
    command -v mvn >/dev/null \
        || complain "Maven (mvn) is needed to build the project and is not on the PATH; run as root: $(install_command "$(package_of program:mvn)")"
    flock -n 8 || { echo 'Waiting for another build of this project ...' >&2 && flock 8; }
    if ! built "$@"; then
        echo 'Building (the first time this downloads the dependencies) ...' >&2
        log=$target/build.log
        # Maven itself needs some Java, too.
        if [ -z "${JAVA_HOME-}" ] && ! command -v java >/dev/null; then
            export JAVA_HOME=$java_home
        fi
        mapfile -t arguments < <(maven_arguments "$module")
        (cd "$project" && mvn --batch-mode "${arguments[@]}") 2>&1 </dev/null 8>&- | progress 3>"$log"
        status=${PIPESTATUS[0]}
        if [ "$status" != 0 ]; then
            tail -n 40 "$log" >&2
            complain "the build failed; its log is $log"
        fi
        runnable "$module" "$1" || complain "the build left no complete class path in $target; build anew: (cd $project && mvn clean), then ./$script"
    fi
    exec 8>&-
}

# Sets work to where a command keeps what it needs of its own: work_folder MODULE FILE. That is the module's target folder or, where
# it or the FILE in it is not this user's to write, a folder of the user's own; fails where there is neither. An installed program
# keeps its state there in every case, by a name that an update does not change.
work_folder() {
    local name='' state
    work=$project/$1/target
    # In the virtual machine it is the host's script that chose.
    [ -z "${RDMA_NODE-}" ] || return 0
    if [ -z "$installed" ] && { [ -d "$work" ] || mkdir -p "$work" 2>/dev/null; } && [ -w "$work" ] && { [ ! -e "$work/$2" ] || [ -w "$work/$2" ]; }; then
        return
    fi
    [ -n "$installed" ] || name=/$(clone_name)
    # A service of the system may have no home.
    state=${XDG_STATE_HOME:-${HOME:+$HOME/.local/state}}
    work=${state:-/var/lib}/rdmatest$name/$1
    mkdir -p "$work" 2>/dev/null && [ -w "$work" ]
}

# Prints what tells this clone from others in a folder that all share.
clone_name() {
    local sum
    sum=$(printf '%s' "$project" | cksum)
    printf '%s-%s\n' "$(basename -- "$project")" "${sum%% *}"
}

# What lets a JVM start with its classes loaded and linked already; empty where that is not to be had.
prepared=()

# Sets prepared: prepare MODULE COMMAND JAVA ARGUMENTS... trains the JVM by this call, once for each class path and JDK, and keeps
# what comes of it in the module's target folder, or in the user's cache where that is not writable. Without ARGUMENTS it takes what
# is there. In emulation a JVM with JUnit came to the end of its tests, five that find no device, in 9 s instead of 14 s then.
prepare() {
    local cache=$project/$1/target/$2.aot java=$3 key known='' own='' entries new status=0 interrupted=
    local module=$1 name=$2
    shift 3
    # The JVM compares size and time of each jar.
    IFS=: read -ra entries <<<"$classpath"
    key=$(stat -L -c '%s %Y' -- "${java%/bin/java}/lib/modules" "${entries[@]}" 2>/dev/null)
    is_of "$cache" "$key" && known=yes
    if [ -z "$known" ] && [ -z "${RDMA_NODE-}" ] && { [ -n "$installed" ] || [ ! -w "${cache%/*}" ]; }; then
        own=$(cache_directory)
        [ -n "$own" ] || return 0
        own=$own/classes/$(clone_name)/$module
        cache=$own/$name.aot
        is_of "$cache" "$key" && known=yes
    fi
    # In the virtual machine the project can't be written to, and training would take longer than it saves.
    if [ -z "$known" ] && [ $# -gt 0 ] && [ -z "${RDMA_NODE-}" ] && mkdir -p "${cache%/*}" 2>/dev/null && [ -w "${cache%/*}" ]; then
        echo 'Preparing the classes of the JVM (once after each build) ...' >&2
        new=$cache.$$
        # Classes only: the adapters that a JVM 25 also keeps are made for this processor, with AVX-512 where it has that, and are
        # executed without question on an emulated one that has not; one of them, in a rare case, ends with SIGILL there.
        # Ctrl-C does not end this shell: a JVM that gets it exits by itself, and not with 130 if it was writing the cache then.
        trap 'interrupted=yes' INT
        "$java" "-XX:AOTCacheOutput=$new" -XX:+UnlockDiagnosticVMOptions -XX:-AOTAdapterCaching -XX:-AOTStubCaching \
            "$@" >"$cache.log" 2>&1 </dev/null || status=$?
        trap - INT
        [ -z "$interrupted" ] || status=130
        case $status in
            130 | 143)
                # What is left is no sign that there is nothing to be prepared.
                rm -f "$new" "$new.config"
                exit "$status"
                ;;
        esac
        # An empty one says that it was tried.
        [ -s "$new" ] || : >"$new"
        # A cache with the key of another one is only made again.
        mv -f "$new" "$cache" && printf '%s\n' "$key" >"$cache.of"
        known=yes
    fi
    # A JVM that can't use it, in a machine for example, does without and has nothing to say about it.
    [ -z "$known" ] || [ ! -s "$cache" ] || prepared=("-XX:AOTCache=$cache" -Xlog:aot=off -Xlog:cds=off "-Drdmatest.aot=$cache")
}

# Whether a cache of classes is there, and of these jars and this JDK: is_of CACHE KEY.
is_of() {
    local of=''
    [ -e "$1" ] && [ -r "$1.of" ] || return 1
    IFS= read -rd '' of <"$1.of"
    [ "$of" = "$2"$'\n' ]
}

# A JVM that does not come to main ends with 1, which is also how a command says that the fabric failed. So the command says that by
# this status, and 1 means what java itself means by it.
readonly FABRIC_FAILED=90
# For the JVM.
readonly tells_failure=-Drdmatest.fabric-failed=$FABRIC_FAILED

# Ends this script as a JVM with the option $tells_failure ended: end_as STATUS.
end_as() {
    case $1 in
        "$FABRIC_FAILED") exit 1 ;;
        1) complain "the JVM did not start, for the reason above: free memory, or correct JDK_JAVA_OPTIONS, JAVA_TOOL_OPTIONS or ulimit -v" ;;
        125 | 126 | 127) complain "the JVM could not be started, for the reason above" ;;
        # It ended because of SIGHUP, SIGINT or SIGTERM, after what it does then.
        129 | 130 | 143) exit "$1" ;;
        137) complain "the JVM was killed by SIGKILL: if the kernel did so for want of memory (dmesg shows it), free memory" ;;
        *)
            [ "$1" -lt 128 ] || complain "the JVM crashed with SIG$(kill -l "$1" 2>/dev/null || echo " $1"): its file hs_err_pid*.log tells where"
            exit "$1"
            ;;
    esac
}

# Runs a JVM with the option $tells_failure as the last thing that this script does: run_jvm COMMAND ARGUMENTS... The JVM has the lock of
# descriptor 9, gets the signals that this script gets, and is killed with it.
run_jvm() {
    local jvm signal signalled ended status='' with_us=()
    ! setpriv --pdeathsig KILL true 2>/dev/null || with_us=(setpriv --pdeathsig KILL)
    { : <&0; } 2>/dev/null || exec </dev/null
    # A shell ignores SIGINT and SIGQUIT for what it starts in the background; what was ignored before it began stays so.
    (trap : INT QUIT && trap - INT QUIT && exec ${with_us[@]+"${with_us[@]}"} "$@") <&0 &
    jvm=$!
    for signal in HUP INT TERM; do
        # shellcheck disable=SC2064
        trap "signalled=yes; kill -s $signal $jvm 2>/dev/null" "$signal"
    done
    exec 9>&-
    while :; do
        signalled=
        # A signal ends this at once. The shell would report a JVM that was killed in its own words.
        wait "$jvm" 2>/dev/null
        ended=$?
        # 127: it was waited for before, and the signal came just then.
        [ "$ended" != 127 ] || [ -z "$status" ] || break
        status=$ended
        [ -n "$signalled" ] || break
    done
    end_as "$status"
}
