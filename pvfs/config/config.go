package config

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Config describes one file system and its servers.
type Config struct {
	Text string // as it was read

	Name    string
	ID      proto.FSID
	Root    proto.Handle
	Servers []Server // in the order of their aliases in the text

	FlowBufferSize   int // bytes of each message of a flow except the last; the same on both sides
	FlowBuffers      int // messages of a flow posted at once
	FileStuffing     bool
	DefaultDatafiles int        // of a new file; 0: the number of I/O servers
	Dist             proto.Dist // of new files
	DistrDir         DistrDir
	TreeWidth        int // requests into which a request for objects of many servers is divided

	ServerTimeout     time.Duration // of a message between servers, or of an answer
	ServerFlowTimeout time.Duration // of a flow without progress
	ClientTimeout     time.Duration
	ClientFlowTimeout time.Duration
	RetryLimit        int // tries after the first
	RetryDelay        time.Duration

	SyncMeta, SyncData bool // sync before an answer
	Security           Security
	Export             Export

	defaults map[string]string // of <Defaults> and its sections, by lower-case name
	options  [][]setting       // of <ServerOptions>, by server
	hints    map[string]string // of <StorageHints>
	owners   []ownedRange      // sorted
	ignored  []Ignored
}

// Server is one server.
type Server struct {
	Alias   string
	Address string // one bmi address, or several separated by commas
	Meta    []proto.Extent
	Data    []proto.Extent
}

// Addresses are the addresses of a server, the preferred one first.
func (s Server) Addresses() []string { return splitList(s.Address) }

// DistrDir says how new directories are spread over servers.
type DistrDir struct {
	Initial int // servers of a new directory
	Max     int // servers it may grow to
	Split   int // entries in one dirdata object at which it grows
}

// Security says which clients may connect, and how long credentials last.
type Security struct {
	TrustedNetworks   Networks // empty: every network
	TrustedPortFirst  int      // of a client; both 0: any
	TrustedPortLast   int
	TurnOffTimeouts   bool // credentials and capabilities do not expire
	CredentialTimeout time.Duration
	CapabilityTimeout time.Duration
	// KeyStore is the path of a file with the public keys of clients. If it is set, clients must sign their credentials. Servers
	// may have different paths.
	KeyStore string
	// CAFile is the path of the certificate of the authority that signs certificates of users. If it is set, clients send these
	// with their credentials.
	CAFile string
	// ServerKey is the path of the authority's private key, with which servers issue certificates. Without CAFile it is a key of
	// stock servers.
	ServerKey    string
	UserCertDN   string // first part of the subjects of issued certificates
	UserCertDays int    // longest validity
	// CertificateTimeout is how long servers cache the user of a certificate.
	CertificateTimeout time.Duration
	LDAP               LDAP
	SecretKey          string // of the file system
}

// Export limits what clients may do, by their address.
type Export struct {
	RootSquash           Networks // uid 0 becomes AnonUID
	RootSquashExceptions Networks
	AllSquash            Networks // every uid becomes AnonUID
	ReadOnly             Networks
	AnonUID, AnonGID     uint32
}

// ownedRange is a range of handles and its server.
type ownedRange struct {
	proto.Extent
	server int
	data   bool
}

// Owner is the index in Servers of the server that owns a handle.
func (c *Config) Owner(h proto.Handle) (server int, ok bool) {
	if r := c.find(h); r != nil {
		return r.server, true
	}
	return 0, false
}

// IsData reports whether a handle is in a range for datafiles.
func (c *Config) IsData(h proto.Handle) bool {
	r := c.find(h)
	return r != nil && r.data
}

func (c *Config) find(h proto.Handle) *ownedRange {
	i, _ := slices.BinarySearchFunc(c.owners, h, func(r ownedRange, h proto.Handle) int {
		return cmp.Compare(r.Last, h)
	})
	if i < len(c.owners) && c.owners[i].First <= h {
		return &c.owners[i]
	}
	return nil
}

// Index is the index in Servers of an alias, or -1.
func (c *Config) Index(alias string) int {
	return slices.IndexFunc(c.Servers, func(s Server) bool { return s.Alias == alias })
}

// MetaServers are the indices of the servers that store metadata.
func (c *Config) MetaServers() []int {
	return c.having(func(s Server) bool { return len(s.Meta) > 0 })
}

// DataServers are the indices of the servers that store datafiles.
func (c *Config) DataServers() []int {
	return c.having(func(s Server) bool { return len(s.Data) > 0 })
}

func (c *Config) having(has func(Server) bool) (found []int) {
	for i, s := range c.Servers {
		if has(s) {
			found = append(found, i)
		}
	}
	return found
}

// Option is the value of a keyword for a server: from its <ServerOptions>, or else from <Defaults>. Case does not matter. It is
// empty if there is none.
func (c *Config) Option(server int, name string) string {
	name = strings.ToLower(name)
	if server >= 0 && server < len(c.options) {
		for _, s := range slices.Backward(c.options[server]) {
			if s.name == name {
				return s.value()
			}
		}
	}
	return c.defaults[name]
}

// ForServer is the configuration for one server: settings in its <ServerOptions> replace the common ones. Its own trusted
// networks replace the common networks. If the server has no such settings, the result is c itself.
func (c *Config) ForServer(server int) *Config {
	if server < 0 || server >= len(c.options) || !slices.ContainsFunc(c.options[server], changes) {
		return c
	}
	own := *c
	a := &applier{c: &own, server: server}
	for _, s := range c.options[server] {
		_ = a.set(s) // cannot fail: it was tried when the text was parsed
	}
	return &own
}

// changes reports whether a setting of <ServerOptions> changes a field of Config. Directories do not: see MetaDir.
func changes(s setting) bool {
	return s.word.Effect != NoEffect && !strings.HasSuffix(s.name, "storagespace")
}

// Ignored is a line with a keyword of OrangeFS that has no effect here.
type Ignored struct {
	Line    int
	Section string // the innermost section
	Keyword Keyword
	Value   string
	Server  int // index in Servers for a line of <ServerOptions>; otherwise -1
}

// Ignored returns the lines of the text without effect, in their order, except those of other file systems, those with a usual value
// (Keyword.Usual), and those with a DataStorageSpace that is the MetadataStorageSpace.
func (c *Config) Ignored() []Ignored {
	all := slices.DeleteFunc(slices.Clone(c.ignored), func(i Ignored) bool {
		return i.Keyword.isUsual(i.Value) || i.Keyword.Name == "DataStorageSpace" && i.Value == c.MetaDir(i.Server)
	})
	slices.SortFunc(all, func(a, b Ignored) int { return cmp.Compare(a.Line, b.Line) })
	return all
}

// StorageHint is the value of a directive of <StorageHints>, or empty.
func (c *Config) StorageHint(name string) string { return c.hints[strings.ToLower(name)] }

// DataDir is the directory for the bytes of a server's datafiles.
func (c *Config) DataDir(server int) string {
	return cmp.Or(c.Option(server, "DataStorageSpace"), c.Option(server, "StorageSpace"))
}

// MetaDir is the directory for everything else that a server stores.
func (c *Config) MetaDir(server int) string {
	return cmp.Or(c.Option(server, "MetadataStorageSpace"), c.Option(server, "StorageSpace"))
}

// LogFile is a server's log file, or empty.
func (c *Config) LogFile(server int) string { return c.Option(server, "LogFile") }

// base is the configuration of an empty text.
func base() *Config {
	return &Config{
		FlowBufferSize: 262144, FlowBuffers: 8, FileStuffing: true,
		DistrDir: DistrDir{Initial: 1, Max: 1, Split: 100}, TreeWidth: 2,
		ServerTimeout: 30 * time.Second, ServerFlowTimeout: 30 * time.Second,
		ClientTimeout: 300 * time.Second, ClientFlowTimeout: 300 * time.Second,
		RetryLimit: 5, RetryDelay: 2 * time.Second,
		SyncMeta: true, SyncData: true,
		Security: Security{
			CredentialTimeout: time.Hour, CapabilityTimeout: 10 * time.Minute,
			UserCertDN: userCertDN, UserCertDays: userCertDays, CertificateTimeout: time.Hour, LDAP: baseLDAP(),
		},
		Export:   Export{AnonUID: 65534, AnonGID: 65534},
		defaults: map[string]string{}, hints: map[string]string{},
	}
}
