package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/viaduct-hpc/viaduct/examples/mpi/internal/heat"
	"github.com/viaduct-hpc/viaduct/mpi/checkpoint"
)

// A saver saves the plate every so many steps.
type saver struct {
	grid  *grid
	store *checkpoint.Store
	every int
}

// newSaver opens the store in a directory.
func (g *grid) newSaver(ctx context.Context, dir string, every int) (*saver, error) {
	store, err := checkpoint.Open(ctx, g.comm, dir, checkpoint.Options{})
	return &saver{grid: g, store: store, every: every}, err
}

// items are what is saved and restored: the plate, of which this process has a block, and the rate,
// which must be the same when the job goes on. The frame of the plate never changes.
func (s *saver) items(b *heat.Block, rate *float64) ([]checkpoint.Item, error) {
	p := s.grid.problem
	row, col, rows, cols, err := s.grid.place(s.grid.comm.Rank())
	if err != nil {
		return nil, err
	}
	cells, err := inside(b, 0, 0, rows, cols)
	return []checkpoint.Item{
		checkpoint.Block("plate", cells, []int{p.Rows, p.Cols}, []int{row, col}, []int{rows, cols}),
		checkpoint.Value("rate", rate),
	}, err
}

// restore restores the newest checkpoint to a block, and returns its step: 0 if there is none.
func (s *saver) restore(ctx context.Context, b *heat.Block) (step int, err error) {
	var rate float64
	items, err := s.items(b, &rate)
	if err != nil {
		return 0, err
	}
	got, err := s.store.Restore(ctx, items...)
	switch {
	case errors.Is(err, checkpoint.ErrNone):
		return 0, nil
	case err != nil:
		return 0, err
	case rate != s.grid.problem.Rate:
		return 0, fmt.Errorf("heat: the checkpoint was made with -rate %v, and this is -rate %v: give the same, or another directory", rate, s.grid.problem.Rate)
	case got.Step > int64(s.grid.problem.Steps):
		return 0, fmt.Errorf("heat: the checkpoint is that of step %d, and -steps is %d: give more, or another directory", got.Step, s.grid.problem.Steps)
	}
	if s.grid.comm.Rank() == 0 {
		for _, why := range got.Damaged {
			log.Printf("heat: %v", why)
		}
		fmt.Printf("heat: goes on at step %d with %d processes\n", got.Step, s.grid.comm.Size())
	}
	return int(got.Step), nil
}

// save saves a block, if it is time to do so. A nil saver never does.
func (s *saver) save(ctx context.Context, step int, b *heat.Block) error {
	if s == nil || step == 0 || step%s.every != 0 {
		return nil
	}
	items, err := s.items(b, &s.grid.problem.Rate)
	if err != nil {
		return err
	}
	if err := s.store.Save(ctx, int64(step), items...); err != nil {
		return err
	}
	if s.grid.comm.Rank() == 0 {
		fmt.Printf("heat: step %d is saved\n", step)
	}
	return nil
}
