package term

import (
	"fmt"
	"strconv"

	"github.com/viaduct-hpc/viaduct/internal/watch/view"
)

var units = []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}

func size(n float64) string {
	u := 0
	for n >= 1024 && u < len(units)-1 {
		n, u = n/1024, u+1
	}
	if u == 0 {
		return fmt.Sprintf("%.0f %s", n, units[u])
	}
	return digits(n) + " " + units[u]
}

func byteRate(n float64) string { return size(n) + "/s" }

// digits writes three digits or so.
func digits(n float64) string {
	switch {
	case n >= 100:
		return fmt.Sprintf("%.0f", n)
	case n >= 10:
		return fmt.Sprintf("%.1f", n)
	}
	return fmt.Sprintf("%.2f", n)
}

func perSecond(n float64) string {
	switch {
	case n == 0:
		return "0/s"
	case n >= 1e6:
		return digits(n/1e6) + "M/s"
	case n >= 1e4:
		return digits(n/1e3) + "k/s"
	case n >= 10:
		return fmt.Sprintf("%.0f/s", n)
	}
	return fmt.Sprintf("%.1f/s", n)
}

func count[N int | uint64](n N) string { return fmt.Sprintf("%d", n) }

// seconds writes a duration, short or long.
func seconds(s float64) string {
	switch {
	case s <= 0:
		return "-"
	case s < 0.9995e-6:
		return fmt.Sprintf("%.0f ns", s*1e9)
	case s < 0.9995e-3:
		return digits(s*1e6) + " µs"
	case s < 0.9995:
		return digits(s*1e3) + " ms"
	case s < 120:
		return digits(s) + " s"
	case s < 7200:
		return fmt.Sprintf("%d min", int(s/60))
	case s < 172800:
		return fmt.Sprintf("%d h", int(s/3600))
	}
	return fmt.Sprintf("%d d", int(s/86400))
}

func quantile(q view.Quantile) string {
	if q.Over {
		return "> " + seconds(q.Seconds)
	}
	return seconds(q.Seconds)
}

func percent(part, whole uint64) string {
	if whole == 0 {
		return "-"
	}
	return strconv.Itoa(int(100*float64(part)/float64(whole)+0.5)) + " %"
}
