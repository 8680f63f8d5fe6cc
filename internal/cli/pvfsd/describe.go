package pvfsd

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// describe explains a configuration: for one server, or for all if server is negative.
func describe(out *strings.Builder, all *config.Config, server int) {
	c := all.ForServer(server)
	line := func(what, format string, args ...any) {
		fmt.Fprintf(out, "  %-12s %s\n", what, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(out, "File system %s, ID %d, root handle %d\n", c.Name, c.ID, c.Root)
	for i, s := range c.Servers {
		if server < 0 || server == i {
			line("server", "%s at %s, keeps %s%s", s.Alias, strings.Join(s.Addresses(), " and "), keeps(s), folder(c, i))
		}
	}
	line("new files", "%s", layout(c))
	line("directories", "begin on %s, grow to %d, at %d entries each", count(c.DistrDir.Initial, "server"), c.DistrDir.Max, c.DistrDir.Split)
	line("transfers", "messages of %d bytes, %d at once", c.FlowBufferSize, c.FlowBuffers)
	line("time-outs", "servers wait %v for a message and %v for data; clients %v and %v, with %d more tries %v apart",
		c.ServerTimeout, c.ServerFlowTimeout, c.ClientTimeout, c.ClientFlowTimeout, c.RetryLimit, c.RetryDelay)
	line("sync", "metadata %s, data %s", synced(c.SyncMeta), synced(c.SyncData))
	for _, text := range append(access(&c.Security), exports(&c.Export)...) {
		line("clients", "%s", text)
	}
	for i, s := range all.Servers {
		if server < 0 && all.ForServer(i) != all {
			line("exception", "server %s has settings of its own; --alias %s prints them", s.Alias, s.Alias)
		}
	}
}

// keeps says which objects a server stores.
func keeps(s config.Server) string {
	switch {
	case len(s.Meta) > 0 && len(s.Data) > 0:
		return "metadata and data"
	case len(s.Meta) > 0:
		return "metadata"
	case len(s.Data) > 0:
		return "data"
	}
	return "nothing"
}

// folder says where a server stores them.
func folder(c *config.Config, server int) string {
	if dir := c.MetaDir(server); dir != "" {
		return " in " + dir
	}
	return ""
}

// layout says how the data of new files is distributed.
func layout(c *config.Config) string {
	all := len(c.DataServers())
	text := fmt.Sprintf("data on %d of %s", min(cmp.Or(c.DefaultDatafiles, all), all), count(all, "server"))
	switch d := c.Dist; d.Name {
	case proto.DistVar:
		text += fmt.Sprintf(", distribution %s with strips %s", d.Name, d.Strips)
	case proto.DistTwoD:
		text += fmt.Sprintf(", distribution %s with %d-byte strips, %d groups and factor %d", d.Name, d.StripSize, d.Groups, d.Factor)
	case proto.DistStripe:
		text += fmt.Sprintf(", distribution %s with %d-byte strips", d.Name, d.StripSize)
	default:
		text += ", distribution " + d.Name
	}
	if c.FileStuffing {
		text += "; small ones on one server"
	}
	return text
}

// synced says when changes are on the disk.
func synced(sync bool) string {
	if sync {
		return "is on the disk before a change is acknowledged"
	}
	return "may get lost when a machine fails"
}

// access says which clients may connect, how they authenticate, and for how long.
func access(s *config.Security) (text []string) {
	from := "may connect from anywhere"
	if len(s.TrustedNetworks) > 0 {
		from = "may connect only from " + s.TrustedNetworks.String()
	}
	if s.TrustedPortLast > 0 {
		from += fmt.Sprintf(", but only from ports %d-%d", s.TrustedPortFirst, s.TrustedPortLast)
	}
	authenticate := "are believed about their user"
	if s.KeyStore != "" {
		authenticate = "must sign their credentials with a key in " + s.KeyStore
	}
	switch from := users(s); {
	case s.CAFile != "" && s.KeyStore != "":
		authenticate += ", or with a certificate that " + s.CAFile + " has signed, of a user from " + from
	case s.CAFile != "":
		authenticate = "must sign their credentials with a certificate that " + s.CAFile + " has signed, of a user from " + from
	}
	expire := "credentials and capabilities do not expire"
	if !s.TurnOffTimeouts {
		expire = fmt.Sprintf("credentials expire after %v, capabilities after %v", s.CredentialTimeout, s.CapabilityTimeout)
	}
	if s.ServerKey != "" && s.CAFile == "" {
		text = append(text, "ServerKey has no effect without CAFile: servers sign with the key of pvfsd serve --key-file")
	}
	return append(text, from, authenticate, expire)
}

// users says where the users of certificates are found.
func users(s *config.Security) string {
	if len(s.LDAP.Hosts) == 0 {
		return "pvfsd serve --identities"
	}
	return strings.Join(s.LDAP.Hosts, " or ")
}

// exports says what clients may do.
func exports(e *config.Export) (text []string) {
	if len(e.ReadOnly) > 0 {
		text = append(text, fmt.Sprintf("may only read from %v", e.ReadOnly))
	} else {
		text = append(text, "may write from anywhere")
	}
	if len(e.AllSquash) > 0 {
		text = append(text, fmt.Sprintf("every user from %v becomes user %d, group %d", e.AllSquash, e.AnonUID, e.AnonGID))
	}
	switch {
	case len(e.RootSquash) == 0:
		text = append(text, "root is root from anywhere")
	case len(e.RootSquashExceptions) == 0:
		text = append(text, fmt.Sprintf("root from %v becomes user %d, group %d", e.RootSquash, e.AnonUID, e.AnonGID))
	default:
		text = append(text, fmt.Sprintf("root from %v becomes user %d, group %d, but not from %v", e.RootSquash, e.AnonUID, e.AnonGID, e.RootSquashExceptions))
	}
	return text
}
