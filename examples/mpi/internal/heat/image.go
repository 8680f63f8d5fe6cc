package heat

import (
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
)

// WritePNG draws a block, without its halo, one pixel for each cell: black at temperature low and
// below, then red, yellow and white at high and above. NaN is blue, which is not the colour of any
// temperature.
func WritePNG(w io.Writer, b *Block, low, high float64) error {
	img := image.NewPaletted(image.Rect(0, 0, b.Cols, b.Rows), palette())
	for row := range b.Rows {
		line := img.Pix[row*img.Stride:]
		for col, t := range b.Row(row) {
			line[col] = shade(t, low, high)
		}
	}
	return png.Encode(w, img)
}

// notANumber is the palette's last colour, after shades 0 to 254.
const notANumber = 255

// shade returns the colour of a temperature.
func shade(t, low, high float64) uint8 {
	switch {
	case math.IsNaN(t):
		return notANumber
	case t <= low:
		return 0
	case t >= high:
		return notANumber - 1
	}
	return uint8((t-low)/(high-low)*(notANumber-1) + 0.5)
}

// palette returns the colours of a body that gets hotter: red increases in the first third, then
// green, then blue.
func palette() color.Palette {
	colours := make(color.Palette, notANumber+1)
	for i := range notANumber {
		heat := 3 * float64(i) / (notANumber - 1)
		part := func(from float64) uint8 { return uint8(255 * max(0, min(1, heat-from))) }
		colours[i] = color.RGBA{R: part(0), G: part(1), B: part(2), A: 255}
	}
	colours[notANumber] = color.RGBA{B: 255, A: 255}
	return colours
}
