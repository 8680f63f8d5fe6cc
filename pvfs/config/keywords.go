package config

import (
	"slices"
	"strings"
)

// Effect says which of our programs use a keyword.
type Effect int

// Effects, from none to all.
const (
	NoEffect  Effect = iota // stock programs only
	OnServers               // servers
	OnAll                   // servers and clients
)

// Keyword is a keyword of fs.conf, and how OrangeFS and we use it.
type Keyword struct {
	Name     string   // as OrangeFS spells it; case does not matter
	Sections []string // sections where it is allowed, as "<Defaults>"
	Many     bool     // several lines in one section add up
	Effect   Effect
	Security bool   // it concerns rights or authentication
	Why      string // why it has no effect, if the name does not show that
	// Usual are the values of a keyword without effect that nobody has chosen: those that Generate writes and OrangeFS's defaults.
	// "*": any.
	Usual []string
}

// isUsual reports whether a value is a usual one.
func (k Keyword) isUsual(value string) bool {
	return slices.ContainsFunc(k.Usual, func(u string) bool { return u == "*" || strings.EqualFold(u, value) })
}

// In reports whether the keyword is allowed in a section.
func (k Keyword) In(section string) bool {
	return slices.ContainsFunc(k.Sections, func(s string) bool { return strings.EqualFold(s, section) })
}

// Keywords returns the keywords of OrangeFS 2.9 and 2.10 (src/common/misc/server-config.c). It adds the two that pvfs2-genconfig
// writes although no server of these versions knows them. The slice is a copy.
func Keywords() []Keyword { return slices.Clone(keywords) }

// Groups of sections.
var (
	inDefaults   = []string{"<Defaults>"}
	inServers    = []string{"<Defaults>", "<ServerOptions>"}
	inKeys       = []string{"<Security>", "<Defaults>", "<ServerOptions>"}
	inSecurity   = []string{"<Security>"}
	inLDAP       = []string{"<LDAP>"}
	inFileSystem = []string{"<FileSystem>"}
	inRanges     = []string{"<MetaHandleRanges>", "<DataHandleRanges>"}
	inHints      = []string{"<StorageHints>"}
	inExport     = []string{"<ExportOptions>"}
	inDist       = []string{"<Distribution>"}
)

// Reasons shared by several keywords.
const (
	whyKeys = "servers sign with a key that all of them have, see pvfsd serve --key-file"
)

// keywords is sorted by section, and in a section by subject.
var keywords = []Keyword{
	{Name: "Alias", Sections: []string{"<Aliases>"}, Many: true, Effect: OnAll},
	{Name: "Server", Sections: []string{"<ServerOptions>"}, Effect: OnServers},

	{Name: "StorageSpace", Sections: inServers, Effect: OnServers},
	{Name: "MetadataStorageSpace", Sections: inServers, Effect: OnServers},
	{Name: "DataStorageSpace", Sections: inServers, Why: "all that a server keeps is in MetadataStorageSpace"},
	{Name: "ServerJobBMITimeoutSecs", Sections: inServers, Effect: OnServers},
	{Name: "ServerJobFlowTimeoutSecs", Sections: inServers, Effect: OnServers},
	{Name: "ClientJobBMITimeoutSecs", Sections: inDefaults, Effect: OnAll},
	{Name: "ClientJobFlowTimeoutSecs", Sections: inDefaults, Effect: OnAll},
	{Name: "ClientRetryLimit", Sections: inDefaults, Effect: OnAll},
	{Name: "ClientRetryDelayMilliSecs", Sections: inDefaults, Effect: OnAll},
	{Name: "LogFile", Sections: inServers, Why: "pvfsd serve --log-file says where the log goes"},
	{Name: "LogType", Sections: inServers},
	{Name: "LogStamp", Sections: inServers, Usual: []string{"datetime", "usec"}},
	{Name: "EventLogging", Sections: inServers, Usual: []string{"none"}},
	{Name: "EnableTracing", Sections: inServers, Usual: []string{"no"}},
	{Name: "PerfUpdateHistory", Sections: inDefaults},
	{Name: "PerfUpdateInterval", Sections: inDefaults, Usual: []string{"1000"}},
	{Name: "BMIModules", Sections: inDefaults, Usual: []string{"*"}}, // the addresses name their methods
	{Name: "BMIOpts", Sections: inDefaults},
	{Name: "FlowModules", Sections: inDefaults, Usual: []string{"flowproto_multiqueue"}},
	{Name: "TCPBindSpecific", Sections: inServers, Why: "servers always listen on their own addresses alone", Usual: []string{"yes"}},
	{Name: "TCPBufferSend", Sections: inDefaults},
	{Name: "TCPBufferReceive", Sections: inDefaults},
	{Name: "UnexpectedRequests", Sections: inServers, Usual: []string{"50"}},
	{Name: "TroveMaxConcurrentIO", Sections: inServers},
	{Name: "PrecreateBatchSize", Sections: inServers, Usual: []string{"0,1024,1024,1024,32,1024,0"}},
	{Name: "PrecreateLowThreshold", Sections: inServers, Usual: []string{"0,256,256,256,16,256,0"}},
	{Name: "DBMaxSize", Sections: []string{"<Defaults>", "<ServerOptions>", "<StorageHints>"}},

	{Name: "TrustedNetwork", Sections: inSecurity, Many: true, Effect: OnServers, Security: true},
	{Name: "TrustedPorts", Sections: inSecurity, Effect: OnServers, Security: true},
	{Name: "TurnOffTimeouts", Sections: inSecurity, Effect: OnServers, Security: true},
	{Name: "CredentialTimeoutSecs", Sections: inSecurity, Effect: OnServers, Security: true},
	{Name: "CapabilityTimeoutSecs", Sections: inSecurity, Effect: OnServers, Security: true},
	{Name: "CredentialCacheTimeoutSecs", Sections: inSecurity},
	{Name: "CapabilityCacheTimeoutSecs", Sections: inSecurity},
	{Name: "CertificateCacheTimeoutSecs", Sections: inSecurity, Effect: OnServers, Security: true},
	{Name: "SecurityTimeout", Sections: inSecurity, Why: "OrangeFS 2.9 replaced it by CredentialTimeoutSecs"},
	{Name: "KeyStore", Sections: inKeys, Effect: OnServers, Security: true},
	{Name: "ServerKey", Sections: inKeys, Effect: OnServers, Security: true},
	{Name: "CAFile", Sections: inKeys, Effect: OnAll, Security: true},
	{Name: "UserCertDN", Sections: inKeys, Effect: OnServers, Security: true},
	{Name: "UserCertExp", Sections: inKeys, Effect: OnServers, Security: true},

	{Name: "Hosts", Sections: inLDAP, Effect: OnServers, Security: true},
	{Name: "BindDN", Sections: inLDAP, Effect: OnServers, Security: true},
	{Name: "BindPassword", Sections: inLDAP, Effect: OnServers, Security: true},
	{Name: "SearchMode", Sections: inLDAP, Effect: OnServers, Security: true},
	{Name: "SearchRoot", Sections: inLDAP, Effect: OnServers, Security: true},
	{Name: "SearchClass", Sections: inLDAP, Effect: OnServers, Security: true},
	{Name: "SearchAttr", Sections: inLDAP, Effect: OnServers, Security: true},
	{Name: "SearchScope", Sections: inLDAP, Effect: OnServers, Security: true},
	{Name: "UIDAttr", Sections: inLDAP, Effect: OnServers, Security: true},
	{Name: "GIDAttr", Sections: inLDAP, Effect: OnServers, Security: true},
	{Name: "SearchTimeoutSecs", Sections: inLDAP, Effect: OnServers, Security: true},
	{Name: "SearchTimeout", Sections: inLDAP, Security: true, Why: "no server knows it: SearchTimeoutSecs is meant"},

	{Name: "Name", Sections: []string{"<FileSystem>", "<Distribution>"}, Effect: OnAll},
	{Name: "ID", Sections: inFileSystem, Effect: OnAll},
	{Name: "RootHandle", Sections: inFileSystem, Effect: OnAll},
	{Name: "FileStuffing", Sections: inFileSystem, Effect: OnServers},
	{Name: "DefaultNumDFiles", Sections: inFileSystem, Effect: OnAll},
	{Name: "FlowBufferSizeBytes", Sections: inFileSystem, Effect: OnAll},
	{Name: "FlowBuffersPerFlow", Sections: inFileSystem, Effect: OnAll},
	{Name: "DistrDirServersInitial", Sections: inFileSystem, Effect: OnServers},
	{Name: "DistrDirServersMax", Sections: inFileSystem, Effect: OnServers},
	{Name: "DistrDirSplitSize", Sections: inFileSystem, Effect: OnServers},
	{Name: "TreeWidth", Sections: inFileSystem, Effect: OnServers},
	{Name: "TreeThreshold", Sections: inFileSystem},
	{Name: "SmallFileSize", Sections: inFileSystem, Why: "a message holds what it can"},
	{Name: "SecretKey", Sections: inFileSystem, Security: true, Why: whyKeys},

	{Name: "Range", Sections: inRanges, Many: true, Effect: OnAll},

	{Name: "TroveSyncMeta", Sections: inHints, Effect: OnServers},
	{Name: "TroveSyncData", Sections: inHints, Effect: OnServers},
	{Name: "TroveMethod", Sections: []string{"<Defaults>", "<StorageHints>"}, Usual: []string{"alt-aio"}},
	{Name: "HandleRecycleTimeoutSecs", Sections: inHints},
	{Name: "AttrCacheKeywords", Sections: inHints},
	{Name: "AttrCacheSize", Sections: inHints},
	{Name: "AttrCacheMaxNumElems", Sections: inHints},
	{Name: "DBCacheSizeBytes", Sections: inHints},
	{Name: "DBCacheType", Sections: inHints},
	{Name: "ImmediateCompletion", Sections: inHints},
	{Name: "CoalescingHighWatermark", Sections: inHints},
	{Name: "CoalescingLowWatermark", Sections: inHints},
	{Name: "DirectIOThreadNum", Sections: inHints},
	{Name: "DirectIOOpsPerQueue", Sections: inHints},
	{Name: "DirectIOTimeout", Sections: inHints},

	{Name: "RootSquash", Sections: inExport, Many: true, Effect: OnServers, Security: true},
	{Name: "RootSquashExceptions", Sections: inExport, Many: true, Effect: OnServers, Security: true},
	{Name: "AllSquash", Sections: inExport, Many: true, Effect: OnServers, Security: true},
	{Name: "ReadOnly", Sections: inExport, Many: true, Effect: OnServers, Security: true},
	{Name: "AnonUID", Sections: inExport, Effect: OnServers, Security: true},
	{Name: "AnonGID", Sections: inExport, Effect: OnServers, Security: true},

	{Name: "Param", Sections: inDist, Many: true, Effect: OnAll},
	{Name: "Value", Sections: inDist, Many: true, Effect: OnAll},
}

// sections are the sections, and the sections in which each is allowed. "" is the top level, where OrangeFS had <Security> before
// version 2.9.
var sections = []struct {
	name string
	in   []string
}{
	{"<Defaults>", []string{""}},
	{"<Aliases>", []string{""}},
	{"<FileSystem>", []string{""}},
	{"<ServerOptions>", []string{""}},
	{"<Security>", []string{"<Defaults>", "<ServerOptions>", ""}},
	{"<LDAP>", []string{"<Security>"}},
	{"<StorageHints>", inFileSystem},
	{"<ExportOptions>", inFileSystem},
	{"<MetaHandleRanges>", inFileSystem},
	{"<DataHandleRanges>", inFileSystem},
	{"<Distribution>", inFileSystem},
}
