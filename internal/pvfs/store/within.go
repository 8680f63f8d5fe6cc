package store

import (
	"fmt"
	"slices"
	"syscall"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A reach is the set of objects that a transaction of Within may use. A nil one is all objects.
type reach struct {
	lists [][]proto.Handle
}

// Within returns the transaction for a request that declares the objects that it is about. It reaches these, the objects that
// they consist of, those that their entries name, and new ones. Whatever else f tries to use fails with EACCES, and is counted in
// Stats as Beyond: it is an error of the program.
func (t *Tx) Within(objects []proto.Handle) *Tx {
	within := *t
	within.reach = &reach{[][]proto.Handle{objects}}
	return &within
}

// reaches returns an error if the transaction may not use an object.
func (t *Tx) reaches(op string, h proto.Handle) error {
	if t.reach == nil {
		return nil
	}
	for _, list := range t.reach.lists {
		if slices.Contains(list, h) {
			return nil
		}
	}
	t.s.beyond.Add(1)
	return fault(op, h, fmt.Errorf("it is none of the request's objects: %w", syscall.EACCES))
}

// extend adds objects to those that the transaction may use.
func (t *Tx) extend(objects ...proto.Handle) {
	if t.reach != nil && len(objects) > 0 {
		t.reach.lists = append(t.reach.lists, objects)
	}
}
