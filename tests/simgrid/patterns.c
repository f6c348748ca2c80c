/* Patterns of messages for SMPI; tests/simgrid.rs has the same ones for simulated ranks. Prints when the last rank has ended, in
   seconds of simulated time. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 16, UNEXPECTED = 1000 };

static int rank, ranks, bytes, pending;
static char *sent, *received;
static MPI_Request requests[4096];

static void post_receive(int from) {
    MPI_Irecv(received, bytes, MPI_CHAR, from, 0, MPI_COMM_WORLD, &requests[pending++]);
}

static void post_send(int to) { MPI_Isend(sent, bytes, MPI_CHAR, to, 0, MPI_COMM_WORLD, &requests[pending++]); }

static void wait_all(void) {
    MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE);
    pending = 0;
}

static void exchange(int to, int from) {
    post_receive(from);
    post_send(to);
    wait_all();
}

static void run(const char *pattern) {
    int half = ranks / 2;
    if (!strcmp(pattern, "ping-pong")) {
        if (rank == 0) {
            post_send(half), wait_all();
            post_receive(half), wait_all();
        } else if (rank == half) {
            post_receive(0), wait_all();
            post_send(0), wait_all();
        }
    } else if (!strcmp(pattern, "streaming")) {
        for (int message = 0; message < WINDOW; message++)
            rank < half ? post_send(rank + half) : post_receive(rank - half);
        wait_all();
    } else if (!strcmp(pattern, "ring")) {
        exchange((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    } else if (!strcmp(pattern, "pairwise")) {
        for (int step = 1; step < ranks; step++)
            exchange(rank ^ step, rank ^ step);
    } else if (!strcmp(pattern, "shifts")) {
        for (int step = 1; step < ranks; step++)
            exchange((rank + step) % ranks, (rank + ranks - step) % ranks);
    } else if (!strcmp(pattern, "all-to-all")) {
        for (int step = 1; step < ranks; step++)
            post_receive((rank + ranks - step) % ranks);
        for (int step = 1; step < ranks; step++)
            post_send((rank + step) % ranks);
        wait_all();
    } else if (!strcmp(pattern, "hypercube")) {
        for (int bit = 1; bit < ranks; bit *= 2)
            exchange(rank ^ bit, rank ^ bit);
    } else if (!strcmp(pattern, "incast")) {
        if (rank == 0)
            for (int from = 1; from <= 8; from++)
                post_receive(from);
        else if (rank <= 8)
            post_send(0);
        wait_all();
    } else if (!strcmp(pattern, "late")) {
        /* The receiver waits for a note that the messages have been sent. */
        if (rank == 0)
            post_receive(1), wait_all();
        else if (rank == 1)
            post_receive(half), wait_all(), post_send(0);
        for (int message = 0; message < UNEXPECTED; message++)
            if (rank == 0)
                post_receive(half);
            else if (rank == half)
                post_send(0);
        if (rank == half)
            post_send(1);
        wait_all();
    } else {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

int main(int count, char **words) {
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    bytes = atoi(words[2]);
    sent = calloc(bytes, 1);
    received = calloc(bytes, 1);
    for (int repetition = 0; repetition < atoi(words[3]); repetition++)
        run(words[1]);
    double own = MPI_Wtime(), last = 0;
    MPI_Reduce(&own, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("seconds %.12g\n", last);
    MPI_Finalize();
    return 0;
}
