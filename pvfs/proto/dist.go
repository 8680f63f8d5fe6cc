package proto

import "fmt"

// maxDist limits the text parameters of a distribution, bytes.
const maxDist = 1024

func (d Dist) String() string {
	switch d.Name {
	case DistStripe:
		return fmt.Sprintf("%s(%d)", d.Name, d.StripSize)
	case DistVar:
		return fmt.Sprintf("%s(%q)", d.Name, d.Strips)
	case DistTwoD:
		return fmt.Sprintf("%s(%d, %d, %d)", d.Name, d.Groups, d.StripSize, d.Factor)
	case "":
		return "none"
	}
	return d.Name
}

// dist writes a distribution. One without a name becomes DistStripe with the default strip, because the format cannot express
// that there is none.
func (w *writer) dist(d *Dist) {
	if d.Name == "" {
		d = &Dist{Name: DistStripe, StripSize: StripSize64}
	}
	w.str(d.Name)
	switch d.Name {
	case DistStripe:
		w.i64(d.StripSize)
	case DistVar:
		w.str(d.Strips)
	case DistTwoD:
		w.u32(d.Groups)
		w.i64(d.StripSize)
		w.u32(d.Factor)
	}
	w.align8()
}

// dist parses a distribution. Its name must be known, because the name determines the parameters.
func (r *reader) dist(d *Dist) {
	at := r.off
	*d = Dist{}
	switch name := r.strBytes("distribution name", maxDist); string(name) {
	case DistStripe:
		d.Name = DistStripe
		d.StripSize = r.i64("strip size")
	case DistBasic:
		d.Name = DistBasic
	case DistVar:
		d.Name = DistVar
		d.Strips = r.str("strips", maxDist)
	case DistTwoD:
		d.Name = DistTwoD
		d.Groups = r.u32("distribution groups")
		d.StripSize = r.i64("strip size")
		d.Factor = r.u32("distribution factor")
	default:
		if r.err == nil {
			r.off = at
			r.fail(ErrMalformed, "distribution name", "unknown distribution %q", name)
		}
	}
	r.align8()
}
