package interop

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
)

// fleets are the numbers of servers for all tests.
var fleets = []int{1, 2, 4}

// layout is the output of pvfs2-viewdist for a file.
type layout struct {
	strip   string
	servers []string // of its datafiles
	meta    string
}

func (w *world) layout(t testing.TB, name string) layout {
	t.Helper()
	var l layout
	for line := range strings.Lines(w.OK(t, "pvfs2-viewdist", "-f", at(name))) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "strip_size:"); ok {
			l.strip = rest
		}
		if rest, ok := strings.CutPrefix(line, "Metadataserver: "); ok {
			l.meta = rest
		}
		if strings.HasPrefix(line, "Datafile ") {
			_, rest, _ := strings.Cut(line, " - ")
			server, _, _ := strings.Cut(rest, ",")
			l.servers = append(l.servers, server)
		}
	}
	return l
}

// TestCopies: pvfs2-cp copies files in and out correctly, with all sizes, layouts and buffer sizes, and the data is on the
// requested servers.
func TestCopies(t *testing.T) {
	for _, n := range fleets {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := ours(t, n, nil)
			w.OK(t, "pvfs2-mkdir", at("/d"))
			count := 0
			for _, strip := range []int{1000, 65536} {
				for datafiles := 1; datafiles <= n; datafiles += max(1, n-1) {
					for _, size := range borders(strip, datafiles) {
						count++
						name := fmt.Sprintf("/d/f%d-%d-%d", strip, datafiles, size)
						in := w.local(t, "in", content(size))
						w.OK(t, "pvfs2-cp", "-s", strconv.Itoa(strip), "-n", strconv.Itoa(datafiles), "-b", []string{"10485760", "65536", "4096", "777"}[count%4], in, at(name))
						require.Equal(t, content(size), w.fetch(t, name, "-b", []string{"999", "10485760", "131072", "8192"}[count%4]), name)
						f := w.fields(t, name)
						require.Equal(t, strconv.Itoa(size), f["Size"], name)
						l := w.layout(t, name)
						require.Equal(t, strconv.Itoa(strip), l.strip, name)
						require.Contains(t, w.addresses, l.meta)
						require.Subset(t, w.addresses, l.servers)
						distinct(t, l.servers)
						if datafiles > 1 && size <= strip {
							require.Len(t, l.servers, 1, "%s is stuffed", name)
							require.Equal(t, l.meta, l.servers[0])
						} else {
							require.Len(t, l.servers, datafiles, name)
						}
					}
				}
			}
			require.Equal(t, strconv.Itoa(count), w.fields(t, "/d")["dir entries"])
		})
	}
}

// borders are sizes near the limits of strips, stripes and single requests.
func borders(strip, datafiles int) []int {
	sizes := []int{0, 1, 6767, 6768, 6769, 16344, 16345}
	if testing.Short() {
		sizes = []int{0, 6769}
	}
	for _, border := range []int{strip, strip * datafiles, strip*datafiles*3 + strip/2} {
		sizes = append(sizes, border-1, border, border+1)
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

func distinct(t testing.TB, all []string) {
	t.Helper()
	seen := map[string]bool{}
	for _, s := range all {
		require.False(t, seen[s], "%s twice", s)
		seen[s] = true
	}
}

// TestLargeCopy copies a file of many flows, also from file system to file system.
func TestLargeCopy(t *testing.T) {
	need.Soak(t, "copies 200 MB")
	w := ours(t, 4, nil)
	data := content(50<<20 + 12345)
	in := w.local(t, "in", data)
	w.OK(t, "pvfs2-cp", in, at("/large"))
	w.OK(t, "pvfs2-cp", at("/large"), at("/copy"))
	require.Equal(t, data, w.fetch(t, "/copy"))
	require.Len(t, w.layout(t, "/copy").servers, 4)
}

// TestBinary is a small TestCopies with servers in separate processes.
func TestBinary(t *testing.T) {
	w := binaries(t, 2)
	for _, size := range []int{1000, 65537, 3 << 20} {
		in := w.local(t, "in", content(size))
		w.OK(t, "pvfs2-cp", in, at(fmt.Sprintf("/f%d", size)))
		require.Equal(t, content(size), w.fetch(t, fmt.Sprintf("/f%d", size)))
	}
	require.Contains(t, w.OK(t, "pvfs2-ping", "-m", at("/")), "appears to be correctly configured")
}
