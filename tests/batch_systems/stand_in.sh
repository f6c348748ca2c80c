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

# submit SCRIPT: creates a job, starts it and sets n to its number.
submit() {
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
    case $log in /*) echo "$log" ;; *) echo "$PWD/$log" ;; esac >"$job/log"
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
    processes "$1" &
    pid=$!
    if mv "$STAND_IN/limit" "$job/limit" 2>/dev/null; then
        read -r result lines <"$job/limit"
        while kill -0 "$pid" && [ "$(cat "$result"/journals/* | wc -l)" -lt "$lines" ]; do sleep 0.02; done
        kill -0 "$pid" && kill -s KILL -- "-$pid"
    fi
    wait "$pid"
    echo $? >"$job/end"
}

[ "$1" != --start ] || { start "$2" && exit; }
case "$program $*" in
"qsub /"*) submit "$1" && echo "$n.$server" ;;
"bsub ") submit /dev/stdin && echo "Job <$n> is submitted to default queue <normal>." ;;
"flux batch /"*) submit "$2" && echo "ƒ$n" ;;
*) refuse "usage: $program $*" 2 ;;
esac
