package tool_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/internal/nic/shm"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/reliable"
	"github.com/viaduct-hpc/viaduct/internal/plugins/guest"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
	"github.com/viaduct-hpc/viaduct/methods/via"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/tool"
	"github.com/viaduct-hpc/viaduct/plugins"
)

// leaves returns the fields of a structure that must be variables. It checks that each field has a
// text, or a tag that says that it is no variable.
func leaves(t *testing.T, typ reflect.Type) (fields []string) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		text, described := f.Tag.Lookup("about")
		inner := f.Type.Kind() == reflect.Struct && (f.Anonymous || described && text != "-")
		switch {
		case inner:
			fields = append(fields, leaves(t, f.Type)...)
		case !f.IsExported() || text == "-":
		default:
			assert.NotEmpty(t, text, "%s.%s has no text for tools: give it a tag about", typ, f.Name)
			fields = append(fields, f.Name)
		}
	}
	return fields
}

// numbered sets each counter in a structure to another number, from 1, and returns how many there are.
func numbered(v reflect.Value, n uint64) uint64 {
	for i := range v.NumField() {
		f := v.Field(i)
		switch {
		case v.Type().Field(i).Tag.Get("about") == "-":
		case f.Kind() == reflect.Struct:
			n = numbered(f, n)
		case f.CanUint():
			n++
			f.SetUint(n)
		case f.CanInt():
			n++
			f.SetInt(int64(n))
		}
	}
	return n
}

// TestEveryCounterIsAVariable: every counter is shown, with its value. A new field without a text
// makes the test fail.
func TestEveryCounterIsAVariable(t *testing.T) {
	for _, structure := range []any{
		new(bmi.MethodStats), new(bmi.PeerStats), new(bmi.EndpointStats), new(core.Stats),
		new(shm.Stats), new(udp.Stats), new(dgram.Stats), new(reliable.Stats), new(vipl.SystemInfo), new(guest.LoopStats),
	} {
		v := reflect.ValueOf(structure).Elem()
		t.Run(v.Type().String(), func(t *testing.T) {
			fields := leaves(t, v.Type())
			n := numbered(v, 0)
			var values []uint64
			for _, c := range about.Counts("x", v.Interface()) {
				if c.Class != about.State {
					values = append(values, c.Values...)
				}
			}
			slices.Sort(values)
			want := make([]uint64, n)
			for i := range want {
				want[i] = uint64(i + 1)
			}
			assert.Equal(t, want, values)
			assert.Len(t, about.Counts("x", v.Interface()), len(fields))
		})
	}
}

// TestEveryMethodCounts: a process shows the counters of bmi, of its methods, and of their NICs.
func TestEveryMethodCounts(t *testing.T) {
	for method, own := range map[string][]about.Count{
		"mem":     nil,
		"tcp":     nil,
		"via+shm": append(about.Counts("vi", vipl.SystemInfo{}), about.Counts("nic", shm.Stats{})...),
		"via+udp": append(about.Counts("vi", vipl.SystemInfo{}), slices.Concat(about.Counts("nic", udp.Stats{}),
			about.Counts("nic.segments", reliable.Stats{}), about.Counts("nic.data", dgram.Stats{}), about.Counts("nic.priority", dgram.Stats{}))...),
	} {
		t.Run(method, func(t *testing.T) {
			t.Setenv("VIADUCT_UDP_INSECURE", "1")
			alone(t, method, func(t *testing.T, p *mpi.Process, i *tool.Interface) {
				all, err := i.Performance()
				require.NoError(t, err)
				names := make(map[string]bool)
				for _, v := range all {
					assert.False(t, names[v.Name], "%s is there twice", v.Name)
					names[v.Name] = true
				}
				for _, c := range about.Counts("bmi."+method, bmi.MethodStats{}) {
					assert.True(t, names[c.Name], c.Name)
				}
				for _, c := range own {
					assert.True(t, names["bmi."+method+"."+c.Name], c.Name)
				}
				for _, c := range slices.Concat(about.Counts("bmi", bmi.EndpointStats{}), about.Counts("mpi", core.Stats{}), about.Counts("mpi.comm.peer", bmi.PeerStats{})) {
					assert.True(t, names[c.Name], c.Name)
				}
			})
		})
	}
}

// TestEveryOptionIsAControl: every option of the library is a control variable.
func TestEveryOptionIsAControl(t *testing.T) {
	for _, options := range []any{mpi.Options{}, core.Limits{}, bmi.Config{}, via.Options{}, tcp.Options{}, plugins.Options{}} {
		typ := reflect.TypeOf(options)
		t.Run(typ.String(), func(t *testing.T) {
			assert.Len(t, about.Settings("x", options), len(leaves(t, typ)))
		})
	}
	alone(t, "tcp", func(t *testing.T, p *mpi.Process, i *tool.Interface) {
		all, err := i.Controls()
		require.NoError(t, err)
		for prefix, options := range map[string]any{
			"mpi": mpi.Options{}, "bmi": bmi.Config{}, "bmi.via+shm": via.Options{}, "bmi.via+udp": via.Options{}, "bmi.tcps": tcp.Options{},
		} {
			for _, s := range about.Settings(prefix, options) {
				assert.True(t, slices.ContainsFunc(all, func(c tool.Control) bool { return c.Name == s.Name }), s.Name)
			}
		}
	})
}

// TestControlsAreTrue: the values are those that the process uses.
func TestControlsAreTrue(t *testing.T) {
	t.Setenv("VIADUCT_SHM_TRUST", "0")
	alone(t, "tcp", func(t *testing.T, p *mpi.Process, i *tool.Interface) {
		for name, want := range map[string]any{
			"mpi.method":                 "tcp",
			"mpi.limits.eager_bytes_max": 8 << 10,
			"mpi.limits.window_bytes":    256 << 10,
			"mpi.limits.late_time_max":   time.Second,
			"mpi.init_time_max":          5 * time.Minute,
			"mpi.hook":                   false,
			"mpi.job_key":                false,
			"bmi.spin_max":               400 * time.Microsecond,
			"bmi.listen":                 "tcp://127.0.0.1:0",
			"bmi.limits.pending_ops":     1 << 16,
			"bmi.tcp.connect_timeout":    2 * time.Minute,
			"bmi.via+shm.credits":        via.CreditsPerPeer,
			"bmi.via+shm.nic.trust":      "0",
			"bmi.via+udp.nic.key":        false,
		} {
			c, err := i.Control(name)
			require.NoError(t, err)
			got, err := c.Read()
			require.NoError(t, err)
			assert.Equal(t, want, got, name)
			if strings.HasPrefix(name, "mpi.job") {
				assert.Equal(t, tool.Constant, c.Scope)
			}
		}
	})
}
