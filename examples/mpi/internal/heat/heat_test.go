package heat

import (
	"bytes"
	"errors"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A sine wave with its nodes on the frame keeps its shape and shrinks by the same factor in
// each step, which can be computed by hand.
func TestSineWavesDecayAsTheyShould(t *testing.T) {
	const rows, cols, steps, rate = 19, 30, 200, 0.2
	wave := func(row, col int) float64 {
		return math.Sin(2*math.Pi*float64(row+1)/(rows+1)) * math.Sin(3*math.Pi*float64(col+1)/(cols+1))
	}
	half := func(k, n float64) float64 { s := math.Sin(k * math.Pi / (2 * (n + 1))); return s * s }
	factor := math.Pow(1-4*rate*(half(2, rows)+half(3, cols)), steps)
	got := (&Problem{Rows: rows, Cols: cols, Steps: steps, Rate: rate, Initial: wave}).Serial()
	for row := range rows {
		for col := range cols {
			require.InDelta(t, factor*wave(row, col), got.At(row, col), 1e-12)
		}
	}
}

// After a long time, a plate is as warm as its frame: linear from one side to the other if the
// other two sides are.
func TestThePlateTakesOnTheFrame(t *testing.T) {
	const n = 12
	p := Problem{Rows: n, Cols: n, Steps: 3000, Rate: RateMax, Initial: func(row, col int) float64 {
		if row >= 0 && row < n && col >= 0 && col < n {
			return 50
		}
		return float64(3*row - col)
	}}
	got := p.Serial()
	for row := range n {
		for col := range n {
			require.InDelta(t, float64(3*row-col), got.At(row, col), 1e-9)
		}
	}
}

// plate is a problem divided among processes, which take turns here.
type plate struct {
	down, across int
	blocks       [][]*Block
	rowAt, colAt []int
}

func divide(p *Problem, down, across int) *plate {
	d := &plate{down: down, across: across}
	for i := range down {
		row, rows := Split(p.Rows, down, i)
		d.rowAt = append(d.rowAt, row)
		d.blocks = append(d.blocks, nil)
		for j := range across {
			col, cols := Split(p.Cols, across, j)
			if i == 0 {
				d.colAt = append(d.colAt, col)
			}
			d.blocks[i] = append(d.blocks[i], p.Block(row, col, rows, cols))
		}
	}
	return d
}

// halo does the work of the messages in the program.
func (d *plate) halo() {
	for i, row := range d.blocks {
		for j, b := range row {
			if i > 0 {
				above := d.blocks[i-1][j]
				copy(b.Row(-1), above.Row(above.Rows-1))
				copy(above.Row(above.Rows), b.Row(0))
			}
			if j > 0 {
				left := d.blocks[i][j-1]
				column := make([]float64, b.Rows)
				left.Column(left.Cols-1, column)
				b.SetColumn(-1, column)
				b.Column(0, column)
				left.SetColumn(left.Cols, column)
			}
		}
	}
}

func (d *plate) whole(p *Problem) *Block {
	out := p.Block(0, 0, p.Rows, p.Cols)
	for i, row := range d.blocks {
		for j, b := range row {
			out.Paste(d.rowAt[i], d.colAt[j], b.Rows, b.Cols, b.Values(nil))
		}
	}
	return out
}

// However the plate is divided, even into blocks of one row or column, the result has the same
// bits, whether or not the edge is computed separately.
func TestBlocksAgreeWithSerialInEveryBit(t *testing.T) {
	const seed = 6
	r := rand.New(rand.NewPCG(seed, 0))
	p := &Problem{Rows: 17, Cols: 23, Steps: 40, Rate: 0.2371}
	noise := make([]float64, (p.Rows+2)*(p.Cols+2))
	for i := range noise {
		noise[i] = r.NormFloat64()
	}
	p.Initial = func(row, col int) float64 { return noise[(row+1)*(p.Cols+2)+col+1] }
	want := p.Serial()
	for _, shape := range [][2]int{{1, 1}, {2, 2}, {1, 4}, {4, 1}, {3, 5}, {17, 1}, {1, 23}, {17, 23}} {
		now, next := divide(p, shape[0], shape[1]), divide(p, shape[0], shape[1])
		for step := range p.Steps {
			now.halo()
			for i, row := range now.blocks {
				for j, b := range row {
					if step%2 == 0 {
						b.Step(next.blocks[i][j], p.Rate)
						continue
					}
					b.StepInner(next.blocks[i][j], p.Rate)
					b.StepEdge(next.blocks[i][j], p.Rate)
				}
			}
			now, next = next, now
		}
		require.Equal(t, want.Cells(), now.whole(p).Cells(), "%d × %d blocks", shape[0], shape[1])
	}
}

func TestSplitCoversEverythingOnce(t *testing.T) {
	for n := range 40 {
		for parts := 1; parts <= 9; parts++ {
			at := 0
			for i := range parts {
				first, count := Split(n, parts, i)
				require.Equal(t, at, first)
				require.GreaterOrEqual(t, count, n/parts)
				require.LessOrEqual(t, count, n/parts+1)
				at += count
			}
			require.Equal(t, n, at)
		}
	}
}

func TestBadProblemsAreRefused(t *testing.T) {
	good := Problem{Rows: 3, Cols: 4, Steps: 0, Rate: 0.25}
	require.NoError(t, good.Check())
	for name, spoil := range map[string]func(p *Problem){
		"no rows":       func(p *Problem) { p.Rows = 0 },
		"no columns":    func(p *Problem) { p.Cols = -1 },
		"huge":          func(p *Problem) { p.Rows, p.Cols = math.MaxInt, math.MaxInt },
		"steps":         func(p *Problem) { p.Steps = -1 },
		"rate":          func(p *Problem) { p.Rate = 0.3 },
		"negative rate": func(p *Problem) { p.Rate = -0.1 },
		"no rate":       func(p *Problem) { p.Rate = math.NaN() },
	} {
		p := good
		spoil(&p)
		assert.Error(t, p.Check(), name)
	}
}

func TestHotSpotsStayBetweenZeroAndOne(t *testing.T) {
	p := &Problem{Rows: 40, Cols: 50, Steps: 300, Rate: 0.25, Initial: HotSpots(40, 50)}
	before, after := p.Block(0, 0, 40, 50), p.Serial()
	warm := 0
	for i, x := range after.Values(nil) {
		require.True(t, x >= 0 && x <= 1)
		if x != before.Values(nil)[i] {
			warm++
		}
	}
	assert.Greater(t, warm, 1000, "heat spreads")
}

func TestPNG(t *testing.T) {
	b := NewBlock(2, 3)
	for col, x := range []float64{-7, 0, 3} {
		b.Set(0, col, x)
	}
	for col, x := range []float64{1, math.Inf(1), math.NaN()} {
		b.Set(1, col, x)
	}
	b.Set(-1, 0, 99) // the halo is not drawn
	var out bytes.Buffer
	require.NoError(t, WritePNG(&out, b, 0, 3))
	img, err := png.Decode(&out)
	require.NoError(t, err)
	require.Equal(t, 3, img.Bounds().Dx())
	require.Equal(t, 2, img.Bounds().Dy())
	black, white, blue := color.RGBA{A: 255}, color.RGBA{255, 255, 255, 255}, color.RGBA{B: 255, A: 255}
	for _, c := range []struct {
		x, y int
		want color.RGBA
	}{{0, 0, black}, {1, 0, black}, {2, 0, white}, {1, 1, white}, {2, 1, blue}} {
		assert.Equal(t, c.want, color.RGBAModel.Convert(img.At(c.x, c.y)), "%d %d", c.x, c.y)
	}
	third := color.RGBAModel.Convert(img.At(0, 1)).(color.RGBA)
	assert.Greater(t, third.R, uint8(250))
	assert.Less(t, third.G, uint8(10))
	assert.Zero(t, third.B)
}

type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestPNGHandsOnWhatTheFileSays(t *testing.T) {
	require.ErrorIs(t, WritePNG(full{}, NewBlock(2, 2), 0, 1), errFull)
}
