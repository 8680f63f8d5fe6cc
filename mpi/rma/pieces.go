package rma

import (
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/rma/internal/apply"
	"github.com/viaduct-hpc/viaduct/mpi/rma/internal/wire"
)

// pieces divides an operation into pieces of whole elements.
type pieces struct {
	a       *action
	in, out datatype.Cursor // of the operation's memory
}

// open places the cursors at the beginning.
func (p *pieces) open() (err error) {
	if p.a.in.t != nil {
		if p.in, err = p.a.in.cursor(); err != nil {
			return err
		}
	}
	if p.a.out.t != nil {
		p.out, err = p.a.out.cursor()
	}
	return err
}

// next takes the next piece in the target's part, of n bytes. It adds the runs to the list, if there
// is one, and appends them to runs otherwise. The list and the bytes are at most room.
func (p *pieces) next(runs []apply.Run, room int, list *wire.RunList) (_ []apply.Run, n int) {
	size := 1
	if p.a.kind != wire.Put && p.a.kind != wire.Get {
		size = p.a.elem.Size()
	}
	for p.a.runs.Left() > 0 {
		most := size - n%size
		if most == size { // a new element, which may have two runs
			left := room - n
			if list != nil {
				if left -= list.Size() + 2*wire.GroupBytesMax; list.Full() {
					break
				}
			}
			if left < size {
				break
			}
			most = left / size * size
		}
		off, length := p.a.runs.Next(most)
		if n += length; list != nil {
			list.Add(uint64(p.a.base+off), uint32(length))
		} else {
			runs = append(runs, apply.Run{Off: p.a.base + off, Len: length})
		}
	}
	return runs, n
}
