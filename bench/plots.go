package main

import (
	"image/color"
	"math"
	"path/filepath"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

const (
	plotWidth  = 18 * vg.Centimeter
	plotHeight = 11 * vg.Centimeter
	// ratioMax is where bars are cut, so that one slow contender does not make the
	// others indistinguishable.
	ratioMax = 12
)

// palette has colours that colour-blind people can distinguish, too (Okabe and
// Ito's).
var palette = map[string]color.Color{
	bare:       color.Gray{Y: 0x80},
	ours:       color.RGBA{R: 0xd5, G: 0x5e, A: 0xff},
	registered: color.RGBA{R: 0xe6, G: 0x9f, A: 0xff},
	openMPI:    color.RGBA{G: 0x72, B: 0xb2, A: 0xff},
	mpich:      color.RGBA{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff},
	ucx:        color.RGBA{G: 0x9e, B: 0x73, A: 0xff},
	oursMPI:    color.Black,
	libfabric:  color.RGBA{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff},

	bareSocket:   color.Gray{Y: 0x80},
	oursTCP:      color.RGBA{R: 0xd5, G: 0x5e, A: 0xff},
	openMPITCP:   color.RGBA{G: 0x72, B: 0xb2, A: 0xff},
	mpichTCP:     color.RGBA{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff},
	ucxTCP:       color.RGBA{G: 0x9e, B: 0x73, A: 0xff},
	libfabricTCP: color.RGBA{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff},

	bareUDP:       color.Gray{Y: 0x80},
	oursUDP:       color.RGBA{R: 0xe6, G: 0x9f, A: 0xff},
	oursUDPSecure: color.RGBA{R: 0xd5, G: 0x5e, A: 0xff},
	openMPIUDP:    color.RGBA{G: 0x72, B: 0xb2, A: 0xff},
	libfabricUDP:  color.RGBA{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff},
}

// lineOrder is the order of legends; for TCP and UDP it is overTCP and withBesideUDP.
var lineOrder = []string{bare, ours, registered, oursMPI, openMPI, mpich, ucx, libfabric}

func (r *report) plots(folder string) error {
	for name, p := range map[string]*plot.Plot{
		"latency.svg":     r.linePlot("Half round trip between two processes on one host", "µs", lineOrder, perf.Latency, perf.LimitMemcpy),
		"bandwidth.svg":   r.linePlot("Bandwidth, one way, between two processes on one host", "MB/s", lineOrder, perf.Bandwidth, ""),
		"latency-tcp.svg": r.linePlot("Half round trip over TCP on loopback", "µs", overTCP, perf.Latency, perf.LimitSocket),
		"latency-udp.svg": r.linePlot("Half round trip over UDP on loopback", "µs", withBesideUDP, perf.Latency, perf.LimitUDP),
	} {
		if err := p.Save(plotWidth, plotHeight, filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	ratios, err := r.ratioPlot()
	if err != nil {
		return err
	}
	return ratios.Save(plotWidth, plotHeight, filepath.Join(folder, "ratios.svg"))
}

// linePlot shows a test of some contenders over the size, both logarithmic, with the
// limit as an additional line.
func (r *report) linePlot(title, unit string, order []string, test, limit perf.Test) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	p.X.Label.Text, p.Y.Label.Text = "message size", unit
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = sizeTicks{}, plot.LogTicks{Prec: -1}
	// The legend goes where the curves leave room: times rise with the size, rates
	// rise and then stay.
	p.Legend.Top, p.Legend.Left = limit != "", limit != ""
	p.Add(plotter.NewGrid())
	for i, method := range order {
		var xy plotter.XYs
		for _, q := range r.Points {
			if q.Method == method && (q.Test == test || limit != "" && q.Test == limit) && q.Size > 0 && q.Median > 0 {
				xy = append(xy, plotter.XY{X: float64(q.Size), Y: q.Median})
			}
		}
		if len(xy) == 0 {
			continue
		}
		line, points, err := plotter.NewLinePoints(xy)
		if err != nil {
			continue // only for coordinates that are not numbers, which are omitted
		}
		line.Color, points.Color = palette[method], palette[method]
		line.Width = vg.Points(1.5)
		points.Shape = shapesOfPoints[i%len(shapesOfPoints)]
		p.Add(line, points)
		p.Legend.Add(label(method), line, points)
	}
	spread(&p.X)
	spread(&p.Y)
	return p
}

// spread gives a logarithmic axis a range if there are no points or all have the same
// value, because the library panics then.
func spread(a *plot.Axis) {
	if !(a.Min > 0) || math.IsInf(a.Min, 0) || math.IsInf(a.Max, 0) {
		a.Min, a.Max = 1, 10
	}
	if a.Max <= a.Min {
		a.Min, a.Max = a.Min/2, a.Min*2
	}
}

var shapesOfPoints = []draw.GlyphDrawer{
	draw.CrossGlyph{}, draw.CircleGlyph{}, draw.RingGlyph{}, draw.SquareGlyph{}, draw.BoxGlyph{}, draw.TriangleGlyph{}, draw.PyramidGlyph{},
}

// sizeTicks marks powers of two, with labels at every fourth.
type sizeTicks struct{}

func (sizeTicks) Ticks(least, most float64) []plot.Tick {
	var out []plot.Tick
	for e := math.Floor(math.Log2(least)); e <= math.Ceil(math.Log2(most)); e++ {
		tick := plot.Tick{Value: math.Exp2(e)}
		if int(e)%3 == 0 && e >= 0 {
			tick.Label = perf.FormatSize(1 << int(e))
		}
		out = append(out, tick)
	}
	return out
}

// ratioPlot has bars of the half round trip divided by the bare limit.
func (r *report) ratioPlot() (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = "Half round trip against the bare limit (1: one bounce, or one plain copy)"
	p.Y.Label.Text = "×, cut at " + strconv.Itoa(ratioMax)
	p.Legend.Top = true
	sizes := []int{8, 64 << 10, 1 << 20}
	var drawn []string
	for _, method := range lineOrder[1:] {
		if len(r.ratios(method, sizes)) > 0 {
			drawn = append(drawn, method)
		}
	}
	width := vg.Points(300 / float64(len(sizes)*(len(drawn)+1)))
	for i, method := range drawn {
		bars, err := plotter.NewBarChart(r.ratios(method, sizes), width)
		if err != nil {
			return nil, err
		}
		bars.Color, bars.LineStyle.Width = palette[method], 0
		bars.Offset = width * vg.Length(float64(i)-float64(len(drawn)-1)/2)
		p.Add(bars)
		p.Legend.Add(label(method), bars)
	}
	one, err := plotter.NewLine(plotter.XYs{{X: -0.5, Y: 1}, {X: float64(len(sizes)) - 0.5, Y: 1}})
	if err != nil {
		return nil, err
	}
	// After Add, which widens the axis to hold everything; leave room for the legend.
	p.Y.Min, p.Y.Max = 0, math.Min(p.Y.Max*1.3, ratioMax)
	one.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
	p.Add(one)
	names := make([]string, len(sizes))
	for i, n := range sizes {
		names[i] = perf.FormatSize(n) + " / " + r.limitName(n)
	}
	p.NominalX(names...)
	return p, nil
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
func (r *report) ratios(method string, sizes []int) plotter.Values {
	out := make(plotter.Values, len(sizes))
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
