// Prints, as C, the properties of this MPI's header on which the bindings depend. Constants are taken from the
// bindings.

#include <mpi.h>
#include <stddef.h>
#include <stdio.h>

#define SIZE(type) \
    printf("_Static_assert(sizeof(" #type ") == %zu, \"" #type " has another size\");\n", sizeof(type))
#define FIELD(field) \
    printf("_Static_assert(offsetof(MPI_Status, " #field ") == %zu, \"" #field " is elsewhere\");\n", \
           offsetof(MPI_Status, field))

int main(void) {
    SIZE(MPI_Aint);
    SIZE(MPI_Comm);
    SIZE(MPI_Count);
    SIZE(MPI_Datatype);
    SIZE(MPI_Errhandler);
    SIZE(MPI_File);
    SIZE(MPI_Fint);
    SIZE(MPI_Group);
    SIZE(MPI_Info);
    SIZE(MPI_Message);
    SIZE(MPI_Offset);
    SIZE(MPI_Op);
    SIZE(MPI_Request);
    SIZE(MPI_Status);
    SIZE(MPI_Win);
    SIZE(void *);
    SIZE(long);
    FIELD(MPI_SOURCE);
    FIELD(MPI_TAG);
    FIELD(MPI_ERROR);
    return 0;
}
