// Package exchange carries out the plans of package twophase. Each rank has two roles at the same
// time, in two goroutines: as a client it sends lists of ranges to the aggregators, and sends or
// receives their bytes (client.go); as an aggregator it collects the lists of all ranks for its
// window, and reads or writes the file (write.go, read.go). Ranks of one host share buffers (near.go).
//
// After an error of the file, an aggregator goes on to take part in the exchange, so that no rank
// waits in vain. After an error of communication the team is broken, and all ranks end.
package exchange

import (
	"context"
	"errors"
	"math"

	"github.com/viaduct-hpc/viaduct/mpi/internal/file/storage"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/twophase"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/view"
	"github.com/viaduct-hpc/viaduct/mpi/internal/memory"
	"github.com/viaduct-hpc/viaduct/mpi/internal/team"
)

// An Op is this rank's part in a collective operation.
type Op struct {
	Team    *team.Team
	Store   storage.File
	Plan    *twophase.Plan
	Options storage.Options
	Pool    *Pool
	Near    *Near

	// Bytes Start to Start+Mem.Size()-1 of the view are read or written.
	View  *view.View
	Start int64
	Mem   *memory.Memory
}

// Write writes. The error is this rank's own.
func (o *Op) Write(ctx context.Context) error {
	if err := o.prepare(ctx); err != nil {
		return err
	}
	return o.both(ctx, func() error { return o.client(ctx, sending) }, o.write)
}

// Read reads. end is where this rank, as an aggregator, found the end of the file, or MaxInt64. The
// bytes behind it are 0.
func (o *Op) Read(ctx context.Context) (end int64, err error) {
	end = math.MaxInt64
	if err := o.prepare(ctx); err != nil {
		return end, err
	}
	err = o.both(ctx, func() error { return o.client(ctx, receiving) }, func(ctx context.Context, me int) (err error) {
		end, err = o.read(ctx, me)
		return err
	})
	return end, err
}

func (o *Op) prepare(ctx context.Context) error {
	return o.Near.prepare(ctx, o.Team, o.Plan, o.Options.BufferBytes)
}

// both runs both roles.
func (o *Op) both(ctx context.Context, client func() error, aggregate func(ctx context.Context, me int) error) error {
	me := -1
	for i, rank := range o.Plan.Aggregators {
		if rank == o.Team.Rank() {
			me = i
		}
	}
	if me < 0 {
		return client()
	}
	ended := make(chan error, 1)
	go func() { ended <- aggregate(ctx, me) }()
	err := client()
	// The role in which ctx ended has broken the team, and the other one may report that.
	if aerr := <-ended; err == nil || ctx.Err() != nil && errors.Is(aerr, ctx.Err()) {
		err = aerr
	}
	return err
}

// take and give get a buffer from the pool and return it.
func (o *Op) take(n int64) []byte { return o.Pool.take(n) }
func (o *Op) give(b []byte)       { o.Pool.give(b, o.Options.BufferBytes) }
