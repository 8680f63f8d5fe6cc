package server

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// counter is one of the numbers that MGMT_PERF_MON returns, in its order.
type counter int

// The counters.
const (
	countRead       counter = iota // bytes
	countWrite                     // bytes
	countMetaReads                 // of the store
	countMetaWrites                // of the store
	countDspaceOps                 // not kept
	countKeyvalOps                 // not kept
	countRunning                   // requests being carried out now: a gauge
	countRequests                  //
	countIORead                    // bytes, by IO
	countIOWrite                   // bytes, by IO
	countSmallRead                 // bytes, by SMALL_IO
	countSmallWrite                // bytes, by SMALL_IO
	countFlowRead                  // bytes
	countFlowWrite                 // bytes
	countCreates                   //
	countRemoves                   //
	countMkdirs                    //
	countRmdirs                    //
	countGetAttrs                  //
	countSetAttrs                  //
	countIOs                       //
	countSmallIOs                  //
	countReadDirs                  //
	counters        = int(iota)
)

// perfValues is how many values a sample has: the counters, its start in ms, and its duration in ms.
const perfValues = counters + 2

// perf keeps the counters and their history: a sample of all at each interval.
type perf struct {
	now   [counters]atomic.Int64
	times [timers]durations

	mu       sync.Mutex
	history  int
	began    time.Time    // of the current interval
	samples  []perfSample // oldest first, history-1 at most
	interval time.Duration
}

// perfSample has the values of the counters and timers at the end of an interval.
type perfSample struct {
	values [counters]int64
	times  [timers * timerParts]int64
	at     time.Time // when it began
	took   time.Duration
}

// begin starts counting.
func (p *perf) begin(now time.Time) {
	p.history, p.began, p.interval = perfHistory, now, perfInterval
}

// every is the time until the next tick.
func (p *perf) every() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.interval
}

// add adds to a counter.
func (p *perf) add(c counter, n int64) { p.now[c].Add(n) }

// readLocked takes a sample now. The caller holds mu.
func (p *perf) readLocked(now time.Time) perfSample {
	s := perfSample{at: p.began, took: max(now.Sub(p.began), 0)}
	for i := range s.values {
		s.values[i] = p.now[i].Load()
	}
	for i := range p.times {
		v := p.times[i].read()
		copy(s.times[i*timerParts:], v[:])
	}
	return s
}

// tick ends an interval if it has lasted long enough.
func (p *perf) tick(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.began) < p.interval {
		return
	}
	p.samples = append(p.samples, p.readLocked(now))
	if extra := len(p.samples) - (p.history - 1); extra > 0 {
		p.samples = append(p.samples[:0], p.samples[extra:]...)
	}
	p.began = now
}

// configure changes how many samples are kept, or how often one is taken; 0 leaves a value as it is.
func (p *perf) configure(history int, interval time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if history > 0 {
		p.history = min(history, perfSamplesMax)
		if extra := len(p.samples) - (p.history - 1); extra > 0 {
			p.samples = append(p.samples[:0], p.samples[extra:]...)
		}
	}
	if interval > 0 {
		p.interval = interval
	}
}

// The kinds of values that a request may ask for.
const (
	perfCounters = 0
	perfTimers   = 1
)

// report is the answer to a request: the current sample, then the earlier ones from the oldest on.
func (p *perf) report(now time.Time, kind uint32, keys, samples int) *proto.PerfMonResp {
	p.mu.Lock()
	defer p.mu.Unlock()
	most, each := counters, 1
	if kind == perfTimers {
		most, each = timers, timerParts
	}
	keys = min(keys, most)
	samples = min(samples, perfTold/(keys*each+2))
	current := p.readLocked(now)
	all := append([]perfSample{current}, p.samples[max(0, len(p.samples)-max(samples-1, 0)):]...)
	all = all[:min(len(all), max(samples, 0))]
	resp := &proto.PerfMonResp{
		KeyCount: uint32(keys), NextID: uint32(now.UnixMilli()),
		Now: uint64(now.UnixMilli()), SampleCount: uint32(len(all)),
	}
	if len(all) > 0 {
		last := all[len(all)-1]
		resp.End = uint64(last.at.Add(last.took).UnixMilli())
	}
	for _, s := range all {
		values := s.values[:]
		if kind == perfTimers {
			values = s.times[:]
		}
		resp.Values = append(resp.Values, values[:keys*each]...)
		resp.Values = append(resp.Values, s.at.UnixMilli(), s.took.Milliseconds())
	}
	return resp
}

// perfMon returns the counters, or the durations of operations.
func (s *Server) perfMon(_ *query, req *proto.PerfMonReq) (*proto.PerfMonResp, error) {
	if req.Type > perfTimers || req.KeyCount == 0 {
		return nil, proto.EINVAL
	}
	s.countRequests()
	samples := int(min(req.SampleCount, uint32(perfTold)))
	return s.admin.perf.report(s.clock(), req.Type, int(min(req.KeyCount, uint32(counters))), samples), nil
}

// perfOps are the counters that count the requests of one operation.
var perfOps = []struct {
	c  counter
	op proto.Op
}{
	{countCreates, proto.OpCreate}, {countMkdirs, proto.OpMkdir},
	{countGetAttrs, proto.OpGetAttr}, {countSetAttrs, proto.OpSetAttr}, {countIOs, proto.OpIO},
	{countSmallIOs, proto.OpSmallIO}, {countReadDirs, proto.OpReadDir},
}

// countRequests updates the counters that other parts of the server keep.
func (s *Server) countRequests() {
	p := &s.admin.perf
	st := s.Stats()
	total := uint64(0)
	for _, n := range st.RPC.Ops {
		total += n.Requests
	}
	p.now[countRequests].Store(int64(total))
	p.now[countRunning].Store(int64(st.RPC.Running + st.RPC.Queued))
	p.now[countMetaWrites].Store(int64(st.Store.Updates))
	p.now[countRemoves].Store(p.times[timeRemove].count.Load())
	p.now[countRmdirs].Store(p.times[timeRmdir].count.Load())
	for _, o := range perfOps {
		p.now[o.c].Store(int64(st.RPC.Ops[o.op].Requests))
	}
}

// samplePerf takes samples until the server stops.
func (s *Server) samplePerf() {
	p := &s.admin.perf
	for {
		if !pause(s.ctx, p.every()) {
			return
		}
		s.countRequests()
		p.tick(s.clock())
	}
}
