package mpi

// Scan combines the in of ranks 0 up to and including this one into its out. If in is nil, the
// elements are taken from out (MPI_Scan; MPI-4.1, 6.11.1).
func Scan[T any](c *Comm, in, out []T, op *Op) (err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Scan", Undefined, &x, &err)()
	return c.run(c.scan(x, y, op))
}

// Iscan is the non-blocking Scan (MPI_Iscan; MPI-4.1, 6.12.11).
func Iscan[T any](c *Comm, in, out []T, op *Op) (r Request, err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Iscan", Undefined, &x, &err)()
	return c.begin(c.scan(x, y, op))
}

// ScanInit is the persistent Scan (MPI_Scan_init; MPI-4.1, 6.13.11).
func ScanInit[T any](c *Comm, in, out []T, op *Op) (r Request, err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Scan_init", Undefined, &x, &err)()
	return c.prepare(c.scan(x, y, op))
}

// ScanBuffer is Scan on Buffers.
func (c *Comm) ScanBuffer(in, out Buffer, op *Op) (err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Scan", Undefined, &x, &err)()
	return c.run(c.scan(x, y, op))
}

// IscanBuffer is Iscan on Buffers.
func (c *Comm) IscanBuffer(in, out Buffer, op *Op) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Iscan", Undefined, &x, &err)()
	return c.begin(c.scan(x, y, op))
}

// ScanInitBuffer is ScanInit on Buffers.
func (c *Comm) ScanInitBuffer(in, out Buffer, op *Op) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Scan_init", Undefined, &x, &err)()
	return c.prepare(c.scan(x, y, op))
}

// Exscan combines the in of all lower ranks into the out of this process. The out of rank 0, which
// has no lower rank, does not change. If in is nil, the elements are taken from out (MPI_Exscan;
// MPI-4.1, 6.11.2).
func Exscan[T any](c *Comm, in, out []T, op *Op) (err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Exscan", Undefined, &x, &err)()
	return c.run(c.exscan(x, y, op))
}

// Iexscan is the non-blocking Exscan (MPI_Iexscan; MPI-4.1, 6.12.12).
func Iexscan[T any](c *Comm, in, out []T, op *Op) (r Request, err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Iexscan", Undefined, &x, &err)()
	return c.begin(c.exscan(x, y, op))
}

// ExscanInit is the persistent Exscan (MPI_Exscan_init; MPI-4.1, 6.13.12).
func ExscanInit[T any](c *Comm, in, out []T, op *Op) (r Request, err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Exscan_init", Undefined, &x, &err)()
	return c.prepare(c.exscan(x, y, op))
}

// ExscanBuffer is Exscan on Buffers.
func (c *Comm) ExscanBuffer(in, out Buffer, op *Op) (err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Exscan", Undefined, &x, &err)()
	return c.run(c.exscan(x, y, op))
}

// IexscanBuffer is Iexscan on Buffers.
func (c *Comm) IexscanBuffer(in, out Buffer, op *Op) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Iexscan", Undefined, &x, &err)()
	return c.begin(c.exscan(x, y, op))
}

// ExscanInitBuffer is ExscanInit on Buffers.
func (c *Comm) ExscanInitBuffer(in, out Buffer, op *Op) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Exscan_init", Undefined, &x, &err)()
	return c.prepare(c.exscan(x, y, op))
}
