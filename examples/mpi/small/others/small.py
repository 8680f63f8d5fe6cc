"""The ten small programs of small.go in Python, with mpi4py."""

import numpy as np
from mpi4py import MPI


def hello(w):
    print(f"rank {w.rank} of {w.size}")


def message(w):
    xs = np.zeros(100)
    if w.rank == 0:
        w.Send(xs, dest=1, tag=7)
        return
    st = MPI.Status()
    w.Recv(xs, source=0, tag=7, status=st)
    print(st.Get_count(MPI.DOUBLE), "numbers from", st.source)


def unknown_length(w):
    if w.rank == 0:
        w.Send(b"how long?", dest=1)
        return
    st = MPI.Status()
    m = w.Mprobe(source=0, tag=0, status=st)
    text = bytearray(st.Get_count(MPI.BYTE))
    m.Recv(text)


def ring(w):
    mine, theirs = np.array([w.rank]), np.zeros(1, int)
    next, last = (w.rank + 1) % w.size, (w.rank - 1) % w.size
    w.Sendrecv(mine, dest=next, recvbuf=theirs, source=last)


def sum(w):
    mine, all = np.array([float(w.rank)]), np.zeros(1)
    w.Allreduce(mine, all, op=MPI.SUM)


def gather_parts(w):
    part = np.zeros(w.rank + 1, np.int32)
    counts = w.gather(len(part), root=0)
    all = np.zeros(w.size * (w.size + 1) // 2, np.int32)
    w.Gatherv(part, [all, counts] if w.rank == 0 else None, root=0)


def settings(w):
    s = {"mesh": "fine", "steps": 100} if w.rank == 0 else None
    s = w.bcast(s, root=0)


def halo(w):
    xs = np.zeros(102)  # 100 of this process, and one of each neighbour
    left = w.rank - 1 if w.rank > 0 else MPI.PROC_NULL
    right = w.rank + 1 if w.rank < w.size - 1 else MPI.PROC_NULL
    MPI.Request.Waitall([
        w.Irecv(xs[0:1], source=left),
        w.Irecv(xs[101:102], source=right),
        w.Isend(xs[1:2], dest=left),
        w.Isend(xs[100:101], dest=right),
    ])


def column(w):
    table = np.zeros((10, 20))
    col = MPI.DOUBLE.Create_vector(10, 1, 20).Commit()
    third = [table.ravel()[3:], 1, col]  # from element 3 on
    r = w.Send_init(third, dest=1) if w.rank == 0 else w.Recv_init(third, source=0)
    for _ in range(5):
        r.Start()
        r.Wait()
    r.Free()
    col.Free()


def rows(w):
    row = w.Split(w.rank // 2, w.rank)  # two processes each
    most = np.array([row.rank])
    row.Allreduce(MPI.IN_PLACE, most, op=MPI.MAX)
    row.Free()


if __name__ == "__main__":
    for program in (hello, message, unknown_length, ring, sum, gather_parts, settings, halo, column, rows):
        program(MPI.COMM_WORLD)
