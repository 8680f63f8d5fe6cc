package main

import (
	"encoding/json"
	"fmt"
	"image/color"
	"io"
	"path/filepath"
)

// A chart has either lines, over two logarithmic axes, or groups of bars. The fields are those of
// the chart in bench/plots.go.
type chart struct {
	File  string `json:"file"` // its name in the folder
	Title string `json:"title"`
	X     string `json:"x,omitempty"`
	Y     string `json:"y"`
	// Left: the legend is at the top left, and not at the bottom right.
	Left  bool   `json:"left,omitempty"`
	Lines []line `json:"lines,omitempty"`
	Ticks []tick `json:"ticks,omitempty"` // of the x-axis of lines

	// Bars have a value for each group, or none at all.
	Groups []string `json:"groups,omitempty"`
	Bars   []bars   `json:"bars,omitempty"`
	// Cut is where bars end, so that one long bar does not make the others indistinguishable.
	Cut float64 `json:"cut,omitempty"`
}

// A line is what one contender measured.
type line struct {
	Name   string       `json:"name"`
	Color  hex          `json:"color"`
	Shape  int          `json:"shape"` // of its points
	Points [][2]float64 `json:"points"`
}

// A tick is a mark on an axis. Those without label are small.
type tick struct {
	At    float64 `json:"at"`
	Label string  `json:"label,omitempty"`
}

// bars are those of one contender, one for each group.
type bars struct {
	Name   string    `json:"name"`
	Color  hex       `json:"color"`
	Values []float64 `json:"values"`
}

// A hex is a colour such as #56b4e9.
type hex struct{ color.RGBA }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *hex) UnmarshalText(text []byte) error {
	h.A = 0xff
	if n, err := fmt.Sscanf(string(text), "#%02x%02x%02x", &h.R, &h.G, &h.B); err != nil || n != 3 || len(text) != 7 {
		return fmt.Errorf("%q is not a colour such as #56b4e9", text)
	}
	return nil
}

// readCharts reads the charts, and checks what drawing relies on.
func readCharts(r io.Reader) (all []chart, err error) {
	in := json.NewDecoder(r)
	in.DisallowUnknownFields()
	if err := in.Decode(&all); err != nil {
		return nil, fmt.Errorf("the charts: %w", err)
	}
	for _, c := range all {
		if c.File == "" || c.File != filepath.Base(c.File) || filepath.Ext(c.File) != ".svg" {
			return nil, fmt.Errorf("the name of a chart's file is to be NAME.svg, not %q", c.File)
		}
		for _, b := range c.Bars {
			if len(b.Values) != len(c.Groups) {
				return nil, fmt.Errorf("%s: %s has %d values for %d groups", c.File, b.Name, len(b.Values), len(c.Groups))
			}
		}
		for _, l := range c.Lines {
			if l.Shape < 0 {
				return nil, fmt.Errorf("%s: shape %d of %s", c.File, l.Shape, l.Name)
			}
			for _, p := range l.Points {
				if !(p[0] > 0 && p[1] > 0) {
					return nil, fmt.Errorf("%s: the point %v of %s has no logarithm", c.File, p, l.Name)
				}
			}
		}
	}
	return all, nil
}
