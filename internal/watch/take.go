package watch

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/internal/version"
)

// started is about when the process started.
var started = time.Now()

// buildVersion reads the build information once.
var buildVersion = sync.OnceValue(version.String)

// recent is the last snapshot of Recent.
var recent struct {
	sync.Mutex
	s *Snapshot
}

// RecentTimeMax is how old a snapshot of Recent can be, so that many readers cost no more than ten a
// second.
const RecentTimeMax = 100 * time.Millisecond

// Recent returns a snapshot that another reader may have got, too. Nobody may change it.
func Recent() *Snapshot { return recentAt(time.Now()) }

func recentAt(now time.Time) *Snapshot {
	recent.Lock()
	defer recent.Unlock()
	if age := now.Sub(takenAt(recent.s)); age < 0 || age >= RecentTimeMax {
		recent.s = Take()
	}
	return recent.s
}

func takenAt(s *Snapshot) time.Time {
	if s == nil {
		return time.Time{}
	}
	return s.Taken
}

// Take takes a snapshot of this process.
func Take() *Snapshot {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	s := &Snapshot{
		Program: filepath.Base(os.Args[0]), Host: host, PID: os.Getpid(), Version: buildVersion(),
		Started: started, Taken: time.Now(),
	}
	sum := counts{}
	for _, object := range about.Live() {
		switch o := object.(type) {
		case *bmi.Endpoint:
			s.Endpoints = append(s.Endpoints, endpoint(o, sum, s.Taken))
		case *Source:
			s.take(o, sum)
		}
	}
	s.Counts = sum.sorted()
	return s
}

// take adds what a source has. A process has at most one rank and one server; of several, the first is
// shown.
func (s *Snapshot) take(o *Source, sum counts) {
	if o.Counts != nil {
		sum.add("", o.Counts())
	}
	if o.Server != nil && s.Server == nil {
		s.Server = o.Server()
	}
	if o.Rank != nil && s.Rank == nil {
		s.Rank = o.Rank()
	}
}

// endpoint describes an endpoint, and adds its counts to the sum.
func endpoint(ep *bmi.Endpoint, sum counts, now time.Time) Endpoint {
	st := ep.Stats()
	sum.add("", about.Counts("bmi", st.Endpoint))
	e := Endpoint{UnexpectedMessages: st.Endpoint.QueuedUnexpected, UnexpectedBytes: st.Endpoint.QueuedUnexpectedBytes}
	infos := ep.Info()
	for i := range st.Methods {
		m := &st.Methods[i]
		sum.add("", about.Counts("bmi."+m.Method, *m))
		sum.add("bmi."+m.Method+".", m.Own)
		one := Method{
			Name: m.Method, BytesSent: m.BytesSent, BytesReceived: m.BytesReceived,
			MessagesSent: m.MessagesSent, MessagesReceived: m.MessagesReceived,
		}
		for _, info := range infos {
			if info.Name == m.Method {
				one.Address = strings.Join(info.Addresses, ",")
			}
		}
		e.Methods = append(e.Methods, one)
	}
	e.Peers = make([]Peer, len(st.Peers))
	for i := range st.Peers {
		e.Peers[i] = peerOf(&st.Peers[i], now)
	}
	return e
}

func peerOf(p *bmi.PeerStats, now time.Time) Peer {
	one := Peer{
		Method: p.Method, Address: p.Addr, State: p.State,
		Credits: p.CreditsAvailable, Window: p.WindowBytes, QueuedSends: p.QueuedSends, QueuedBytes: p.QueuedBytes,
		Retransmissions: p.Link.Retransmitted, Lost: p.Link.Lost + p.Link.TimedOut, RoundTrip: p.Link.RoundTripP50,
		BytesSent: p.BytesSent, BytesReceived: p.BytesReceived, MessagesSent: p.MessagesSent, MessagesReceived: p.MessagesReceived,
	}
	if p.Age > 0 {
		one.Since = now.Add(-p.Age)
	}
	return one
}

// counts are sums by name. Several objects of a process can count the same.
type counts map[string]*Count

// add adds the counts of an object. A name is in one class everywhere.
func (sum counts) add(prefix string, all []about.Count) {
	for i := range all {
		c := &all[i]
		if len(c.Values) != 1 || c.Class == about.State || c.Class == about.HighWatermark {
			continue // for ranks, connections or observers alone
		}
		value, seconds := float64(c.Values[0]), c.Class == about.Timer || c.Nanoseconds
		if seconds {
			value /= float64(time.Second)
		}
		name := prefix + c.Name
		switch old := sum[name]; {
		case old == nil:
			sum[name] = &Count{Name: name, Class: c.Class.String(), Text: c.Text, Value: value, Seconds: seconds}
		case c.Class == about.Generic:
			old.Value = max(old.Value, value) // a percentile
		default:
			old.Value += value
		}
	}
}

func (sum counts) sorted() []Count {
	all := make([]Count, 0, len(sum))
	for _, c := range sum {
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b Count) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
