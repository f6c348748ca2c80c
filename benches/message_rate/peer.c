/* The loops of the OSU micro-benchmarks osu_latency, osu_bw and osu_bibw for two ranks, for comparison with apexmap's kernels.
 *
 *   mpirun -n 2 peer RUNS DISTINCT  {TEST BYTES WINDOW ROUNDS} ...
 *
 * TEST is latency, streaming or bidirectional. A round is a window of messages, or for latency a window of round trips.
 * With DISTINCT = 1 every message of a window has a separate buffer; with 0 all share one, as in OSU. All tests run RUNS
 * times in turn, each after half a run that is not timed. Rank 0 prints one line per test and run: its number and seconds.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DATA = 1, ACKNOWLEDGEMENT = 2 };

static int rank, partner, distinct;
static char *sent, *received;
static MPI_Request *sends, *receives;

static size_t at(int message, size_t bytes) { return distinct ? message * ((bytes + 63) / 64 * 64) : 0; }

static void send_all(int bytes, int window) {
    for (int j = 0; j < window; j++)
        MPI_Isend(sent + at(j, bytes), bytes, MPI_CHAR, partner, DATA, MPI_COMM_WORLD, &sends[j]);
}

static void receive_all(int bytes, int window) {
    for (int j = 0; j < window; j++)
        MPI_Irecv(received + at(j, bytes), bytes, MPI_CHAR, partner, DATA, MPI_COMM_WORLD, &receives[j]);
}

static void latency(int bytes, int window) {
    for (int j = 0; j < window; j++) {
        if (rank == 0) {
            MPI_Send(sent + at(j, bytes), bytes, MPI_CHAR, partner, DATA, MPI_COMM_WORLD);
            MPI_Recv(received + at(j, bytes), bytes, MPI_CHAR, partner, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(received + at(j, bytes), bytes, MPI_CHAR, partner, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(sent + at(j, bytes), bytes, MPI_CHAR, partner, DATA, MPI_COMM_WORLD);
        }
    }
}

static void streaming(int bytes, int window) {
    char acknowledgement[4] = { 0 };
    if (rank == 0) {
        send_all(bytes, window);
        MPI_Waitall(window, sends, MPI_STATUSES_IGNORE);
        MPI_Recv(acknowledgement, 4, MPI_CHAR, partner, ACKNOWLEDGEMENT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        receive_all(bytes, window);
        MPI_Waitall(window, receives, MPI_STATUSES_IGNORE);
        MPI_Send(acknowledgement, 4, MPI_CHAR, partner, ACKNOWLEDGEMENT, MPI_COMM_WORLD);
    }
}

static void bidirectional(int bytes, int window) {
    receive_all(bytes, window);
    send_all(bytes, window);
    MPI_Waitall(window, sends, MPI_STATUSES_IGNORE);
    MPI_Waitall(window, receives, MPI_STATUSES_IGNORE);
}

static void run(int number, char **test) {
    void (*round)(int, int) = !strcmp(test[0], "latency") ? latency : !strcmp(test[0], "streaming") ? streaming : bidirectional;
    int bytes = atoi(test[1]), window = atoi(test[2]), rounds = atoi(test[3]);
    size_t memory = at(window, bytes) + bytes;
    if (posix_memalign((void **)&sent, 4096, memory) || posix_memalign((void **)&received, 4096, memory))
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(sent, 1, memory);
    memset(received, 2, memory);
    sends = malloc(window * sizeof *sends);
    receives = malloc(window * sizeof *receives);
    for (int i = 0; i < rounds / 2; i++)
        round(bytes, window);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < rounds; i++)
        round(bytes, window);
    double seconds = MPI_Wtime() - start;
    if (rank == 0)
        printf("%d %.9f\n", number, seconds);
    MPI_Barrier(MPI_COMM_WORLD);
    free(sent), free(received), free(sends), free(receives);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    partner = 1 - rank;
    int runs = atoi(argv[1]), tests = (argc - 3) / 4;
    distinct = atoi(argv[2]);
    for (int i = 0; i < runs; i++)
        for (int test = 0; test < tests; test++)
            run(test, argv + 3 + 4 * test);
    MPI_Finalize();
    return 0;
}
