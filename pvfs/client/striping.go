package client

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/stripe"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Striping says how the data of a new file is spread over servers. Zero fields take the setting of the directory, or else of the
// file system.
type Striping struct {
	Dist      proto.Dist
	Datafiles int // limited by the number of servers for data
	Layout    proto.Layout
}

// striping is the striping of a new file.
func (f *FS) striping(how Striping, hint *proto.DirHint) (Striping, error) {
	var err error
	switch {
	case how.Dist.Name != "":
	case hint.DistName != "":
		how.Dist, err = parseDist(hint.DistName, hint.DistParams)
	case f.cfg.Dist.Name != "":
		how.Dist = f.cfg.Dist
	default:
		how.Dist = stripe.Default(proto.DistStripe)
	}
	if err != nil {
		return how, err
	}
	m, err := stripe.Of(how.Dist)
	if err != nil {
		return how, fmt.Errorf("%w: %w", proto.EINVAL, err)
	}
	for _, wanted := range []int{int(min(hint.Datafiles, proto.MaxDatafiles)), f.cfg.DefaultDatafiles, len(f.data)} {
		if how.Datafiles <= 0 {
			how.Datafiles = wanted
		}
	}
	how.Datafiles = max(m.Count(min(how.Datafiles, len(f.data), proto.MaxDatafiles)), 1)
	if how.Layout.Algorithm == 0 {
		how.Layout = proto.Layout{Algorithm: hint.Layout, Servers: hint.Servers}
	}
	if how.Layout.Algorithm == 0 {
		how.Layout = proto.Layout{Algorithm: proto.LayoutRoundRobin}
	}
	return how, nil
}

// parseDist parses the parameters of a distribution as directories store them: "strip_size:65536", separated by commas.
func parseDist(name, params string) (proto.Dist, error) {
	d := stripe.Default(name)
	d.Name = name
	for _, p := range strings.FieldsFunc(params, func(r rune) bool { return r == ',' }) {
		key, value, _ := strings.Cut(strings.TrimSpace(p), ":")
		n, err := strconv.ParseInt(value, 10, 64)
		switch {
		case key == "strips":
			// This parameter has commas of its own, and is the last one.
			_, d.Strips, _ = strings.Cut(params, "strips:")
			return d, nil
		case err != nil:
			return d, fmt.Errorf("distribution %s: parameter %q: %w", name, p, proto.EINVAL)
		case key == "strip_size":
			d.StripSize = n
		case key == "num_groups":
			d.Groups = uint32(n)
		case key == "group_strip_factor":
			d.Factor = uint32(n)
		}
	}
	return d, nil
}
