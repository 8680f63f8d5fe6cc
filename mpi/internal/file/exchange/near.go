package exchange

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/ranges"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/twophase"
	"github.com/viaduct-hpc/viaduct/mpi/internal/share"
	"github.com/viaduct-hpc/viaduct/mpi/internal/team"
)

// The ranks of a host map the buffers of the aggregators among them. A rank copies its bytes to their
// places in the window itself, or from there, which saves a message and a copy for each byte. An
// aggregator says when its buffer is ready (TagReady), and a rank when it has finished (TagDone).

// Near is the buffers of a file that ranks of a host share. The zero value has none. One operation at a
// time uses it.
type Near struct {
	aggregators []int
	bytes       int64
	hosts       []string       // of ranks; "" shares with none
	buffers     map[int][]byte // by aggregator on this host
	regions     []*share.Region
}

// NearMin is how many bytes of the file an operation must span to be worth shared buffers. All ranks
// have the same; tests change it.
var NearMin int64 = 1 << 20

const (
	// nearHead is where the buffer begins in a region. The name of the region is before it.
	nearHead  = 4096
	nearWords = 5 // status, process, descriptor, and the nonce
)

// useful tells whether an operation should use shared buffers of so many bytes.
func useful(p *twophase.Plan, bytes int64) bool {
	return p.Bytes() >= NearMin && p.WindowBytes() <= bytes
}

// prepare makes the buffers, unless they are those of the operation before. All ranks call it with the
// same numbers. Without memory to share there are none on this host.
func (n *Near) prepare(ctx context.Context, t *team.Team, p *twophase.Plan, bytes int64) error {
	if !useful(p, bytes) || n.bytes == bytes && slices.Equal(n.aggregators, p.Aggregators) {
		return nil
	}
	n.Close()
	n.aggregators, n.bytes, n.hosts, n.buffers = slices.Clone(p.Aggregators), bytes, t.Hosts(), make(map[int][]byte)
	words, mine := make([]int64, nearWords), (*share.Region)(nil)
	if slices.Contains(n.aggregators, t.Rank()) && n.hosts[t.Rank()] != "" {
		r, name, err := share.Create(int(nearHead + bytes))
		if err == nil {
			mine = r
			n.regions = append(n.regions, r)
			words = []int64{1, int64(name.PID), int64(name.FD),
				int64(binary.LittleEndian.Uint64(name.Nonce[:])), int64(binary.LittleEndian.Uint64(name.Nonce[8:]))}
		}
	}
	all, err := t.Gather(ctx, words)
	if err != nil {
		return err
	}
	ok := n.open(t.Rank(), all, mine)
	status, err := t.Gather(ctx, []int64{ok})
	if mine != nil {
		mine.Hide()
	}
	if err != nil {
		return err
	}
	for rank, host := range n.hosts {
		if host == n.hosts[t.Rank()] && status[rank] == 0 {
			clear(n.buffers) // all ranks of the host must have them
		}
	}
	return nil
}

// open maps the buffers of the aggregators on this host. It returns 0 if it cannot, and 1 otherwise.
func (n *Near) open(me int, all []int64, mine *share.Region) int64 {
	if n.hosts[me] == "" {
		return 0
	}
	for _, rank := range n.aggregators {
		w := all[rank*nearWords:][:nearWords]
		if n.hosts[rank] != n.hosts[me] {
			continue
		}
		r := mine
		if rank != me {
			name := share.Name{PID: int(w[1]), FD: int(w[2])}
			binary.LittleEndian.PutUint64(name.Nonce[:], uint64(w[3]))
			binary.LittleEndian.PutUint64(name.Nonce[8:], uint64(w[4]))
			var err error
			if r, err = share.Open(name, int(nearHead+n.bytes)); err != nil {
				return 0
			}
			n.regions = append(n.regions, r)
		}
		if r == nil {
			return 0
		}
		n.buffers[rank] = r.Bytes()[nearHead:]
	}
	return 1
}

// shared returns the buffer that this rank shares with an aggregator in this operation, or nil.
func (o *Op) shared(aggregator int) []byte {
	if !useful(o.Plan, o.Options.BufferBytes) {
		return nil
	}
	return o.Near.buffers[aggregator]
}

// Close unmaps the buffers. No operation is under way.
func (n *Near) Close() {
	for _, r := range n.regions {
		r.Close()
	}
	*n = Near{}
}

// isNear tells whether a rank copies its bytes into this aggregator's buffer itself.
func (o *Op) isNear(rank int) bool {
	me := o.Team.Rank()
	return o.shared(me) != nil && o.Near.hosts[rank] == o.Near.hosts[me]
}

// offer informs near ranks that the buffer is ready, and returns a function that waits until they have
// finished.
func (o *Op) offer(parts []part) (pending []team.Pending) {
	for _, p := range parts {
		if p.list.Bytes() > 0 && o.isNear(p.rank) {
			pending = append(pending, o.Team.Isend(nil, p.rank, team.TagReady), o.Team.Irecv(nil, p.rank, team.TagDone))
		}
	}
	return pending
}

// A nearPart is the bytes from to end-1 of the operation, which lie in the window of an aggregator whose
// buffer begins at offset low of the file.
type nearPart struct {
	aggregator     int
	buf            []byte
	low, from, end int64
	list           ranges.List
}

// copy copies bytes between this rank's memory and the buffer, when the aggregator says so.
func (o *Op) copy(ctx context.Context, p *nearPart, d direction) error {
	if _, err := o.Team.Irecv(nil, p.aggregator, team.TagReady).Wait(ctx); err != nil {
		return err
	}
	if p.list.Bytes() != p.end-p.from {
		return o.Team.Break(errclass.New(errclass.Intern, "%d bytes of memory for %d of the file", p.end-p.from, p.list.Bytes()))
	}
	mem, direct := o.Mem.Piece(p.from, p.end)
	if !direct {
		mem = o.take(p.end - p.from)
		defer o.give(mem)
	}
	if d == sending {
		if !direct {
			o.Mem.Pack(mem, p.from)
		}
		twophase.Scatter(p.buf, p.low, p.list, mem)
	} else {
		twophase.Gather(mem, p.buf, p.low, p.list)
		if !direct {
			o.Mem.Unpack(p.from, mem)
		}
	}
	_, err := o.Team.Isend(nil, p.aggregator, team.TagDone).Wait(ctx)
	return err
}
