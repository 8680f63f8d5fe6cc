package main

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	width  = 18 * vg.Centimeter
	height = 11 * vg.Centimeter
	// groupsWidth is what all groups of bars share.
	groupsWidth = 300
)

// save draws the chart into a file.
func (c *chart) save(file string) error {
	drawn, err := c.draw()
	if err != nil {
		return err
	}
	return drawn.Save(width, height, file)
}

func (c *chart) draw() (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.X, c.Y
	if len(c.Groups) > 0 {
		return p, c.drawBars(p)
	}
	return p, c.drawLines(p)
}

var shapes = []draw.GlyphDrawer{
	draw.CrossGlyph{}, draw.CircleGlyph{}, draw.RingGlyph{}, draw.SquareGlyph{}, draw.BoxGlyph{}, draw.TriangleGlyph{}, draw.PyramidGlyph{},
}

func (c *chart) drawLines(p *plot.Plot) error {
	ticks := make(plot.ConstantTicks, len(c.Ticks))
	for i, t := range c.Ticks {
		ticks[i] = plot.Tick{Value: t.At, Label: t.Label}
	}
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks, plot.LogTicks{Prec: -1}
	p.Legend.Top, p.Legend.Left = c.Left, c.Left
	p.Add(plotter.NewGrid())
	for _, l := range c.Lines {
		xy := make(plotter.XYs, len(l.Points))
		for i, at := range l.Points {
			xy[i] = plotter.XY{X: at[0], Y: at[1]}
		}
		drawn, points, err := plotter.NewLinePoints(xy)
		if err != nil {
			return err
		}
		drawn.Color, points.Color = l.Color.RGBA, l.Color.RGBA
		drawn.Width = vg.Points(1.5)
		points.Shape = shapes[l.Shape%len(shapes)]
		p.Add(drawn, points)
		p.Legend.Add(l.Name, drawn, points)
	}
	spread(&p.X)
	spread(&p.Y)
	return nil
}

// spread gives a logarithmic axis a range if there are no points or all have the same value,
// because the library panics then.
func spread(a *plot.Axis) {
	if !(a.Min > 0) || math.IsInf(a.Min, 0) || math.IsInf(a.Max, 0) {
		a.Min, a.Max = 1, 10
	}
	if a.Max <= a.Min {
		a.Min, a.Max = a.Min/2, a.Min*2
	}
}

// drawBars draws groups of bars, and a line at 1.
func (c *chart) drawBars(p *plot.Plot) error {
	p.Legend.Top = true
	each := vg.Points(groupsWidth / float64(len(c.Groups)*(len(c.Bars)+1)))
	for i, b := range c.Bars {
		drawn, err := plotter.NewBarChart(plotter.Values(b.Values), each)
		if err != nil {
			return err
		}
		drawn.Color, drawn.LineStyle.Width = b.Color.RGBA, 0
		drawn.Offset = each * vg.Length(float64(i)-float64(len(c.Bars)-1)/2)
		p.Add(drawn)
		p.Legend.Add(b.Name, drawn)
	}
	one, err := plotter.NewLine(plotter.XYs{{X: -0.5, Y: 1}, {X: float64(len(c.Groups)) - 0.5, Y: 1}})
	if err != nil {
		return err
	}
	// After Add, which widens the axis to hold everything; leave room for the legend.
	p.Y.Min, p.Y.Max = 0, math.Min(p.Y.Max*1.3, c.Cut)
	one.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
	p.Add(one)
	p.NominalX(c.Groups...)
	return nil
}
