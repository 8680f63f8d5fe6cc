package replay

import (
	"fmt"
	"maps"
	"slices"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// listing has the entries of a directory in the answers of both sides since the client started to read it. Each server has its
// own order, so only the whole can be compared.
type listing struct {
	captured, live map[string]proto.Handle
}

// compareList compares a part of a directory: its length, and the handles of the names that both sides have returned so far.
func (p *Player) compareList(req *proto.ReadDirReq, captured, live *proto.ReadDirResp) []string {
	l := p.lists[req.Dirdata]
	if l == nil || req.Token == proto.TokenStart {
		l = &listing{make(map[string]proto.Handle), make(map[string]proto.Handle)}
		p.lists[req.Dirdata] = l
	}
	p.Map.tokens[captured.Token] = live.Token
	var diffs []string
	if len(captured.Entries) != len(live.Entries) {
		diffs = append(diffs, fmt.Sprintf("%d entries, the capture has %d", len(live.Entries), len(captured.Entries)))
	}
	for _, e := range captured.Entries {
		l.captured[e.Name] = e.Handle
	}
	for _, e := range live.Entries {
		l.live[e.Name] = e.Handle
	}
	for name, h := range l.captured {
		if is, ok := l.live[name]; ok && !p.Map.Learn(h, is) {
			diffs = append(diffs, fmt.Sprintf("%q is %d, the capture has %d, for which stands %d", name, is, h, p.Map.Live(h)))
		}
	}
	return diffs
}

// Finish returns the names that only one side has. Call it after the last exchange.
func (p *Player) Finish() []string {
	var diffs []string
	for dir, l := range p.lists {
		captured, live := slices.Sorted(maps.Keys(l.captured)), slices.Sorted(maps.Keys(l.live))
		if !slices.Equal(captured, live) {
			diffs = append(diffs, fmt.Sprintf("dirdata %d has %q, the capture has %q", dir, live, captured))
		}
	}
	clear(p.lists)
	return diffs
}
