package server

import (
	"sync"
	"time"
)

// guesses limits the passwords that a host (rpc.HostOf) may try, and the number of hosts that are remembered for that.
type guesses struct {
	clock func() time.Time

	mu    sync.Mutex
	hosts map[string]guess
}

// A guess counts the attempts of one host.
type guess struct {
	wrong int // wrong passwords, less those forgiven with time
	at    time.Time
}

const (
	// wrongMax is how many wrong passwords a host may send in a row. After each forgivenAfter, one is forgiven.
	wrongMax      = 5
	forgivenAfter = 10 * time.Second
	// guessHostsMax limits memory. When it is reached, hosts without unforgiven passwords are dropped. If there are none, no new
	// host may try.
	guessHostsMax = 4096
)

// may takes one try from a host, and reports whether the host had one left. right gives a successful try back.
func (g *guesses) may(host string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.clock()
	was, known := g.hosts[host]
	if !known && len(g.hosts) >= guessHostsMax && !g.forgetLocked(now) {
		return false
	}
	was = was.forgiven(now)
	may := was.wrong < wrongMax
	if may {
		was.wrong++
	}
	if g.hosts == nil {
		g.hosts = make(map[string]guess)
	}
	g.hosts[host] = was
	return may
}

// right gives a try back.
func (g *guesses) right(host string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if was, ok := g.hosts[host]; ok && was.wrong > 0 {
		was.wrong--
		g.hosts[host] = was
	}
}

// forgiven returns the guess after the time until now has forgiven some wrong passwords.
func (g guess) forgiven(now time.Time) guess {
	if g.wrong == 0 || g.at.IsZero() || now.Before(g.at) {
		g.at = now
		return g
	}
	n := int(min(now.Sub(g.at)/forgivenAfter, wrongMax))
	g.wrong, g.at = max(g.wrong-n, 0), g.at.Add(time.Duration(n)*forgivenAfter)
	if g.wrong == 0 {
		g.at = now
	}
	return g
}

// forgetLocked drops the hosts whose wrong passwords are all forgiven, and reports whether there were any.
func (g *guesses) forgetLocked(now time.Time) bool {
	before := len(g.hosts)
	for host, was := range g.hosts {
		if was.forgiven(now).wrong == 0 {
			delete(g.hosts, host)
		}
	}
	return len(g.hosts) < before
}
