# shellcheck shell=bash
# What its caller sets and launch.sh reads is theirs (SC2154, SC2034).
# shellcheck disable=SC2154,SC2034
#
# The command qualify of ./rdmatest, which ./qualify is short for: builds what is missing, then runs the JVM that runs the scenarios.
# Whoever sources this has sourced launch.sh, and passes the command's options.

# What is only asked for builds and runs nothing: it is answered during a run, too.
asks=
for word; do
    case $word in
        --help | -h | --version | -V | --list) asks=$word ;;
    esac
done
[ -z "$asks" ] || runnable scenarios rdmatest || not_built scenarios "$asks"
java_home=$(find_jdk) || exit

training=()
work=$project/reports/target
if [ -z "$asks" ]; then
    work_folder reports qualify.lock || complain "cannot write to $work: set XDG_STATE_HOME to a folder of yours"
    # Two runs at once would write the same files. The lock is the JVM's below, which passes no descriptor on: if it is killed, the
    # JVM of the scenarios and its virtual machine see that and end.
    first=$work number=1
    until { exec 9>"$work/qualify.lock"; } 2>/dev/null && flock -n 9; do
        [ -w "$work/qualify.lock" ] || complain "cannot write to $work"
        # Not under a run, which executes what it has built. What is installed is only read: the next run gets a folder of its own.
        [ -n "$installed" ] || complain "another run is going on in $project; wait for it, or use another clone"
        number=$((number + 1))
        [ "$number" -le 9 ] || complain "nine runs of yours are going on; wait for one of them"
        work=$first-$number
        mkdir -p "$work" 2>/dev/null || complain "cannot write to $work"
    done
    [ "$number" = 1 ] || printf './%s: another run is going on; the results of this one go to %s\n' "$script" "$work" >&2
    build_if_stale rdmatest harness-core fabric-config run-summary junit-extension reports scenarios
    # For the JVM of the scenarios. No device has this name: each of them fails at once, wherever this is.
    trained=$work/training
    training=(--enable-native-access=ALL-UNNAMED
        -Drdma.device=none-to-train-with -Drdma.scenarios.package=io.rdmatest.scenarios "-Drdma.report.directory=$trained/journal"
        "-Dallure.results.directory=$trained/results"
        -cp "$classpath" io.rdmatest.scenarios.cli.AotTraining io.rdmatest.scenarios.runner.ScenarioRunner ConformanceScenarios ConnectionScenarios)
fi
prepare scenarios qualify "$java_home/bin/java" ${training[@]+"${training[@]}"}
columns=0
if [ -t 1 ]; then
    # A terminal that does not know its width is taken for one of 80 columns.
    { columns=$(stty size <&3 2>/dev/null); } 3>&1
    columns=${columns#* }
    [[ $columns =~ ^[1-9][0-9]*$ ]] || columns=80
fi
# A JVM that does not let the class path call native code refuses the classes of one that does.
command=("$java_home/bin/java" -XX:TieredStopAtLevel=1 --enable-native-access=ALL-UNNAMED ${prepared[@]+"${prepared[@]}"}
    "$tells_failure" -Drdma.project="$project" -Drdma.work="$work" -Drdma.columns="$columns"
    -cp "$classpath" io.rdmatest.scenarios.qualify.Qualify "$@")
if [ -n "$asks" ]; then
    "${command[@]}"
    end_as $?
fi
rm -rf "$work/training"
run_jvm "${command[@]}"
