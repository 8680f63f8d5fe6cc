package table

import (
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/watch"
)

// A Sampler takes snapshots of this process for any number of viewers: at most one in GapMin.
type Sampler struct {
	Take func() *watch.Snapshot

	mu     sync.Mutex
	last   *watch.Snapshot
	at     time.Time // when last was taken
	ranker Ranker
}

// Table returns the present state with the peers that a query wants.
func (m *Sampler) Table(q Query) *watch.Snapshot {
	return m.ranker.Rank(m.present(), q)
}

// present is a snapshot that is no older than GapMin.
func (m *Sampler) present() *watch.Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := time.Now(); m.last == nil || now.Sub(m.at) >= GapMin {
		m.last, m.at = m.Take(), now
	}
	return m.last
}
