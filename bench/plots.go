package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"strconv"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// ratioMax is where bars are cut, so that one slow contender does not make the others
// indistinguishable.
const ratioMax = 12

// A chart is what bench/plot draws; its chart.go explains the fields.
type chart struct {
	File   string      `json:"file"`
	Title  string      `json:"title"`
	X      string      `json:"x,omitempty"`
	Y      string      `json:"y"`
	Left   bool        `json:"left,omitempty"`
	Lines  []chartLine `json:"lines,omitempty"`
	Ticks  []chartTick `json:"ticks,omitempty"`
	Groups []string    `json:"groups,omitempty"`
	Bars   []chartBars `json:"bars,omitempty"`
	Cut    float64     `json:"cut,omitempty"`
}

type chartLine struct {
	Name   string       `json:"name"`
	Color  string       `json:"color"`
	Shape  int          `json:"shape"`
	Points [][2]float64 `json:"points"`
}

type chartTick struct {
	At    float64 `json:"at"`
	Label string  `json:"label,omitempty"`
}

type chartBars struct {
	Name   string    `json:"name"`
	Color  string    `json:"color"`
	Values []float64 `json:"values"`
}

// plotter returns what draws charts: the program of bench/plot, which run.sh builds beside this one.
func plotter(program string) func(folder string, charts []chart) error {
	return func(folder string, charts []chart) error {
		text, err := json.Marshal(charts)
		if err != nil {
			return err
		}
		draw := exec.CommandContext(context.Background(), program, folder)
		draw.Stdin = bytes.NewReader(text)
		if out, err := draw.CombinedOutput(); err != nil {
			return fmt.Errorf("the charts are not drawn: %w: %s", err, out)
		}
		return nil
	}
}

// palette has colours that colour-blind people can distinguish, too (Okabe and
// Ito's).
var palette = map[string]string{
	bare:       "#808080",
	ours:       "#d55e00",
	registered: "#e69f00",
	openMPI:    "#0072b2",
	mpich:      "#56b4e9",
	ucx:        "#009e73",
	oursMPI:    "#000000",
	libfabric:  "#cc79a7",

	bareSocket:   "#808080",
	oursTCP:      "#d55e00",
	openMPITCP:   "#0072b2",
	mpichTCP:     "#56b4e9",
	ucxTCP:       "#009e73",
	libfabricTCP: "#cc79a7",

	bareUDP:       "#808080",
	oursUDP:       "#e69f00",
	oursUDPSecure: "#d55e00",
	openMPIUDP:    "#0072b2",
	libfabricUDP:  "#56b4e9",
}

// lineOrder is the order of legends; for TCP and UDP it is overTCP and withBesideUDP.
var lineOrder = []string{bare, ours, registered, oursMPI, openMPI, mpich, ucx, libfabric}

func (r *report) charts() []chart {
	return []chart{
		r.lines("latency.svg", "Half round trip between two processes on one host", "µs", lineOrder, perf.Latency, perf.LimitMemcpy),
		r.lines("bandwidth.svg", "Bandwidth, one way, between two processes on one host", "MB/s", lineOrder, perf.Bandwidth, ""),
		r.lines("latency-tcp.svg", "Half round trip over TCP on loopback", "µs", overTCP, perf.Latency, perf.LimitSocket),
		r.lines("latency-udp.svg", "Half round trip over UDP on loopback", "µs", withBesideUDP, perf.Latency, perf.LimitUDP),
		r.bars("ratios.svg"),
	}
}

// lines shows a test of some contenders over the size, both logarithmic, with the limit as an
// additional line.
func (r *report) lines(file, title, unit string, order []string, test, limit perf.Test) chart {
	// The legend goes where the curves leave room: times rise with the size, rates
	// rise and then stay.
	c := chart{File: file, Title: title, X: "message size", Y: unit, Left: limit != ""}
	least, most := math.Inf(1), 0.0
	for i, method := range order {
		l := chartLine{Name: label(method), Color: palette[method], Shape: i}
		for _, q := range r.Points {
			if q.Method == method && (q.Test == test || limit != "" && q.Test == limit) && q.Size > 0 && q.Median > 0 {
				l.Points = append(l.Points, [2]float64{float64(q.Size), q.Median})
				least, most = min(least, float64(q.Size)), max(most, float64(q.Size))
			}
		}
		if len(l.Points) > 0 {
			c.Lines = append(c.Lines, l)
		}
	}
	c.Ticks = sizeTicks(least, most)
	return c
}

// sizeTicks marks powers of two, with a label at every third.
func sizeTicks(least, most float64) (all []chartTick) {
	if most == 0 {
		return nil
	}
	for e := math.Floor(math.Log2(least)); e <= math.Ceil(math.Log2(most)); e++ {
		t := chartTick{At: math.Exp2(e)}
		if int(e)%3 == 0 && e >= 0 {
			t.Label = perf.FormatSize(1 << int(e))
		}
		all = append(all, t)
	}
	return all
}

// bars are the half round trips divided by the bare limit.
func (r *report) bars(file string) chart {
	c := chart{
		File: file, Title: "Half round trip against the bare limit (1: one bounce, or one plain copy)",
		Y: "×, cut at " + strconv.Itoa(ratioMax), Cut: ratioMax,
	}
	sizes := []int{8, 64 << 10, 1 << 20}
	for _, n := range sizes {
		c.Groups = append(c.Groups, perf.FormatSize(n)+" / "+r.limitName(n))
	}
	for _, method := range lineOrder[1:] {
		if values := r.ratios(method, sizes); len(values) > 0 {
			c.Bars = append(c.Bars, chartBars{Name: label(method), Color: palette[method], Values: values})
		}
	}
	return c
}

func (r *report) limitName(size int) string {
	v, ok := r.limitOf(size)
	if !ok {
		return "no limit measured"
	}
	if size <= bounceMax {
		return "bounce " + strconv.FormatFloat(v, 'f', 3, 64) + " µs"
	}
	return "copy " + strconv.FormatFloat(v, 'f', 1, 64) + " µs"
}

// bounceMax is the largest message that fits into the bouncing cache line: its limit
// is the bounce.
const bounceMax = 56

func (r *report) limitOf(size int) (float64, bool) {
	for _, p := range r.Points {
		if p.Method != bare {
			continue
		}
		if size <= bounceMax && p.Test == perf.LimitBounce || size > bounceMax && p.Test == perf.LimitMemcpy && p.Size == size {
			return p.Median, p.Median > 0
		}
	}
	return 0, false
}

// ratios are the ratios of one contender, 0 where it has no point; nil if it has
// none.
func (r *report) ratios(method string, sizes []int) []float64 {
	out := make([]float64, len(sizes))
	some := false
	for i, size := range sizes {
		limit, ok := r.limitOf(size)
		for _, p := range r.Points {
			if ok && p.Method == method && p.Test == perf.Latency && p.Size == size {
				out[i] = p.Median / limit
				some = true
			}
		}
	}
	if !some {
		return nil
	}
	return out
}
