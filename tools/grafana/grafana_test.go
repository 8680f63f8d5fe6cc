package grafana

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A dashboard is what this test reads of a dashboard's file.
type dashboard struct {
	UID, Title string
	Templating struct {
		List []struct{ Name, Type, Query string }
	}
	Panels []struct {
		ID      int
		Title   string
		Targets []struct{ Expr, LegendFormat, RefID string }
	}
}

// A metric is a name in the table of docs/reference/metrics.md.
type metric struct {
	kind   string
	labels []string
}

var (
	row  = regexp.MustCompile("(?m)^\\| (`viaduct_[^|]*) \\| ([^|]*) \\|$")
	name = regexp.MustCompile("`([a-z0-9_]+)(?:{([a-z0-9_,]*)})?`")
)

// exported are all metrics, by name. Those of every Go program that the dashboards use are added.
func exported(t *testing.T) map[string]metric {
	page, err := os.ReadFile("../../docs/reference/metrics.md")
	require.NoError(t, err)
	all := map[string]metric{
		"process_cpu_seconds_total":     {kind: "counter"},
		"process_resident_memory_bytes": {kind: "gauge"},
	}
	for _, r := range row.FindAllStringSubmatch(string(page), -1) {
		for _, n := range name.FindAllStringSubmatch(r[1], -1) {
			m := metric{kind: "gauge"}
			switch {
			case strings.HasSuffix(n[1], "_total"):
				m.kind = "counter"
			case strings.HasSuffix(r[2], "(histogram)"):
				m.kind = "histogram"
			}
			if n[2] != "" {
				m.labels = strings.Split(n[2], ",")
			}
			all[n[1]] = m
			if m.kind == "histogram" {
				all[n[1]+"_bucket"] = metric{"counter", append(slices.Clone(m.labels), "le")}
				all[n[1]+"_sum"], all[n[1]+"_count"] = metric{"counter", m.labels}, metric{"counter", m.labels}
			}
		}
	}
	require.Greater(t, len(all), 100)
	return all
}

// scraped are the labels that Prometheus adds to all metrics.
var scraped = []string{"instance", "job"}

// plain replaces the variables of Grafana by values.
var plain = strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*", "$mpi_job", ".*")

// check returns what is wrong with a query.
func check(all map[string]metric, query string) (problems []string) {
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(plain.Replace(query))
	if err != nil {
		return []string{err.Error()}
	}
	problems = nil
	known := slices.Clone(scraped)
	parser.Inspect(expr, func(node parser.Node, path []parser.Node) error {
		v, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		m, is := all[v.Name]
		if !is {
			problems = append(problems, v.Name+" is no metric")
			return nil
		}
		known = append(known, m.labels...)
		for _, l := range v.LabelMatchers {
			if l.Name != model.MetricNameLabel && !slices.Contains(append(slices.Clone(scraped), m.labels...), l.Name) {
				problems = append(problems, v.Name+" has no label "+l.Name)
			}
		}
		if rated := len(path) > 1 && isRate(path[len(path)-2]); rated != (m.kind == "counter") && !strings.Contains(query, "sum("+v.Name) {
			problems = append(problems, v.Name+" is a "+m.kind+": counters belong into rate, and nothing else does")
		}
		return nil
	})
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		var used []string
		switch n := node.(type) {
		case *parser.AggregateExpr:
			used = n.Grouping
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				used = append(slices.Clone(n.VectorMatching.MatchingLabels), n.VectorMatching.Include...)
			}
		}
		for _, l := range used {
			if !slices.Contains(known, l) {
				problems = append(problems, "no metric of the query has the label "+l)
			}
		}
		return nil
	})
	return problems
}

func isRate(n parser.Node) bool {
	c, ok := n.(*parser.Call)
	return ok && (c.Func.Name == "rate" || c.Func.Name == "increase")
}

var (
	legendLabel = regexp.MustCompile(`\{\{(\w+)\}\}`)
	valuesOf    = regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`)
)

// TestDashboards: each query can be parsed, and each name and label in it is exported.
func TestDashboards(t *testing.T) {
	all := exported(t)
	files, err := filepath.Glob("../../docs/reference/grafana/*.json")
	require.NoError(t, err)
	require.Len(t, files, 3)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			var d dashboard
			require.NoError(t, json.Unmarshal(text, &d))
			assert.NotEmpty(t, d.UID)
			assert.NotEmpty(t, d.Panels)
			for _, v := range d.Templating.List {
				if v.Type != "query" {
					continue
				}
				of := valuesOf.FindStringSubmatch(v.Query)
				require.NotNil(t, of, v.Query)
				require.Contains(t, all, of[1])
				assert.Contains(t, append(slices.Clone(scraped), all[of[1]].labels...), of[2], v.Query)
			}
			for _, p := range d.Panels {
				require.NotEmpty(t, p.Targets, p.Title)
				for _, q := range p.Targets {
					assert.Empty(t, check(all, q.Expr), "%s: %s", p.Title, q.Expr)
					for _, l := range legendLabel.FindAllStringSubmatch(q.LegendFormat, -1) {
						assert.True(t, strings.Contains(q.Expr, "("+l[1]) || strings.Contains(q.Expr, l[1]+")") || strings.Contains(q.Expr, ", "+l[1]+",") || has(all, q.Expr, l[1]),
							"%s: no label %s", p.Title, l[1])
					}
				}
			}
		})
	}
}

// has tells whether all metrics of a query have a label.
func has(all map[string]metric, query, label string) bool {
	if slices.Contains(scraped, label) {
		return true
	}
	for name, m := range all {
		if strings.Contains(query, name+"{") && !slices.Contains(m.labels, label) {
			return false
		}
	}
	return true
}

// TestCheck: the check finds mistakes.
func TestCheck(t *testing.T) {
	all := exported(t)
	for query, want := range map[string]string{
		`viaduct_peers{method="tcp"}`:                                  "",
		`sum by (kind) (rate(viaduct_pvfs_requests_failed_total[5m]))`: "",
		`viaduct_nothing`:                                              "no metric",
		`viaduct_peers{colour="red"}`:                                  "no label colour",
		`sum by (colour) (viaduct_peers)`:                              "label colour",
		`viaduct_peers{`:                                               "parse error",
		`rate(viaduct_peers[5m])`:                                      "is a gauge",
		`viaduct_pvfs_requests_failed_total`:                           "is a counter",
		`viaduct_mpi_rank * on (colour) viaduct_mpi_size`:              "label colour",
	} {
		problems := strings.Join(check(all, query), "; ")
		if want == "" {
			assert.Empty(t, problems, query)
		} else {
			assert.Contains(t, problems, want, query)
		}
	}
}
