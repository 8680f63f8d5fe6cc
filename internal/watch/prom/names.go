package prom

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/viaduct-hpc/viaduct/internal/watch"
)

// Prefix begins the names of all metrics.
const Prefix = "viaduct_"

// classes whose values only grow.
const (
	classCounter = "counter"
	classTimer   = "timer"
)

// A series is the metric of a count.
type series struct {
	name   string
	kind   prometheus.ValueType
	labels []string
	values []string
}

// seriesOf names a count: dots become underscores, counters end with _total, times with _seconds, and what
// counts bytes with _bytes before that. Counts of a method ("bmi.tcp.bytes_sent") have the method as a
// label; errors have their kind as another.
func seriesOf(c *watch.Count, methods []string) series {
	s := series{kind: prometheus.GaugeValue}
	name := c.Name
	for _, m := range methods {
		if rest, of := strings.CutPrefix(name, "bmi."+m+"."); of {
			name, s.labels, s.values = "method."+rest, []string{"method"}, []string{m}
			if kind, isError := strings.CutPrefix(rest, "errors."); isError {
				name, s.labels, s.values = "method.errors", []string{"method", "kind"}, []string{m, kind}
			}
			break
		}
	}
	dot := strings.LastIndexByte(name, '.') + 1
	if rest, is := strings.CutPrefix(name[dot:], "bytes_"); is {
		name = name[:dot] + rest + "_bytes"
	}
	if c.Seconds {
		name += "_seconds"
	}
	if c.Class == classCounter || c.Class == classTimer {
		name, s.kind = name+"_total", prometheus.CounterValue
	}
	s.name = Prefix + strings.Map(nameRune, name)
	return s
}

// nameRune replaces characters that are not allowed in names of metrics.
func nameRune(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' {
		return r
	}
	return '_'
}

// addCounts adds the counts of a snapshot.
func addCounts(to chan<- prometheus.Metric, s *watch.Snapshot) {
	var methods []string
	for i := range s.Endpoints {
		for j := range s.Endpoints[i].Methods {
			methods = append(methods, s.Endpoints[i].Methods[j].Name)
		}
	}
	known := knownFamilies{}
	for i := range s.Counts {
		known.add(to, &s.Counts[i], methods)
	}
}

// knownFamilies have the first description of each metric by its name. A method in another process chooses
// names itself (bmi.MethodStats.Own), and must not be able to spoil what others count.
type knownFamilies map[string]*family

func (known knownFamilies) add(to chan<- prometheus.Metric, c *watch.Count, methods []string) {
	s := seriesOf(c, methods)
	f := known[s.name]
	if f == nil {
		help := c.Text
		if s.name == errorsName {
			help = "what went wrong, by kind"
		}
		f = &family{name: s.name, help: help, kind: s.kind, labels: s.labels, seen: map[string]bool{}}
		known[s.name] = f
	}
	key := strings.Join(s.values, "\x00")
	if f.kind != s.kind || len(f.labels) != len(s.labels) || f.seen[key] || reserved[s.name] {
		return
	}
	f.seen[key] = true
	f.send(to, c.Value, s.values...)
}

const errorsName = Prefix + "method_errors_total"
