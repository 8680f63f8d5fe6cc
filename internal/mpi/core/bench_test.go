package core_test

import (
	"testing"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
)

// BenchmarkPingPong is a round trip of 8 bytes between two engines over shared memory, which
// poll on a processor each.
func BenchmarkPingPong(b *testing.B) {
	d := open(b, 2, "via+shm", core.Limits{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := room(8)
		for range b.N {
			_, _ = d[1].s.Recv(buf, 0, 1)
			_ = d[1].s.Send(core.Standard, buf, 0, 1)
		}
	}()
	buf := room(8)
	b.ReportAllocs()
	for range b.N {
		_ = d[0].s.Send(core.Standard, buf, 1, 1)
		_, _ = d[0].s.Recv(buf, 1, 1)
	}
	<-done
}

// BenchmarkRate is a message of 8 bytes one way, in windows of 64.
func BenchmarkRate(b *testing.B) {
	const window = 64
	d := open(b, 2, "via+shm", core.Limits{})
	done := make(chan struct{})
	windows := b.N/window + 1
	go func() {
		defer close(done)
		rs := make([]core.Request, window)
		buf := room(8)
		for range windows {
			for i := range rs {
				rs[i], _ = d[1].s.Irecv(buf, 0, 1)
			}
			_ = d[1].e.WaitAll(b.Context(), rs, nil, nil)
			_ = d[1].s.Send(core.Standard, core.Buffer{}, 0, 2)
		}
	}()
	rs := make([]core.Request, window)
	buf := room(8)
	b.ReportAllocs()
	for range windows {
		for i := range rs {
			rs[i], _ = d[0].s.Isend(core.Standard, buf, 1, 1)
		}
		_ = d[0].e.WaitAll(b.Context(), rs, nil, nil)
		_, _ = d[0].s.Recv(core.Buffer{}, 1, 2)
	}
	<-done
}

// BenchmarkSelf measures a message to this process itself, and so the cost of the engine alone.
func BenchmarkSelf(b *testing.B) {
	d := open(b, 1, "via+shm", core.Limits{})[0]
	out, in := room(8), room(8)
	b.ReportAllocs()
	for range b.N {
		r, _ := d.s.Irecv(in, 0, 1)
		_ = d.s.Send(core.Standard, out, 0, 1)
		_, _ = r.Wait(b.Context())
	}
}
