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

// layerTable is the picture in docs/internals/architecture.md as data. The first layer that covers a package applies. A package that no
// layer covers is a problem: add it to the picture first. Tests may import what they need.
var layerTable = []layer{
	// Pure state: no imports of this module.
	{"matchbits", nil},
	{"peer", nil},
	{"internal/peertest", []string{"peer"}},

	// The interface. Its test doubles import nothing else.
	{"bmi", []string{"internal/progress", "bmi/about", "bmi/netstats", "bmi/files", "internal/fault", "internal/spin", "internal/queue", "internal/trace"}},
	{"internal/progress", []string{"internal/spin"}},
	{"bmi/about", []string{"internal/environ"}},
	{"bmi/netstats", nil},
	{"bmi/files", nil},
	{"bmi/...", []string{"bmi"}},

	// What methods have in common, then the VIA method, top to bottom.
	{"internal/inbox", []string{"bmi", "matchbits", "peer", "internal/queue", "internal/pieces", "internal/buffers"}},
	{"methods/methodtest/...", []string{"bmi", "internal/sim", "internal/race", "internal/freeport", "internal/environ"}},
	// Only one room knows VIs. Providers, capabilities and errors pass through it as the seam defines them, so the method imports
	// package nic. Only one file knows which NICs there are.
	{"methods/via/register.go", []string{"bmi", "methods/via/nic/...", "internal/nic/..."}},
	{"methods/via", []string{"bmi", "bmi/about", "peer", "internal/via/ops", "internal/via/peers", "internal/via/link", "internal/via/wire", "internal/via/flow", "methods/via/nic", "internal/seldom"}},
	{"internal/via/ops", []string{"bmi", "bmi/about", "matchbits", "peer", "internal/via/peers", "internal/via/link", "internal/via/wire", "internal/via/bulk", "methods/via/nic", "internal/inbox", "internal/queue", "internal/pieces", "internal/buffers"}},
	{"internal/via/peers", []string{"bmi", "bmi/netstats", "matchbits", "peer", "internal/via/link", "internal/via/wire", "internal/timers"}},
	{"internal/via/wire", []string{"matchbits"}},
	{"internal/via/link", []string{"bmi/netstats", "matchbits", "peer", "methods/via/vipl", "internal/via/wire", "internal/via/flow", "methods/via/nic", "internal/queue", "internal/pieces"}},
	{"internal/via/bulk", nil},
	{"internal/via/flow", []string{"matchbits"}},
	{"methods/via/vipl/vipltest", []string{"methods/via/vipl", "methods/via/nic", "internal/sim"}},
	{"methods/via/vipl/...", []string{"bmi/netstats", "internal/fault", "methods/via/vipl/...", "methods/via/nic", "internal/environ"}},
	{"internal/via/simtest", nil}, // tests only
	{"methods/via/nic", []string{"bmi/about", "bmi/netstats", "bmi/files"}},
	{"internal/nic/sim", []string{"methods/via/nic", "internal/sim"}},
	// The UDP NIC: formats and transport are pure, the layer below the sockets is a separate seam, and the provider on top
	// joins them.
	{"internal/nic/udp/wire", nil},
	{"internal/nic/udp/reliable", []string{"internal/nic/udp/wire"}},
	{"internal/nic/udp/message", []string{"methods/via/nic", "internal/nic/udp/wire", "internal/queue", "internal/buffers"}},
	{"internal/nic/udp/secure", []string{"methods/via/nic", "internal/nic/udp/wire", "internal/keyfile", "internal/sharedkey", "internal/names"}},
	{"internal/nic/udp/dgram", nil},
	{"internal/nic/udp/dgram/dgramtest", []string{"internal/nic/udp/dgram", "internal/seamtest"}},
	{"internal/nic/udp/dgram/...", []string{"internal/nic/udp/dgram", "internal/sim", "internal/netpoll"}},
	{"internal/nic/udp", []string{"bmi/about", "bmi/netstats", "internal/fault", "methods/via/nic", "internal/nic/udp/...", "internal/names", "internal/queue", "internal/timers", "internal/buffers", "internal/environ"}},
	{"internal/nic/udp/udptest", []string{"methods/via/nic", "internal/nic/udp/...", "internal/nic/udp", "internal/sim"}},
	{"internal/nic/shm", []string{"bmi/about", "methods/via/nic", "internal/fault", "internal/spin", "internal/timers", "internal/environ"}},
	{"internal/nic/...", []string{"bmi/about", "bmi/netstats", "methods/via/nic"}},

	// Other methods never import each other.
	{"internal/tcp/stack/sim", []string{"internal/tcp/stack", "internal/sim"}},
	{"internal/tcp/stack/stacktest", []string{"internal/tcp/stack", "internal/seamtest"}},
	{"methods/tcp", []string{"bmi", "bmi/about", "bmi/files", "internal/fault", "matchbits", "peer", "internal/inbox", "internal/tcp/...", "internal/pieces", "internal/names", "internal/queue", "internal/timers", "internal/buffers", "internal/netpoll", "internal/keyfile", "internal/sharedkey", "internal/machine", "internal/environ"}},
	{"internal/tcp/...", []string{"bmi", "bmi/about", "bmi/files", "internal/fault", "matchbits", "peer", "internal/inbox", "internal/tcp/...", "internal/pieces", "internal/names", "internal/queue", "internal/timers", "internal/buffers", "internal/netpoll", "internal/keyfile", "internal/sharedkey", "internal/machine", "internal/environ"}},
	{"plugins/...", []string{"bmi", "bmi/about", "plugins/...", "internal/plugins/...", "internal/spin", "internal/queue", "internal/pieces", "internal/version", "internal/environ"}},
	{"internal/plugins/...", []string{"bmi", "bmi/about", "plugins/...", "internal/plugins/...", "internal/spin", "internal/queue", "internal/pieces", "internal/version", "internal/environ"}},

	// Packages above bmi know no method.
	{"mpi/errclass", nil},
	{"mpi/boot", []string{"mpi/errclass"}},
	{"mpi/number", nil},
	{"mpi/datatype", []string{"mpi/attr", "mpi/errclass", "mpi/number"}},
	{"mpi/reduce", []string{"mpi/datatype", "mpi/errclass", "mpi/number"}},
	{"mpi/coll", []string{"mpi/reduce", "mpi/datatype", "mpi/errclass"}},
	{"internal/mpi/collsim", []string{"mpi/coll", "mpi/reduce", "mpi/datatype", "mpi/errclass"}},
	{"internal/mpi/colltest", []string{"mpi/coll", "mpi/reduce", "mpi/datatype", "mpi/errclass"}},
	{"mpi/group", []string{"mpi/errclass"}},
	{"mpi/topo", []string{"mpi/errclass"}},
	{"mpi/attr", []string{"mpi/errclass"}},
	{"mpi/info", []string{"mpi/errclass"}},
	{"internal/mpi/core/wire", nil},
	{"internal/mpi/core/...", []string{"bmi", "matchbits", "internal/mpi/core/...", "internal/mpi/core", "mpi/datatype", "mpi/errclass", "internal/queue", "internal/buffers"}},
	{"mpi/internal/bridge", []string{"internal/mpi/core"}},
	{"mpi/rma/internal/wire", nil},
	{"mpi/rma/internal/epoch", []string{"mpi/errclass"}},
	{"mpi/rma/internal/apply", []string{"mpi/datatype", "mpi/reduce", "mpi/errclass"}},
	{"mpi/internal/share", []string{"mpi/errclass"}},
	{"mpi/rma", []string{"bmi/about", "mpi", "mpi/internal/bridge", "internal/mpi/core", "mpi/attr", "mpi/info", "mpi/datatype", "mpi/errclass", "mpi/rma/...", "internal/spin", "internal/move", "mpi/internal/share"}},
	{"internal/mpi/pmi/wire", nil},
	{"internal/mpi/pmi/slurmtest", []string{"internal/need", "internal/freeport"}},
	{"internal/mpi/pmi/pmixtest", []string{"internal/need"}},
	{"internal/mpi/pmi/...", []string{"mpi/boot", "mpi/errclass", "internal/mpi/pmi/...", "internal/mpi/pmi", "internal/sharedkey", "internal/environ"}},
	{"internal/mpi/launch/command", []string{"internal/mpi/launch", "internal/mpi/launch/hosts", "internal/version", "internal/environ", "internal/cli/program", "internal/trace", "internal/watch/gather", "internal/watch/term"}},
	{"internal/mpi/launch/tree/wire", nil},
	{"internal/mpi/launch/hosts", []string{"internal/hostlist"}},
	{"internal/mpi/launch/tree", []string{"internal/mpi/launch/tree/wire"}},
	{"internal/mpi/launch/...", []string{"internal/mpi/launch/hosts", "internal/mpi/launch/tree/...", "internal/mpi/launch/tree", "internal/mpi/pmi/...", "mpi/boot", "mpi/errclass", "internal/environ"}},
	// Files: lists and plans are pure, the storage knows no messages, and only team and memory know package mpi below the front.
	{"mpi/internal/file/ranges", []string{"mpi/errclass"}},
	{"mpi/internal/file/view", []string{"mpi/datatype", "mpi/errclass", "mpi/internal/file/ranges"}},
	{"mpi/internal/file/sieve", []string{"mpi/internal/file/ranges"}},
	{"mpi/internal/file/twophase", []string{"mpi/internal/file/ranges"}},
	{"mpi/internal/file/storage", []string{"mpi/errclass", "mpi/internal/file/ranges"}},
	{"mpi/internal/file/posix", []string{"mpi/errclass", "mpi/internal/file/ranges", "mpi/internal/file/sieve", "mpi/internal/file/storage"}},
	{"mpi/internal/file/pvfs", []string{"bmi/about", "mpi/errclass", "mpi/internal/file/ranges", "mpi/internal/file/storage", "pvfs/client", "pvfs/config", "pvfs/credential", "pvfs/proto", "internal/pvfs/stripe", "pvfs/usercert", "internal/environ"}},
	{"mpi/internal/memory", []string{"mpi", "mpi/datatype", "mpi/errclass"}},
	{"mpi/internal/plugintest", nil}, // tests only
	{"mpi/internal/team", []string{"mpi", "mpi/errclass", "mpi/internal/bridge"}},
	{"mpi/internal/file/shared", []string{"mpi/errclass", "mpi/internal/team"}},
	{"mpi/internal/file/exchange", []string{"mpi/errclass", "mpi/internal/share", "mpi/internal/memory", "mpi/internal/file/ranges", "mpi/internal/file/storage", "mpi/internal/team", "mpi/internal/file/twophase", "mpi/internal/file/view"}},
	{"mpi/file", []string{"mpi", "internal/mpi/core", "mpi/datatype", "mpi/errclass", "mpi/internal/bridge", "mpi/internal/file/...", "mpi/internal/memory", "mpi/internal/team"}},
	{"mpi/internal/file/filetest", []string{"mpi/internal/file/ranges", "mpi/internal/file/storage"}},
	// Checkpoints are files of package file; their format is pure.
	{"mpi/checkpoint/internal/sums", nil},
	{"mpi/checkpoint/internal/manifest", []string{"mpi/errclass", "mpi/checkpoint/internal/sums"}},
	{"mpi/checkpoint", []string{"mpi", "mpi/datatype", "mpi/errclass", "mpi/file", "mpi/object", "mpi/internal/memory", "mpi/internal/team", "mpi/checkpoint/internal/..."}},
	{"mpi/tool", []string{"mpi", "bmi/about"}}, // what there is to show registers itself
	{"internal/mpi/jobtest", nil},              // tests only
	{"mpi/...", []string{"bmi", "bmi/about", "mpi/...", "internal/mpi/core", "internal/mpi/pmi", "internal/queue", "internal/environ", "internal/watch", "internal/trace"}},

	// The file system. Formats and arithmetic are pure, the storage knows no network, and client and server share only the wire
	// format.
	{"pvfs/proto", nil},
	{"internal/pvfs/stripe", []string{"pvfs/proto"}},
	{"internal/pvfs/datatype", []string{"pvfs/proto", "internal/pvfs/stripe"}},
	{"pvfs/config", []string{"pvfs/proto", "internal/pvfs/stripe"}},
	{"pvfs/credential", []string{"pvfs/proto", "internal/keyfile"}},
	{"pvfs/usercert", []string{"pvfs/credential", "pvfs/proto", "internal/keyfile"}},
	{"internal/pvfs/certtest", []string{"pvfs/credential", "pvfs/usercert"}},
	{"internal/pvfs/ldapusers", []string{"pvfs/config", "pvfs/usercert", "internal/keyfile"}},
	{"internal/pvfs/ldapusers/ldaptest", nil},
	{"internal/pvfs/store", []string{"pvfs/proto", "internal/pvfs/store/blocksum", "internal/pvfs/store/disk", "internal/pagecache"}},
	{"internal/pvfs/store/blocksum", nil},
	{"internal/pvfs/store/disk", nil},
	{"internal/pvfs/store/disk/disktest", []string{"internal/pvfs/store/disk"}},
	{"internal/pvfs/refusal", nil},
	{"internal/pvfs/rights", []string{"pvfs/proto"}},
	{"internal/pvfs/rpc", []string{"bmi", "pvfs/proto", "internal/pvfs/refusal", "internal/machine", "internal/names", "internal/queue", "internal/buffers", "internal/seldom", "internal/trace"}},
	{"internal/pvfs/server", []string{"bmi", "internal/pvfs/rpc", "internal/pvfs/refusal", "internal/pvfs/rights", "internal/pvfs/store", "pvfs/config", "pvfs/credential", "pvfs/usercert", "internal/pvfs/ldapusers", "internal/pvfs/stripe", "internal/pvfs/datatype", "pvfs/proto", "internal/buffers", "bmi/about", "internal/watch"}},
	{"pvfs/client", []string{"bmi", "internal/fault", "internal/pvfs/rpc", "pvfs/config", "pvfs/credential", "pvfs/usercert", "internal/pvfs/stripe", "internal/pvfs/datatype", "pvfs/proto", "internal/buffers"}},
	{"internal/pvfs/fuse", []string{"pvfs/client", "pvfs/proto"}},
	{"internal/pvfs/fuse/fusetest", []string{"internal/pvfs/fuse", "internal/need"}},
	// Test helpers: the suite knows no file system but its own model, and pvfstest links the methods on which its servers
	// listen.
	{"internal/pvfs/fstest", []string{"internal/sim", "internal/race"}},
	{"internal/pvfs/replay", []string{"bmi", "pvfs/proto", "internal/environ"}},
	{"internal/pvfs/fstest/clientfs", []string{"internal/pvfs/fstest", "pvfs/client"}},
	{"internal/pvfs/interop", nil}, // tests only
	{"internal/pvfs/pvfstest/stock", []string{"internal/need", "internal/freeport", "pvfs/config", "pvfs/credential", "internal/pvfs/certtest", "internal/pvfs/ldapusers/ldaptest", "internal/environ"}},
	{"internal/pvfs/pvfstest/memory", nil},
	{"internal/pvfs/badday", nil},
	{"internal/pvfs/pvfstest", []string{"bmi", "bmi/...", "pvfs/...", "internal/pvfs/...", "_ methods/..."}},

	// Watching: snapshots know bmi, what serves them knows nothing else, and package watch links both.
	{"internal/watch", []string{"bmi", "bmi/about", "internal/version"}},
	{"internal/watch/table", []string{"internal/watch"}},
	{"internal/watch/view", []string{"internal/watch", "internal/watch/table"}},
	{"internal/watch/gather", []string{"internal/watch", "internal/watch/table", "internal/watch/view"}},
	{"internal/watch/page", []string{"internal/watch/table", "internal/watch/view"}},
	{"internal/watch/term", []string{"internal/watch/table", "internal/watch/view"}},
	{"internal/watch/watchtest", []string{"internal/watch", "internal/watch/table"}},
	{"internal/watch/...", []string{"internal/watch", "internal/watch/web", "internal/watch/table"}},
	{"watch", []string{"bmi/about", "internal/watch/web", "_ internal/watch/...", "internal/environ"}},

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
	{"internal/tidy", []string{"internal/tiers", "internal/environ"}},
	{"internal/trace", []string{"internal/environ"}},
	{"internal/trace/...", []string{"internal/trace", "internal/trace/..."}},
	{"internal/tiers", nil},
	{"internal/references", nil},
	{"internal/netns", []string{"internal/environ", "internal/need"}},
	{"internal/relay", nil},
	{"internal/perf/...", []string{"bmi", "bmi/netstats", "internal/perf/...", "internal/units"}},
	{"internal/mpiperf/...", []string{"internal/cli/program", "mpi/...", "internal/mpiperf/...", "internal/perf/...", "internal/environ"}},
	{"internal/docs", nil},
	{"internal/wallclock", nil},
	{"internal/notifytest", []string{"internal/wallclock"}},
	{"internal/programs", nil},
	{"internal/version", nil},
	{"internal/units", nil},
	{"internal/environ", nil},
	{"internal/need", []string{"internal/environ"}},
	{"internal/cli/manner", []string{"internal/cli/program"}}, // for tests
	{"internal/cli/program", []string{"bmi", "internal/version", "internal/environ", "internal/units", "internal/trace"}},
	{"internal/cli/pvfs", []string{"bmi", "internal/cli/program", "internal/perf", "pvfs/client", "pvfs/credential", "pvfs/usercert", "internal/pvfs/rpc", "internal/pvfs/fuse", "pvfs/config", "pvfs/proto", "internal/environ", "internal/units", "internal/cli/top", "internal/watch", "internal/watch/table", "internal/watch/view"}},
	{"internal/cli/pvfsd", []string{"bmi", "bmi/about", "internal/cli/program", "internal/perf", "internal/pvfs/server", "internal/pvfs/store", "internal/pvfs/rpc", "pvfs/client", "pvfs/config", "pvfs/credential", "pvfs/proto", "internal/fault", "internal/hostlist", "internal/keyfile", "internal/sharedkey", "internal/environ", "internal/units", "internal/watch/web", "watch", "internal/watch", "internal/watch/page", "internal/watch/table"}},
	{"internal/cli/top.go", []string{"internal/environ", "internal/cli/program", "internal/cli/top", "internal/watch/gather"}},
	{"internal/cli/top", []string{"internal/cli/program", "internal/watch/..."}},
	{"internal/cli/genkey.go", []string{"internal/cli/program", "internal/hostlist", "internal/keyfile", "internal/nic/udp/secure"}}, // the format of keys, and no method
	{"internal/cli/...", []string{"bmi", "internal/verdict", "plugins/...", "internal/plugins/process", "methods/methodtest", "internal/cli/...", "internal/perf/...", "internal/environ", "internal/units", "internal/trace", "internal/trace/..."}},

	// Programs choose the methods that they carry.
	{"cmd/...", []string{"bmi", "internal/mpi/launch/...", "mpi/...", "pvfs/...", "plugins/...", "internal/cli/...", "internal/mpiperf/...", "internal/perf/...", "_ methods/...", "_ watch"}},
	{"bench/internal/scale", []string{"mpi/coll", "internal/mpi/collsim", "mpi/datatype", "mpi/reduce"}},
	{"bench/collectives", []string{"bench/internal/scale"}},
	{"bench/steps/traced", []string{"bmi", "mpi", "mpi/boot", "internal/nic/shm", "_ methods/..."}},
	{"bench/steps/...", []string{"bmi", "mpi", "mpi/boot", "_ methods/..."}},
	{"bench/...", []string{"bmi", "mpi", "mpi/checkpoint", "plugins", "pvfs/client", "pvfs/config", "pvfs/proto", "internal/pvfs/datatype", "internal/tcp/wire", "bench/...", "internal/netns", "internal/perf/...", "_ methods/..."}},
	{"examples/...", []string{"internal/need", "internal/programs", "internal/logtext", "bmi", "mpi/...", "plugins", "examples/...", "_ methods/...", "_ watch"}},
	{"tools/browser", nil}, // a module of its own, tests only
	{"tools/dist", []string{"internal/cli", "internal/cli/pvfs", "internal/cli/pvfsd", "internal/mpiperf/command", "internal/version", "internal/mpi/launch/command"}}, // a module of its own
	{"tools/...", []string{"internal/need", "internal/tidy", "internal/tiers", "internal/references", "mpi/datatype", "mpi/reduce", "internal/docs"}},
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
