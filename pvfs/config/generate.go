package config

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// GenOptions are the contents of a generated configuration. Zero values mean the defaults of stock's pvfs2-genconfig, which the
// comments give.
type GenOptions struct {
	Name    string       // "pvfs2-fs"
	ID      proto.FSID   // 1000
	Root    proto.Handle // 1048576
	Servers []GenServer

	DataDir, MetaDir string // of servers that set none: their alias is appended
	LogFile          string // of stock servers, likewise; "": OrangeFS's default, /tmp/pvfs2-server.log
	BMIModules       string // for stock clients and servers: "bmi_tcp"
	NoStuffing       bool
	DefaultDatafiles int
	FlowBufferSize   int // bytes
	FlowBuffers      int
	DistrDir         DistrDir
	NoSyncMeta       bool
	SyncData         bool
	NoTimeouts       bool   // credentials and capabilities never expire
	KeyStore         string // path, on each server, of the file with the public keys of clients; "": clients need not authenticate
	ServerKey        string // path of a private key: on stock servers each server's own, or, with CAFile, on all servers the authority's
	CAFile           string // path, on each server, of the certificate of the users' authority; "": users have no certificates
	LDAP             LDAP   // directory with the users of certificates

	TrustedNetworks, RootSquash, RootSquashExceptions []string // patterns
	AllSquash, ReadOnly                               []string
}

// Good values for a file system with servers of ours only, instead of stock's 262144 bytes and 8. Messages of this size are in
// huge pages, and each handshake moves more data.
const (
	GoodFlowBufferSize = 2 << 20
	GoodFlowBuffers    = 4
)

// GenServer is one server of the new configuration. All servers get equal shares of the handles.
type GenServer struct {
	Alias                     string // if empty, made from the address as stock does
	Address                   string // bmi addresses, separated by commas
	NoMeta, NoData            bool   // it stores no metadata, or no datafiles
	DataDir, MetaDir, LogFile string
}

// The handles that are divided among servers.
const (
	firstHandle = 3
	lastHandle  = 1<<63 - 2
)

// Generate writes a configuration that our and stock servers and clients accept. The error names the options that are wrong.
func Generate(o GenOptions) (string, error) {
	o.fill()
	var meta, data []GenServer
	for _, s := range o.Servers {
		if !s.NoMeta {
			meta = append(meta, s)
		}
		if !s.NoData {
			data = append(data, s)
		}
	}
	if len(meta) == 0 || len(data) == 0 {
		return "", errors.New("config: a file system needs a server for metadata and one for data")
	}
	w := &writer{}
	w.defaults(&o)
	w.section("Aliases", func() {
		for _, s := range o.Servers {
			w.line("Alias %s %s", s.Alias, s.Address)
		}
	})
	w.filesystem(&o, meta, data)
	for _, s := range o.Servers {
		w.options(s)
	}
	text := strings.TrimSuffix(w.String(), "\n")
	c, err := Parse(text)
	if err != nil {
		return "", fmt.Errorf("the generated configuration does not parse: %w", err)
	}
	if c.Name != o.Name || len(c.Servers) != len(o.Servers) {
		return "", fmt.Errorf("config: %q or an alias has characters that do not belong in a name", o.Name)
	}
	return text, nil
}

func (o *GenOptions) fill() {
	o.Name, o.ID, o.Root = cmp.Or(o.Name, "pvfs2-fs"), cmp.Or(o.ID, 1000), cmp.Or(o.Root, 1048576)
	o.DataDir, o.MetaDir = cmp.Or(o.DataDir, "/var/lib/orangefs/data"), cmp.Or(o.MetaDir, "/var/lib/orangefs/meta")
	o.BMIModules = cmp.Or(o.BMIModules, "bmi_tcp")
	d := &o.DistrDir
	d.Initial, d.Split = cmp.Or(d.Initial, 1), cmp.Or(d.Split, 100)
	d.Max = max(d.Max, d.Initial)
	o.Servers = append([]GenServer(nil), o.Servers...)
	for i := range o.Servers {
		s := &o.Servers[i]
		s.Alias = cmp.Or(s.Alias, aliasOf(s.Address))
		s.DataDir, s.MetaDir = cmp.Or(s.DataDir, o.DataDir+"-"+s.Alias), cmp.Or(s.MetaDir, o.MetaDir+"-"+s.Alias)
		if s.LogFile == "" && o.LogFile != "" {
			s.LogFile = o.LogFile + "-" + s.Alias
		}
	}
}

// aliasOf makes "127.0.0.1_tcp3334" from "tcp://127.0.0.1:3334".
func aliasOf(address string) string {
	first, _, _ := strings.Cut(address, ",")
	scheme, rest, _ := strings.Cut(first, "://")
	host, port, found := strings.Cut(rest, ":")
	if !found {
		port = ""
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("/ \t\"'#<>,", r) {
			return '_'
		}
		return r
	}, path.Base(host)+"_"+scheme+port)
}

// writer writes lines, indented with tabs.
type writer struct {
	strings.Builder
	depth int
}

func (w *writer) line(format string, args ...any) {
	w.WriteString(strings.Repeat("\t", w.depth))
	fmt.Fprintf(w, format+"\n", args...)
}

// section writes a section. A section at the top is followed by an empty line.
func (w *writer) section(name string, body func()) {
	w.line("<%s>", name)
	w.depth++
	body()
	w.depth--
	w.line("</%s>", name)
	if w.depth == 0 {
		w.WriteString("\n")
	}
}

func (w *writer) defaults(o *GenOptions) {
	w.section("Defaults", func() {
		for _, text := range []string{
			"UnexpectedRequests 50", "EventLogging none", "EnableTracing no", "LogStamp datetime",
			"BMIModules " + o.BMIModules, "FlowModules flowproto_multiqueue", "PerfUpdateInterval 1000",
			"ServerJobBMITimeoutSecs 30", "ServerJobFlowTimeoutSecs 30",
			"ClientJobBMITimeoutSecs 300", "ClientJobFlowTimeoutSecs 300",
			"ClientRetryLimit 5", "ClientRetryDelayMilliSecs 2000",
			"PrecreateBatchSize 0,1024,1024,1024,32,1024,0", "PrecreateLowThreshold 0,256,256,256,16,256,0",
		} {
			w.line("%s", text)
		}
		w.WriteString("\n")
		w.line("DataStorageSpace %s", o.DataDir)
		w.line("MetadataStorageSpace %s", o.MetaDir)
		w.WriteString("\n")
		w.text("LogFile", o.LogFile)
		w.line("TCPBindSpecific yes")
		w.WriteString("\n")
		w.section("Security", func() {
			if o.KeyStore == "" && o.CAFile == "" || o.NoTimeouts { // stock programs with security complain about the line
				w.line("TurnOffTimeouts %s", yesNo(o.NoTimeouts))
			}
			w.text("KeyStore", o.KeyStore)
			w.text("ServerKey", o.ServerKey)
			w.text("CAFile", o.CAFile)
			w.patterns("TrustedNetwork", o.TrustedNetworks)
			w.ldap(&o.LDAP)
		})
	})
}

func (w *writer) ldap(l *LDAP) {
	if len(l.Hosts) == 0 {
		return
	}
	w.section("LDAP", func() {
		w.line("Hosts %q", strings.Join(l.Hosts, " "))
		w.quoted("BindDN", l.BindDN)
		if l.BindPassword != "" {
			w.line("BindPassword %s%s", passwordFile, l.BindPassword)
		}
		w.quoted("SearchRoot", l.Root)
		if l.ByDN {
			w.line("SearchMode DN")
		}
		w.text("SearchAttr", l.Attr)
		w.text("SearchClass", l.Class)
	})
}

func (w *writer) quoted(name, value string) {
	if value != "" {
		w.line("%s \"%s\"", name, value)
	}
}

func (w *writer) patterns(name string, list []string) {
	if len(list) > 0 {
		w.line("%s %s", name, strings.Join(list, " "))
	}
}

func (w *writer) filesystem(o *GenOptions, meta, data []GenServer) {
	w.section("FileSystem", func() {
		w.line("Name %s", o.Name)
		w.line("ID %d", o.ID)
		w.line("RootHandle %d", o.Root)
		w.line("FileStuffing %s", yesNo(!o.NoStuffing))
		w.number("DefaultNumDFiles", o.DefaultDatafiles)
		w.number("FlowBufferSizeBytes", o.FlowBufferSize)
		w.number("FlowBuffersPerFlow", o.FlowBuffers)
		w.line("DistrDirServersInitial %d", o.DistrDir.Initial)
		w.line("DistrDirServersMax %d", o.DistrDir.Max)
		w.line("DistrDirSplitSize %d", o.DistrDir.Split)
		share := uint64(lastHandle-firstHandle+1) / uint64(len(meta)+len(data))
		next := w.ranges("MetaHandleRanges", meta, firstHandle, share)
		w.ranges("DataHandleRanges", data, next, share)
		w.section("StorageHints", func() {
			w.line("TroveSyncMeta %s", yesNo(!o.NoSyncMeta))
			w.line("TroveSyncData %s", yesNo(o.SyncData))
			w.line("TroveMethod alt-aio")
		})
		if len(o.RootSquash)+len(o.AllSquash)+len(o.ReadOnly) > 0 {
			w.section("ExportOptions", func() {
				w.patterns("RootSquash", o.RootSquash)
				w.patterns("RootSquashExceptions", o.RootSquashExceptions)
				w.patterns("AllSquash", o.AllSquash)
				w.patterns("ReadOnly", o.ReadOnly)
			})
		}
	})
}

// ranges gives each server share handles, starting at next. It returns the first handle after them.
func (w *writer) ranges(name string, servers []GenServer, next, share uint64) uint64 {
	w.section(name, func() {
		for _, s := range servers {
			w.line("Range %s %d-%d", s.Alias, next, next+share-1)
			next += share
		}
	})
	return next
}

func (w *writer) options(s GenServer) {
	w.section("ServerOptions", func() {
		w.line("Server %s", s.Alias)
		w.line("DataStorageSpace %s", s.DataDir)
		w.line("MetadataStorageSpace %s", s.MetaDir)
		w.text("LogFile", s.LogFile)
	})
}

func (w *writer) text(name, value string) {
	if value != "" {
		w.line("%s %s", name, value)
	}
}

func (w *writer) number(name string, n int) {
	if n != 0 {
		w.line("%s %d", name, n)
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
