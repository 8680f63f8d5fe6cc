package tidy

import (
	"go/ast"
	"path"
	"strings"
)

// A layer says which packages of this module its packages may import. A pattern is a folder, a folder and everything below it
// ("bmi/..."), or one file that may import more than the rest of its package. An import that starts with "_ " may only be
// blank: it links a method in without using its name.
type layer struct {
	covers string
	may    []string
}

// layerTable is the picture in docs/architecture.md as data. The first layer that covers a package applies. A package that no
// layer covers is a problem: add it to the picture first. Tests may import what they need.
var layerTable = []layer{
	// Pure state: no imports of this module.
	{"matchbits", nil},
	{"peer", nil},
	{"peer/...", []string{"peer"}},

	// The interface. Its test doubles import nothing else.
	{"bmi", []string{"bmi/progress", "bmi/about", "bmi/netstats", "bmi/files", "internal/fault", "internal/spin", "internal/queue"}},
	{"bmi/progress", []string{"internal/spin"}},
	{"bmi/about", nil},
	{"bmi/netstats", nil},
	{"bmi/files", nil},
	{"bmi/...", []string{"bmi"}},

	// What methods have in common, then the VIA method, top to bottom.
	{"methods/inbox", []string{"bmi", "matchbits", "peer", "internal/queue", "internal/pieces", "internal/buffers"}},
	{"methods/methodtest/...", []string{"bmi", "internal/sim", "internal/race", "internal/freeport"}},
	// Only one room knows VIs. Providers, capabilities and errors pass through it as the seam defines them, so the method imports
	// package nic. Only one file knows which NICs there are.
	{"methods/via/register.go", []string{"bmi", "methods/via/nic/..."}},
	{"methods/via", []string{"bmi", "bmi/about", "peer", "methods/via/ops", "methods/via/peers", "methods/via/link", "methods/via/wire", "methods/via/flow", "methods/via/nic", "internal/seldom"}},
	{"methods/via/ops", []string{"bmi", "bmi/about", "matchbits", "peer", "methods/via/peers", "methods/via/link", "methods/via/wire", "methods/via/bulk", "methods/via/nic", "methods/inbox", "internal/queue", "internal/pieces", "internal/buffers"}},
	{"methods/via/peers", []string{"bmi", "bmi/netstats", "matchbits", "peer", "methods/via/link", "methods/via/wire", "internal/timers"}},
	{"methods/via/wire", []string{"matchbits"}},
	{"methods/via/link", []string{"bmi/netstats", "matchbits", "peer", "methods/via/vipl", "methods/via/wire", "methods/via/flow", "methods/via/nic", "internal/queue", "internal/pieces"}},
	{"methods/via/bulk", nil},
	{"methods/via/flow", []string{"matchbits"}},
	{"methods/via/vipl/vipltest", []string{"methods/via/vipl", "methods/via/nic", "internal/sim"}},
	{"methods/via/vipl/...", []string{"bmi/netstats", "internal/fault", "methods/via/vipl/...", "methods/via/nic"}},
	{"methods/via/simtest", nil}, // tests only
	{"methods/via/nic", []string{"bmi/about", "bmi/netstats", "bmi/files"}},
	{"methods/via/nic/sim", []string{"methods/via/nic", "internal/sim"}},
	// The UDP NIC: formats and transport are pure, the layer below the sockets is a separate seam, and the provider on top
	// joins them.
	{"methods/via/nic/udp/wire", nil},
	{"methods/via/nic/udp/reliable", []string{"methods/via/nic/udp/wire"}},
	{"methods/via/nic/udp/message", []string{"methods/via/nic", "methods/via/nic/udp/wire", "internal/queue", "internal/buffers"}},
	{"methods/via/nic/udp/secure", []string{"methods/via/nic", "methods/via/nic/udp/wire", "internal/keyfile", "internal/sharedkey", "internal/names"}},
	{"methods/via/nic/udp/dgram", nil},
	{"methods/via/nic/udp/dgram/dgramtest", []string{"methods/via/nic/udp/dgram", "internal/seamtest"}},
	{"methods/via/nic/udp/dgram/...", []string{"methods/via/nic/udp/dgram", "internal/sim", "internal/netpoll"}},
	{"methods/via/nic/udp", []string{"bmi/about", "bmi/netstats", "internal/fault", "methods/via/nic", "methods/via/nic/udp/...", "internal/names", "internal/queue", "internal/timers", "internal/buffers"}},
	{"methods/via/nic/udp/udptest", []string{"methods/via/nic", "methods/via/nic/udp/...", "methods/via/nic/udp", "internal/sim"}},
	{"methods/via/nic/shm", []string{"bmi/about", "methods/via/nic", "internal/fault", "internal/spin", "internal/timers"}},
	{"methods/via/nic/...", []string{"bmi/about", "bmi/netstats", "methods/via/nic"}},

	// Other methods never import each other.
	{"methods/tcp/stack/sim", []string{"methods/tcp/stack", "internal/sim"}},
	{"methods/tcp/stack/stacktest", []string{"methods/tcp/stack", "internal/seamtest"}},
	{"methods/tcp/...", []string{"bmi", "bmi/about", "bmi/files", "internal/fault", "matchbits", "peer", "methods/inbox", "methods/tcp/...", "internal/pieces", "internal/names", "internal/queue", "internal/timers", "internal/buffers", "internal/netpoll", "internal/keyfile", "internal/sharedkey", "internal/machine"}},
	{"plugins/...", []string{"bmi", "bmi/about", "plugins/...", "internal/spin", "internal/queue", "internal/pieces", "internal/version"}},

	// Packages above bmi know no method.
	{"mpi/errclass", nil},
	{"mpi/boot", []string{"mpi/errclass"}},
	{"mpi/number", nil},
	{"mpi/datatype", []string{"mpi/attr", "mpi/errclass", "mpi/number"}},
	{"mpi/reduce", []string{"mpi/datatype", "mpi/errclass", "mpi/number"}},
	{"mpi/coll/...", []string{"mpi/coll", "mpi/reduce", "mpi/datatype", "mpi/errclass"}},
	{"mpi/group", []string{"mpi/errclass"}},
	{"mpi/topo", []string{"mpi/errclass"}},
	{"mpi/attr", []string{"mpi/errclass"}},
	{"mpi/info", []string{"mpi/errclass"}},
	{"mpi/core/wire", nil},
	{"mpi/core/...", []string{"bmi", "matchbits", "mpi/core/...", "mpi/core", "mpi/datatype", "mpi/errclass", "internal/queue", "internal/buffers"}},
	{"mpi/internal/bridge", []string{"mpi/core"}},
	{"mpi/rma/wire", nil},
	{"mpi/rma/epoch", []string{"mpi/errclass"}},
	{"mpi/rma/apply", []string{"mpi/datatype", "mpi/reduce", "mpi/errclass"}},
	{"mpi/rma/share", []string{"mpi/errclass"}},
	{"mpi/rma", []string{"bmi/about", "mpi", "mpi/internal/bridge", "mpi/core", "mpi/attr", "mpi/info", "mpi/datatype", "mpi/errclass", "mpi/rma/...", "internal/spin", "internal/move"}},
	{"mpi/pmi/wire", nil},
	{"mpi/pmi/slurmtest", []string{"internal/freeport"}},
	{"mpi/pmi/...", []string{"mpi/boot", "mpi/errclass", "mpi/pmi/...", "mpi/pmi", "internal/sharedkey"}},
	{"mpi/launch/command", []string{"mpi/launch", "mpi/launch/hosts", "internal/dashes", "internal/version"}},
	{"mpi/launch/tree/wire", nil},
	{"mpi/launch/hosts", []string{"internal/hostlist"}},
	{"mpi/launch/tree", []string{"mpi/launch/tree/wire"}},
	{"mpi/launch/...", []string{"mpi/launch/hosts", "mpi/launch/tree/...", "mpi/launch/tree", "mpi/pmi/...", "mpi/boot", "mpi/errclass"}},
	// Files: lists and plans are pure, the storage knows no messages, and only team and memory know package mpi below the front.
	{"mpi/file/internal/ranges", []string{"mpi/errclass"}},
	{"mpi/file/internal/view", []string{"mpi/datatype", "mpi/errclass", "mpi/file/internal/ranges"}},
	{"mpi/file/internal/sieve", []string{"mpi/file/internal/ranges"}},
	{"mpi/file/internal/twophase", []string{"mpi/file/internal/ranges"}},
	{"mpi/file/internal/storage", []string{"mpi/errclass", "mpi/file/internal/ranges"}},
	{"mpi/file/internal/posix", []string{"mpi/errclass", "mpi/file/internal/ranges", "mpi/file/internal/sieve", "mpi/file/internal/storage"}},
	{"mpi/file/internal/pvfs", []string{"bmi/about", "mpi/errclass", "mpi/file/internal/ranges", "mpi/file/internal/storage", "pvfs/client", "pvfs/config", "pvfs/credential", "pvfs/proto", "pvfs/stripe", "pvfs/usercert"}},
	{"mpi/internal/memory", []string{"mpi", "mpi/datatype", "mpi/errclass"}},
	{"mpi/internal/team", []string{"mpi", "mpi/errclass", "mpi/internal/bridge"}},
	{"mpi/file/internal/shared", []string{"mpi/errclass", "mpi/internal/team"}},
	{"mpi/file/internal/exchange", []string{"mpi/errclass", "mpi/internal/memory", "mpi/file/internal/ranges", "mpi/file/internal/storage", "mpi/internal/team", "mpi/file/internal/twophase", "mpi/file/internal/view"}},
	{"mpi/file", []string{"mpi", "mpi/core", "mpi/datatype", "mpi/errclass", "mpi/internal/bridge", "mpi/file/internal/...", "mpi/internal/memory", "mpi/internal/team"}},
	{"mpi/file/filetest", []string{"mpi/file/internal/ranges", "mpi/file/internal/storage"}},
	// Checkpoints are files of package file; their format is pure.
	{"mpi/checkpoint/internal/sums", nil},
	{"mpi/checkpoint/internal/manifest", []string{"mpi/errclass", "mpi/checkpoint/internal/sums"}},
	{"mpi/checkpoint", []string{"mpi", "mpi/datatype", "mpi/errclass", "mpi/file", "mpi/object", "mpi/internal/memory", "mpi/internal/team", "mpi/checkpoint/internal/..."}},
	{"mpi/tool", []string{"mpi", "bmi/about"}}, // what there is to show registers itself
	{"mpi/...", []string{"bmi", "bmi/about", "mpi/...", "internal/queue"}},

	// The file system. Formats and arithmetic are pure, the storage knows no network, and client and server share only the wire
	// format.
	{"pvfs/proto", nil},
	{"pvfs/stripe", []string{"pvfs/proto"}},
	{"pvfs/datatype", []string{"pvfs/proto", "pvfs/stripe"}},
	{"pvfs/config", []string{"pvfs/proto", "pvfs/stripe"}},
	{"pvfs/credential", []string{"pvfs/proto", "internal/keyfile"}},
	{"pvfs/usercert", []string{"pvfs/credential", "pvfs/proto", "internal/keyfile"}},
	{"pvfs/usercert/certtest", []string{"pvfs/credential", "pvfs/usercert"}},
	{"pvfs/ldapusers", []string{"pvfs/config", "pvfs/usercert", "internal/keyfile"}},
	{"pvfs/ldapusers/ldaptest", nil},
	{"pvfs/store", []string{"pvfs/proto", "pvfs/store/blocksum", "pvfs/store/disk", "internal/pagecache"}},
	{"pvfs/store/blocksum", nil},
	{"pvfs/store/disk", nil},
	{"pvfs/store/disk/disktest", []string{"pvfs/store/disk"}},
	{"pvfs/refusal", nil},
	{"pvfs/rpc", []string{"bmi", "pvfs/proto", "pvfs/refusal", "internal/machine", "internal/names", "internal/queue", "internal/buffers"}},
	{"pvfs/server", []string{"bmi", "pvfs/rpc", "pvfs/refusal", "pvfs/store", "pvfs/config", "pvfs/credential", "pvfs/usercert", "pvfs/ldapusers", "pvfs/stripe", "pvfs/datatype", "pvfs/proto", "internal/buffers"}},
	{"pvfs/client", []string{"bmi", "internal/fault", "pvfs/rpc", "pvfs/config", "pvfs/credential", "pvfs/usercert", "pvfs/stripe", "pvfs/datatype", "pvfs/proto", "internal/buffers"}},
	{"pvfs/fuse", []string{"pvfs/client", "pvfs/proto"}},
	// Test helpers: the suite knows no file system but its own model, and pvfstest links the methods on which its servers
	// listen.
	{"pvfs/fstest", []string{"internal/sim", "internal/race"}},
	{"pvfs/replay", []string{"bmi", "pvfs/proto"}},
	{"pvfs/fstest/clientfs", []string{"pvfs/fstest", "pvfs/client"}},
	{"pvfs/interop", nil}, // tests only
	{"pvfs/pvfstest/stock", []string{"internal/freeport", "pvfs/config", "pvfs/credential", "pvfs/usercert/certtest", "pvfs/ldapusers/ldaptest"}},
	{"pvfs/pvfstest/memory", nil},
	{"pvfs/badday", nil},
	{"pvfs/pvfstest", []string{"bmi", "bmi/...", "pvfs/...", "_ methods/..."}},

	// Helpers.
	{"internal/sim", []string{"internal/race"}},
	{"internal/emulated", nil}, // tests only
	{"internal/golden", nil},
	{"internal/fault", nil},
	{"internal/freeport", nil},
	{"internal/hostlist", nil},
	{"internal/logtext", nil},
	{"internal/race", nil},
	{"internal/authority", nil},
	{"internal/verdict", nil},
	{"internal/seamtest", nil},
	{"internal/queue", nil},
	{"internal/timers", nil},
	{"internal/sayonce", nil},
	{"internal/seldom", nil},
	{"internal/buffers", nil},
	{"internal/pieces", nil},
	{"internal/netpoll", nil},
	{"internal/pagecache", nil},
	{"internal/names", nil},
	{"internal/keyfile", nil},
	{"internal/sharedkey", []string{"internal/keyfile"}},
	{"internal/machine", nil},
	{"internal/spin", nil},
	{"internal/move", nil},
	{"internal/tidy", []string{"internal/tiers"}},
	{"internal/tiers", nil},
	{"internal/references", nil},
	{"internal/netns", nil},
	{"internal/relay", nil},
	{"internal/perf/...", []string{"bmi", "bmi/netstats", "internal/perf/..."}},
	{"internal/mpiperf/...", []string{"internal/cli/program", "mpi/...", "internal/mpiperf/...", "internal/perf/..."}},
	{"internal/dashes", nil},
	{"internal/wallclock", nil},
	{"internal/notifytest", []string{"internal/wallclock"}},
	{"internal/programs", nil},
	{"internal/version", nil},
	{"internal/cli/program", []string{"bmi", "internal/version"}},
	{"internal/cli/pvfs", []string{"bmi", "internal/cli/program", "internal/dashes", "internal/perf", "pvfs/client", "pvfs/credential", "pvfs/usercert", "pvfs/rpc", "pvfs/fuse", "pvfs/config", "pvfs/proto"}},
	{"internal/cli/pvfsd", []string{"bmi", "internal/cli/program", "internal/dashes", "internal/perf", "pvfs/server", "pvfs/store", "pvfs/rpc", "pvfs/client", "pvfs/config", "pvfs/credential", "pvfs/proto", "internal/fault", "internal/hostlist", "internal/keyfile", "internal/sharedkey"}},
	{"internal/cli/genkey.go", []string{"internal/cli/program", "internal/hostlist", "internal/keyfile", "methods/via/nic/udp/secure"}}, // the format of keys, and no method
	{"internal/cli/...", []string{"bmi", "internal/dashes", "internal/verdict", "plugins/...", "methods/methodtest", "internal/cli/...", "internal/perf/..."}},

	// Programs choose the methods that they carry.
	{"cmd/...", []string{"bmi", "internal/dashes", "mpi/...", "pvfs/...", "plugins/...", "internal/cli/...", "internal/mpiperf/...", "internal/perf/...", "_ methods/..."}},
	{"bench/collectives/...", []string{"bench/collectives/...", "mpi/coll", "mpi/coll/collsim", "mpi/datatype", "mpi/reduce"}},
	{"bench/steps/...", []string{"bmi", "mpi", "mpi/boot", "_ methods/..."}},
	{"bench/...", []string{"bmi", "mpi", "mpi/checkpoint", "plugins", "pvfs/client", "pvfs/config", "pvfs/proto", "pvfs/datatype", "methods/tcp/wire", "bench/...", "internal/netns", "internal/perf/...", "_ methods/..."}},
	{"examples/...", []string{"internal/programs", "internal/logtext", "bmi", "mpi/...", "plugins", "examples/...", "_ methods/..."}},
	{"tools/dist", []string{"internal/cli", "internal/cli/pvfs", "internal/cli/pvfsd", "internal/mpiperf/command", "internal/version", "mpi/launch/command"}}, // a module of its own
	{"tools/...", []string{"internal/tiers", "internal/references", "mpi/datatype", "mpi/reduce"}},
}

func layers(t *Tree) (problems []Problem) {
	for _, p := range t.Packages {
		for _, f := range p.Files {
			if f.Test {
				continue
			}
			l := layerOf(f)
			if l == nil {
				problems = append(problems, t.problem(f, f.AST.Package,
					"package is in no layer: decide what it may import and add it to the table in internal/tidy"))
				continue
			}
			for _, spec := range f.AST.Imports {
				ours, ok := strings.CutPrefix(imported(spec), t.Module+"/")
				if ok && !l.allows(ours, spec) {
					problems = append(problems, t.problem(f, spec.Pos(), "%s may not import %s", p.Dir, ours))
				}
			}
		}
	}
	return problems
}

func layerOf(f *File) *layer {
	for i := range layerTable {
		if pattern := layerTable[i].covers; pattern == f.Path || covers(pattern, path.Dir(f.Path)) {
			return &layerTable[i]
		}
	}
	return nil
}

func (l *layer) allows(dir string, spec *ast.ImportSpec) bool {
	blank := spec.Name != nil && spec.Name.Name == "_"
	for _, may := range l.may {
		may, onlyBlank := strings.CutPrefix(may, "_ ")
		if covers(may, dir) && (blank || !onlyBlank) {
			return true
		}
	}
	return false
}

// covers reports whether a pattern of the table covers a folder.
func covers(pattern, dir string) bool {
	tree, all := strings.CutSuffix(pattern, "/...")
	return dir == tree || all && strings.HasPrefix(dir, tree+"/")
}
