package coretest

import (
	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

func (r *plainRank) TestAny(rs []Request) (int, core.Status, bool, error) {
	idle := true
	for i, q := range rs {
		if !q.(*plainRequest).active {
			continue
		}
		idle = false
		if st, ok, err := q.Test(); ok {
			return i, st, true, err
		}
	}
	return -1, core.Empty, idle, nil
}

func (r *plainRank) TestAll(rs []Request, statuses []core.Status, errs []error) (bool, error) {
	for _, q := range rs {
		if _, ok, _ := q.Peek(); !ok {
			return false, nil
		}
	}
	_, err := r.some(rs, statuses, errs)
	return true, err
}

func (r *plainRank) TestSome(rs []Request, indices []int, statuses []core.Status, errs []error) ([]int, error) {
	which, err := r.some(rs, statuses, errs)
	return append(indices, which...), err
}

// some collects the requests that have ended.
func (r *plainRank) some(rs []Request, statuses []core.Status, errs []error) (which []int, err error) {
	for i, q := range rs {
		if !q.(*plainRequest).active {
			continue
		}
		st, ok, failed := q.Test()
		if !ok {
			continue
		}
		which = append(which, i)
		if statuses != nil {
			statuses[i] = st
		}
		if errs != nil {
			errs[i] = failed
		}
		if failed != nil {
			err = errclass.Wrap(errclass.InStatus, failed, "request %d", i)
		}
	}
	return which, err
}
