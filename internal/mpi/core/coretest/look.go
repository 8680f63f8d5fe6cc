package coretest

import (
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// look waits for or tests the requests of the action that have not ended.
func (x *run) look(a Action) error {
	var posts []*posted
	for _, id := range a.IDs {
		if p := x.pending[id]; p != nil {
			posts = append(posts, p)
		}
	}
	if x.pending[a.IDs[0]] == nil && (a.Verb == WaitAny || a.Verb == WaitSome) || len(posts) == 0 {
		return nil
	}
	return x.lookAt(a.Verb, posts)
}

func requests(posts []*posted) (rs []Request) {
	for _, p := range posts {
		rs = append(rs, p.q)
	}
	return rs
}

func (x *run) lookAt(v Verb, posts []*posted) (err error) {
	rs, statuses, errs := requests(posts), make([]core.Status, len(posts)), make([]error, len(posts))
	switch v {
	case Wait:
		return x.waitOne(posts[0])
	case WaitAny:
		i, st, err := x.WaitAny(rs)
		if i < 0 || i >= len(posts) {
			return fmt.Errorf("coretest: WaitAny of %d gave %d, %w", len(posts), i, err)
		}
		return x.over(posts[i], st, err)
	case WaitAll:
		if err := x.WaitAll(rs, statuses, errs); (err != nil) != (errors.Join(errs...) != nil) {
			return fmt.Errorf("coretest: WaitAll says %w, and of each %v", err, errs)
		}
		for i, p := range posts {
			err = errors.Join(err, x.over(p, statuses[i], errs[i]))
		}
		return err
	case Test:
		if _, ok, err := posts[0].q.Peek(); err != nil && !ok {
			return err
		}
		st, ok, err := posts[0].q.Test()
		if !ok {
			return err
		}
		return x.over(posts[0], st, err)
	}
	return x.someOf(v, posts, rs, statuses, errs)
}

// someOf is WaitSome or TestSome.
func (x *run) someOf(v Verb, posts []*posted, rs []Request, statuses []core.Status, errs []error) error {
	var which []int
	var err error
	if v == WaitSome {
		which, err = x.WaitSome(rs, statuses, errs)
	} else {
		which, err = x.TestSome(rs, nil, statuses, errs)
	}
	if err != nil && !errors.Is(err, errclass.InStatus) {
		return err
	}
	if v == WaitSome && len(which) == 0 {
		return fmt.Errorf("coretest: WaitSome of %d gave none", len(posts))
	}
	var all error
	for _, i := range which {
		all = errors.Join(all, x.over(posts[i], statuses[i], errs[i]))
	}
	return all
}
