package secure

import (
	"net/netip"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/names"
)

// strangers bound the work that INITs of unknown keys make. With static keys, opening one takes
// multiplications on the curve before it is known who made it. Each host may fail so often
// that others do not feel it (StrangerBurst at once, then one each StrangerEvery). An INIT that
// leads to a request is free. Cookies prove addresses before, so only a host's own failures count.
type strangers struct {
	hosts map[netip.Prefix]time.Duration // when StrangerBurst may fail at once again
	rest  time.Duration                  // the same of all hosts for which there is no room in hosts
}

// may tells whether an INIT of a host may be opened.
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

// forget drops hosts that may fail as often as any other.
func (s *strangers) forget(now time.Duration) {
	for host, full := range s.hosts {
		if full <= now {
			delete(s.hosts, host)
		}
	}
}
