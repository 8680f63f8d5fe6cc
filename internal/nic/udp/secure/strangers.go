package secure

import (
	"net/netip"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/names"
)

// strangers bound the work caused by INITs with unknown keys. With static keys, opening an INIT
// needs multiplications on the curve before its maker is known. Each host may fail only so often
// that others do not notice (StrangerBurst at once, then one per StrangerEvery). An INIT that
// leads to a request does not count. Since cookies prove addresses first, only a host's own
// failures count against it.
type strangers struct {
	hosts map[netip.Prefix]time.Duration // when StrangerBurst may fail at once again
	rest  time.Duration                  // the same for all hosts without an entry in hosts
}

// may reports whether an INIT of a host may be opened.
func (s *strangers) may(now time.Duration, from netip.AddrPort) bool {
	full, ok := s.hosts[names.Host(from.Addr())]
	if !ok && len(s.hosts) >= StrangerHostsMax {
		full = s.rest
	}
	return full-now <= (StrangerBurst-1)*StrangerEvery
}

// failed counts an INIT of a host that could not be opened, or that has an unknown key.
func (s *strangers) failed(now time.Duration, from netip.AddrPort) {
	host := names.Host(from.Addr())
	full, ok := s.hosts[host]
	if !ok && len(s.hosts) >= StrangerHostsMax {
		s.forget(now)
	}
	if !ok && len(s.hosts) >= StrangerHostsMax {
		s.rest = max(s.rest, now) + StrangerEvery
		return
	}
	if s.hosts == nil {
		s.hosts = make(map[netip.Prefix]time.Duration)
	}
	s.hosts[host] = max(full, now) + StrangerEvery
}

// forget drops hosts without recent failures.
func (s *strangers) forget(now time.Duration) {
	for host, full := range s.hosts {
		if full <= now {
			delete(s.hosts, host)
		}
	}
}
