package pvfsd

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/hostlist"
	"github.com/viaduct-hpc/viaduct/internal/sharedkey"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

type genconfigOptions struct {
	config.GenOptions
	id                 int32
	root               uint64
	out                string
	metaOnly, dataOnly []string
	insecure           bool
	key                string
}

func (a *App) genconfigCommand() *cobra.Command {
	var opt genconfigOptions
	cmd := &cobra.Command{
		Use:   "genconfig [ALIAS=]ADDRESS[,ADDRESS]...",
		Short: "Write the configuration of a new file system",
		Long: `Genconfig writes the configuration of a file system, fs.conf, for the given servers. Each server
has an address, or several separated by commas, and may have an alias in front of that. All
servers must get the same file; clients fetch it from them.

  pvfsd genconfig -o fs.conf a=tcp://a:3334,via+udp://a:3335 b=tcp://b:3334,via+udp://b:3335

Ranges in brackets stand for several servers, as in lists of hosts of Slurm; alias and addresses have the
same ranges:

  pvfsd genconfig -o fs.conf 'io[01-16,20]=tcp://io[01-16,20]:3334'

Unless told otherwise, clients may connect only from the networks of the servers (--trusted), and
root of a client becomes nobody, except on the servers themselves (--root-squash, --no-root-squash).
For several servers genconfig also makes the key that they share, see pvfsd serve --key-file: -o fs.conf
puts it in fs.key. With --insecure there is no protection: every program that can reach
the servers can act as any user, root included.

The root directory belongs to the user that runs the servers, and nobody else makes names in it. That user
gives others their folders: pvfs mkdir /alice, then pvfs chown alice /alice.

` + exitHelp,
		Example: `  pvfsd genconfig -o fs.conf tcp://server:3334
  pvfsd genconfig -o fs.conf 'io[01-10]=tcp://io[01-10]:3334'`,
		RunE: func(_ *cobra.Command, args []string) error { return a.genconfig(args, opt) },
	}
	f := cmd.Flags()
	f.StringVarP(&opt.out, "output", "o", "", "write to this file, which must not exist (default: standard output)")
	f.StringVar(&opt.Name, "fs-name", "", "name of the file system (default pvfs2-fs)")
	f.Int32Var(&opt.id, "id", 0, "number of the file system (default 1000)")
	f.Uint64Var(&opt.root, "root", 0, "handle of the root directory (default 1048576)")
	f.StringVar(&opt.MetaDir, "dir", "/var/lib/pvfs/data", "folder of the servers' data; each adds its alias")
	f.StringVar(&opt.LogFile, "log-file", "", "log file of stock servers; each adds its alias to the name (for pvfsd: serve --log-file)")
	f.StringVar(&opt.BMIModules, "bmi-modules", "", "BMI modules for stock programs (default bmi_tcp)")
	f.StringArrayVar(&opt.metaOnly, "meta-only", nil, "aliases of servers that store no file data, such as a,b[1-3]")
	f.StringArrayVar(&opt.dataOnly, "data-only", nil, "aliases of servers that store only file data")
	f.BoolVar(&opt.NoStuffing, "no-stuffing", false, "small files also have a datafile on every server")
	f.IntVar(&opt.DefaultDatafiles, "datafiles", 0, "number of servers for a file (0: all)")
	program.SizeFlag(f, &opt.FlowBufferSize, "flow-buffer-size", config.GoodFlowBufferSize, "length of the messages of flows, such as 256KiB")
	f.IntVar(&opt.FlowBuffers, "flow-buffers", config.GoodFlowBuffers, "number of these messages under way")
	f.IntVar(&opt.DistrDir.Initial, "dir-servers", 0, "number of servers for a new directory")
	f.IntVar(&opt.DistrDir.Max, "dir-servers-max", 0, "number of servers to which it may grow")
	f.IntVar(&opt.DistrDir.Split, "dir-split", 0, "number of entries at which it grows")
	f.BoolVar(&opt.NoSyncMeta, "no-sync-meta", false, "changes of names and attributes may be lost when a machine fails")
	f.BoolVar(&opt.SyncData, "sync-data", false, "writes are on the disk before they are acknowledged")
	f.BoolVar(&opt.NoTimeouts, "no-timeouts", false, "credentials and capabilities never expire, as with stock servers; otherwise after 1 h and 10 min")
	f.StringVar(&opt.KeyStore, "keystore", "", "file on each server with the public keys of clients, which must then authenticate; see pvfsd genkey")
	f.StringVar(&opt.key, "key-file", "", "file for the servers' key; an existing key is kept (default: the file of -o with .key instead of .conf)")
	f.BoolVar(&opt.insecure, "insecure", false, "no protection except that of other options")
	f.StringArrayVar(&opt.TrustedNetworks, "trusted", nil, "network from which clients may connect, such as tcp://10.0.0.0@8, or '*' for all; may be repeated (default: the networks of the servers)")
	f.StringArrayVar(&opt.RootSquash, "root-squash", nil, "network whose root user becomes nobody (default: all but the servers)")
	f.StringArrayVar(&opt.RootSquashExceptions, "no-root-squash", nil, "network exempt from --root-squash")
	f.StringArrayVar(&opt.AllSquash, "all-squash", nil, "network whose users all become nobody")
	f.StringArrayVar(&opt.ReadOnly, "read-only", nil, "network that may only read")
	program.Group(f, "Servers and their data", "meta-only", "data-only", "dir", "log-file", "bmi-modules")
	program.Group(f, "How files are spread", "no-stuffing", "datafiles", "flow-buffer-size", "flow-buffers", "dir-servers", "dir-servers-max", "dir-split")
	program.Group(f, "What is safe when", "no-sync-meta", "sync-data", "no-timeouts")
	program.Group(f, "Clients and their rights", "keystore", "key-file", "insecure", "trusted", "root-squash", "no-root-squash", "all-squash", "read-only")
	return cmd
}

func (a *App) genconfig(args []string, opt genconfigOptions) error {
	if len(args) == 0 {
		return program.Usagef("which servers? Give an address of each, for instance tcp://%s:3334", hostname())
	}
	gen := opt.GenOptions
	gen.ID, gen.Root, gen.DataDir = proto.FSID(opt.id), proto.Handle(opt.root), opt.MetaDir
	for _, arg := range args {
		servers, err := serversOf(arg)
		if err != nil {
			return err
		}
		for _, s := range servers {
			if s.Alias != "" && slices.ContainsFunc(gen.Servers, func(o config.GenServer) bool { return o.Alias == s.Alias }) {
				return program.Usagef("two servers have the alias %q", s.Alias)
			}
			gen.Servers = append(gen.Servers, s)
		}
	}
	for _, only := range []struct {
		flag    string
		aliases []string
		set     func(*config.GenServer)
	}{
		{"meta-only", opt.metaOnly, func(s *config.GenServer) { s.NoData = true }},
		{"data-only", opt.dataOnly, func(s *config.GenServer) { s.NoMeta = true }},
	} {
		aliases, err := hostlist.ExpandAll(only.aliases)
		if err != nil {
			return program.Usage(err)
		}
		for _, alias := range aliases {
			i := slices.IndexFunc(gen.Servers, func(s config.GenServer) bool { return s.Alias == alias })
			if alias == "" || i < 0 {
				return program.Usagef("--%s %s: no server has this alias; write it in front of an address: %s=tcp://…", only.flag, alias, alias)
			}
			only.set(&gen.Servers[i])
		}
	}
	notes := []string{"every program that can reach the servers can act as any user, as far as other options allow"}
	if !opt.insecure {
		var err error
		if notes, err = newSurveyor().protect(gen.Servers).apply(&gen); err != nil {
			return err
		}
	}
	text, err := config.Generate(gen)
	if err != nil {
		return program.Usage(err)
	}
	if name := opt.keyName(len(gen.Servers)); name != "" {
		if err := makeKey(name); err != nil {
			return err
		}
		notes = append(notes, "the key of the servers is in "+name+": give each a copy, and its name to pvfsd serve --key-file")
	}
	if opt.out == "" {
		_, err = fmt.Fprintln(a.Out, text)
	} else {
		err = writeNew(opt.out, text+"\n", 0o644)
	}
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintf(a.Err, "pvfsd: %s\n", note)
	}
	return nil
}

// keyName is the file for the servers' common key; "" if none is made.
func (o *genconfigOptions) keyName(servers int) string {
	switch {
	case o.key != "":
		return o.key
	case o.insecure, o.out == "", servers == 1: // a single server makes its own
		return ""
	}
	return strings.TrimSuffix(o.out, ".conf") + ".key"
}

// makeKey writes a new key, unless the file exists.
func makeKey(name string) error {
	if _, err := readKey(name); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var key sharedkey.Key
	if _, err := rand.Read(key[:]); err != nil {
		return err
	}
	return writeNew(name, key.Hex()+"\n", 0o600)
}

// serversOf parses [ALIAS=]ADDRESS[,ADDRESS].... Ranges in brackets stand for several servers.
func serversOf(arg string) ([]config.GenServer, error) {
	alias, address, named := strings.Cut(arg, "=")
	if !named || strings.Contains(alias, "://") {
		alias, address = "", arg
	} else if alias == "" {
		return nil, program.Usagef("%q has no alias in front of the =", arg)
	}
	words, err := hostlist.Split(address)
	if err != nil {
		return nil, program.Usage(err)
	}
	if alias != "" {
		words = append(words, alias)
	}
	var columns [][]string // of each word: one text for each server
	for _, word := range words {
		column, err := hostlist.Word(word)
		if err != nil {
			return nil, program.Usage(err)
		}
		if len(columns) > 0 && len(column) != len(columns[0]) {
			return nil, program.Usagef("%s stands for %d servers and %s for %d: give both the same ranges", words[0], len(columns[0]), word, len(column))
		}
		columns = append(columns, column)
	}
	servers := make([]config.GenServer, len(columns[0]))
	for i := range servers {
		var parts []string
		for _, column := range columns {
			parts = append(parts, column[i])
		}
		if alias != "" {
			servers[i].Alias, parts = parts[len(parts)-1], parts[:len(parts)-1]
		}
		for _, one := range parts {
			if err := checkAddress(one); err != nil {
				return nil, err
			}
		}
		servers[i].Address = strings.Join(parts, ",")
	}
	return servers, nil
}

func checkAddress(address string) error {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok || scheme == "" || rest == "" {
		return program.Usagef("%q is no address; one looks like tcp://HOST:PORT", address)
	}
	if !slices.ContainsFunc(bmi.Drivers(), func(d bmi.Driver) bool { return d.Name() == scheme }) {
		return program.Usagef("%q: no method %q; available: %s", address, scheme, program.MethodList())
	}
	return nil
}

// writeNew writes a file, which must not exist.
func writeNew(name, text string, mode fs.FileMode) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return program.Usagef("%s exists already; remove it first, or choose another name", name)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func hostname() string {
	if name, err := os.Hostname(); err == nil {
		return name
	}
	return "HOST"
}
