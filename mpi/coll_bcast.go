package mpi

import "github.com/viaduct-hpc/viaduct/mpi/coll"

// Barrier returns when all processes of c have called it; on an inter-communicator, when all of the
// other group have (MPI_Barrier; MPI-4.1, 6.3).
func Barrier(c *Comm) error {
	if c.hooked() {
		return c.hookedBarrier()
	}
	if err := c.run(barrier, c.checkLive()); err != nil {
		return c.fail(err)
	}
	return nil
}

func (c *Comm) hookedBarrier() (err error) {
	defer c.call("MPI_Barrier", &err)()
	return c.run(barrier, c.checkLive())
}

// Ibarrier is the non-blocking Barrier (MPI_Ibarrier; MPI-4.1, 6.12.1).
func Ibarrier(c *Comm) (r Request, err error) {
	defer c.call("MPI_Ibarrier", &err)()
	return c.begin(barrier, c.checkLive())
}

// BarrierInit is the persistent Barrier (MPI_Barrier_init; MPI-4.1, 6.13.1).
func BarrierInit(c *Comm) (r Request, err error) {
	defer c.call("MPI_Barrier_init", &err)()
	return c.prepare(barrier, c.checkLive())
}

func barrier(v *view) error {
	if v.local != nil {
		return coll.InterBarrier(v, coll.Auto)
	}
	return coll.Barrier(v, coll.Auto)
}

// Bcast copies the root's xs to the xs of all processes, which must have the same length
// (MPI_Bcast; MPI-4.1, 6.4). On an inter-communicator the root's elements go to the other group.
func Bcast[T any](c *Comm, xs []T, root int) (err error) {
	x := slice(xs)
	defer c.collective("MPI_Bcast", root, &x, &err)()
	return c.run(c.bcast(x, root))
}

// Ibcast is the non-blocking Bcast (MPI_Ibcast; MPI-4.1, 6.12.2).
func Ibcast[T any](c *Comm, xs []T, root int) (r Request, err error) {
	x := slice(xs)
	defer c.collective("MPI_Ibcast", root, &x, &err)()
	return c.begin(c.bcast(x, root))
}

// BcastInit is the persistent Bcast (MPI_Bcast_init; MPI-4.1, 6.13.2).
func BcastInit[T any](c *Comm, xs []T, root int) (r Request, err error) {
	x := slice(xs)
	defer c.collective("MPI_Bcast_init", root, &x, &err)()
	return c.prepare(c.bcast(x, root))
}

// BcastBuffer is Bcast of a Buffer.
func (c *Comm) BcastBuffer(b Buffer, root int) (err error) {
	x := typed(b)
	defer c.collective("MPI_Bcast", root, &x, &err)()
	return c.run(c.bcast(x, root))
}

// IbcastBuffer is Ibcast of a Buffer.
func (c *Comm) IbcastBuffer(b Buffer, root int) (r Request, err error) {
	x := typed(b)
	defer c.collective("MPI_Ibcast", root, &x, &err)()
	return c.begin(c.bcast(x, root))
}

// BcastInitBuffer is BcastInit of a Buffer.
func (c *Comm) BcastInitBuffer(b Buffer, root int) (r Request, err error) {
	x := typed(b)
	defer c.collective("MPI_Bcast_init", root, &x, &err)()
	return c.prepare(c.bcast(x, root))
}

func (c *Comm) bcast(x operand, root int) (program, error) {
	if err := c.checkRooted(root); err != nil {
		return nil, err
	}
	if root == ProcNull {
		return nothing, nil
	}
	return func(v *view) error {
		mem := room(&x.Buffer, c.isRoot(root))
		var err error
		if v.local != nil {
			err = coll.InterBcast(v, mem, root, &v.scratch, coll.Auto)
		} else {
			err = coll.Bcast(v, mem, root, &v.scratch, coll.Auto)
		}
		if err == nil && !c.isRoot(root) {
			unpack(&x.Buffer, mem)
		}
		return err
	}, x.err
}
