package proto

import "fmt"

func (a LayoutAlgorithm) String() string {
	names := [...]string{LayoutNone: "none", LayoutRoundRobin: "round-robin", LayoutRandom: "random", LayoutList: "list", LayoutLocal: "local"}
	if a > 0 && int(a) < len(names) {
		return names[a]
	}
	return fmt.Sprintf("layout(%d)", int32(a))
}

func (l Layout) String() string {
	if len(l.Servers) == 0 {
		return l.Algorithm.String()
	}
	return fmt.Sprintf("%v%q", l.Algorithm, l.Servers)
}

func (e Extent) String() string { return fmt.Sprintf("%d-%d", e.First, e.Last) }

func (w *writer) layout(l *Layout) {
	w.i32(int32(l.Algorithm))
	w.skip4()
	w.count(len(l.Servers))
	w.skip4()
	for _, s := range l.Servers {
		w.str(s)
	}
}

func (r *reader) layout(l *Layout) {
	l.Algorithm = LayoutAlgorithm(r.i32("layout algorithm"))
	r.skip4()
	n := r.count("layout servers", MaxLayoutBytes/8, 8)
	r.skip4()
	l.Servers = r.strs("layout servers", n, MaxLayoutBytes)
}

// strs parses n strings of at most limit bytes each.
func (r *reader) strs(field string, n, limit int) []string {
	if n == 0 || r.err != nil {
		return nil
	}
	list := make([]string, n)
	for i := range list {
		list[i] = r.str(field, limit)
	}
	return list
}

func (w *writer) extents(list []Extent) {
	w.skip4()
	w.count(len(list))
	for _, e := range list {
		w.handle(e.First)
		w.handle(e.Last)
	}
}

func (r *reader) extents() []Extent {
	r.skip4()
	n := r.count("extents", maxExtents, 16)
	if n == 0 {
		return nil
	}
	list := make([]Extent, n)
	for i := range list {
		list[i] = Extent{r.handle("extents"), r.handle("extents")}
	}
	return list
}

// maxExtents limits a list of ranges of handles.
const maxExtents = 1024
