#!/bin/sh
# Simulates the programs of OpenPBS, Torque, LSF and Flux, under their names. Jobs really run, in the background.
# STAND_IN is the folder of the jobs, SYSTEM the batch system. If the file STAND_IN/limit exists, it contains the name of a result
# and a number. The next job that starts is then killed, as if at its time limit, when the journals of this result have this number
# of lines.
program=$(basename "$0")
server=pbs-01.hsn.machine.example.org

refuse() {
    echo "$program: $1" >&2
    exit "${2:-1}"
}

# Prints the number of a job, from its id in any form.
number() {
    id=${1#ƒ}
    echo "${id%%.*}"
}

known() { [ -d "$STAND_IN/$1" ]; }
word() { cat "$STAND_IN/$1/word"; }
alive() { case $(word "$1") in waiting | running) true ;; *) false ;; esac; }

# Writes the directives of a script to a file. Refuses directives that this batch system would not accept.
directives() {
    case $SYSTEM in
    pbs)
        prefix='#PBS '
        taken='-N .*|-l select=[0-9]+:ncpus=[0-9]+:mpiprocs=[0-9]+|-l walltime=[0-9:]+|-l place=scatter:excl|-j oe|-o .*|-r y|-q .*'
        ;;
    torque)
        prefix='#PBS '
        taken='-N .*|-l nodes=[0-9]+:ppn=[0-9]+|-l walltime=[0-9:]+|-j oe|-o .*|-r y|-n|-q .*'
        ;;
    lsf)
        prefix='#BSUB '
        taken='-J .*|-nnodes [0-9]+|-W [0-9]+:[0-9]+|-o .*|-r|-x|-q .*'
        ;;
    flux)
        prefix='# flux: '
        taken='--job-name=.*|--nodes=[0-9]+|--time-limit=[0-9]+m|--output=.*|--exclusive|--queue=.*'
        ;;
    esac
    sed -n "s/^$prefix//p" "$1" >"$1.directives"
    odd=$(grep -Evx -e "$taken" "$1.directives")
    [ -z "$odd" ] || refuse "illegal directive: $odd" 2
}

# Prints the value of the directive that begins with this text.
value() { sed -n "s/^$1//p" "$2.directives"; }

# submit SCRIPT AFTER: creates a job and sets n to its number.
submit() {
    mkdir -p "$STAND_IN"
    n=1
    until mkdir "$STAND_IN/$n" 2>/dev/null; do n=$((n + 1)); done
    job=$STAND_IN/$n
    cat "$1" >"$job/script"
    directives "$job/script"
    case $SYSTEM in
    pbs | torque) name=$(value '-N ' "$job/script") log=$(value '-o ' "$job/script") ;;
    lsf) name=$(value '-J ' "$job/script") log=$(value '-o ' "$job/script") ;;
    flux) name=$(value --job-name= "$job/script") log=$(value --output= "$job/script") ;;
    esac
    [ -n "$name" ] && [ -n "$log" ] || refuse "no name or no output" 2
    echo "$name" >"$job/name"
    case $log in /*) echo "$log" ;; *) echo "$PWD/$log" ;; esac >"$job/log"
    echo waiting >"$job/word"
    if [ -n "$2" ]; then
        known "$(number "$2")" || refuse "unknown job $2" 2
        number "$2" >"$job/after"
    fi
    setsid sh "$0" --start "$n" </dev/null >/dev/null 2>&1 &
}

# Runs the job's processes in a new session and outside of the folder of submission. PBS and Torque pass no environment on.
processes() {
    cd / || exit 1
    exec >"$(cat "$STAND_IN/$1/log")" 2>&1
    case $SYSTEM in
    pbs | torque)
        hostname >"$STAND_IN/$1/nodes"
        exec env -i HOME="$HOME" PATH=/usr/bin:/bin PBS_JOBID="$1.$server" PBS_NODEFILE="$STAND_IN/$1/nodes" \
            setsid bash "$STAND_IN/$1/script"
        ;;
    lsf) exec env LSB_JOBID="$1" LSB_MCPU_HOSTS="$(hostname) 2 " setsid bash "$STAND_IN/$1/script" ;;
    flux) exec env FLUX_ENCLOSING_ID="ƒ$1" setsid bash "$STAND_IN/$1/script" ;;
    esac
}

start() {
    job=$STAND_IN/$1
    while [ -f "$job/after" ] && alive "$(cat "$job/after")"; do sleep 0.05; done
    # The folder decides whether the job starts or was cancelled before.
    mkdir "$job/begun" 2>/dev/null || exit
    echo running >"$job/word"
    processes "$1" &
    pid=$!
    echo "$pid" >"$job/pid"
    if mv "$STAND_IN/limit" "$job/limit" 2>/dev/null; then
        read -r result lines <"$job/limit"
        while kill -0 "$pid" && [ "$(cat "$result"/journals/* | wc -l)" -lt "$lines" ]; do sleep 0.02; done
        kill -0 "$pid" && echo limit >"$job/word" && kill -s KILL -- "-$pid"
    fi
    if wait "$pid"; then ended="done"; else ended=failed; fi
    [ "$(word "$1")" != running ] || echo "$ended" >"$job/word"
}

cancel() {
    for id in "$@"; do
        n=$(number "$id")
        known "$n" && alive "$n" || refuse "Unknown Job Id $id" 153
        if mkdir "$STAND_IN/$n/begun" 2>/dev/null; then
            echo cancelled >"$STAND_IN/$n/word"
            continue
        fi
        until [ -s "$STAND_IN/$n/pid" ]; do sleep 0.01; done
        echo cancelled >"$STAND_IN/$n/word"
        pid=$(cat "$STAND_IN/$n/pid")
        # A job that has just started does not have its own session yet.
        until kill -s TERM -- "-$pid" 2>/dev/null || ! kill -0 "$pid" 2>/dev/null; do sleep 0.01; done
    done
}

# Prints the tables of qstat, which truncate long ids.
table() {
    shown=0
    for id in "$@"; do
        n=$(number "$id")
        known "$n" || refuse "Unknown Job Id $id" 153
        case $(word "$n") in waiting) state=Q ;; running) state=R ;; *) state=$over ;; esac
        if [ -z "$state" ]; then
            echo "qstat: $gone" >&2
            rc=35
            continue
        fi
        [ "$shown" = 1 ] || printf '%s\n' "Job id            Name             User              Time Use S Queue" \
            "----------------  ---------------- ----------------  -------- - -----"
        shown=1
        printf '%-17s %-16s %-16s %9s %s %s\n' "$(echo "$n.$server" | cut -c1-15)*" "$(cat "$STAND_IN/$n/name")" anna 00:00:01 \
            "$state" workq
    done
    exit "${rc:-0}"
}

bjobs() {
    for id in "$@"; do
        known "$id" || { echo "Job <$id> is not found" >&2 && continue; }
        case $(word "$id") in
        waiting) state='PEND|%s|-' ;;
        running) state='RUN|%s|-' ;;
        done) state='DONE|%s|-' ;;
        failed) state='EXIT|%s|-' ;;
        limit) state='EXIT|%s|TERM_RUNLIMIT: job killed after reaching LSF run time limit' ;;
        cancelled) state='EXIT|%s|TERM_OWNER: job killed by owner' ;;
        esac
        # shellcheck disable=SC2059
        printf "$id|$state\n" "$(cat "$STAND_IN/$id/name")"
    done
}

flux_jobs() {
    for n in $(ls "$STAND_IN" | grep -x '[0-9]*' | sort -rn); do
        case $(word "$n") in
        waiting) state='SCHED|%s|' ;;
        running) state='RUN|%s|' ;;
        done) state='COMPLETED|%s|' ;;
        failed) state='FAILED|%s|' ;;
        limit) state='TIMEOUT|%s|timeout' ;;
        cancelled) state='CANCELED|%s|cancel' ;;
        esac
        # shellcheck disable=SC2059
        printf "ƒ$n|$state\n" "$(cat "$STAND_IN/$n/name")"
    done
}

[ "$1" != --start ] || { start "$2" && exit; }
echo "$program $*" >>"$STAND_IN.asked"
case "$program $*" in
"qsub -W depend=afterany:"*) submit "$3" "${2#depend=afterany:}" && echo "$n.$server" ;;
"qsub /"*) submit "$1" '' && echo "$n.$server" ;;
"qstat -x "*) [ "$SYSTEM" = pbs ] || refuse 'invalid option -- x' 2
    shift
    over=F
    table "$@" ;;
"qstat "*) over=''
    gone="$1 Job has finished, use -x or -H to obtain historical job information"
    [ "$SYSTEM" = pbs ] || gone="Unknown Job Id Error $1"
    table "$@" ;;
"qdel "* | "bkill "*) cancel "$@" ;;
"bsub -w ended("*) after=${2#ended(}
    submit /dev/stdin "${after%)}" && echo "Job <$n> is submitted to default queue <normal>." ;;
"bsub ") submit /dev/stdin '' && echo "Job <$n> is submitted to default queue <normal>." ;;
"bjobs -a -noheader -o jobid stat job_name exit_reason delimiter='|' "*) shift 4
    bjobs "$@" ;;
"flux batch --dependency=afterany:"*) submit "$3" "${2#--dependency=afterany:}" && echo "ƒ$n" ;;
"flux batch /"*) submit "$2" '' && echo "ƒ$n" ;;
"flux cancel "*) shift
    cancel "$@" ;;
"flux jobs -a --no-header --format={id.f58}|{status}|{name}|{exception.type}") flux_jobs ;;
*) refuse "usage: $program $*" 2 ;;
esac
