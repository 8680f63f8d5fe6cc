package server

import (
	"errors"
	"fmt"
	"strings"

	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
)

// ErrConfig is for a configuration that asks for protection which this server cannot give.
var ErrConfig = errors.New("server: the configuration cannot be enforced")

// checkProtection refuses to start with rules for clients that any client could evade.
func (s *Server) checkProtection(fs *config.Config, ids *credential.Identities) error {
	sec, e := &fs.Security, &fs.Export
	switch {
	case sec.ServerKey != "" && sec.KeyStore == "" && sec.CAFile == "":
		return fmt.Errorf("%w: it has a ServerKey, but neither KeyStore nor CAFile, so clients cannot authenticate: add KeyStore, the path "+
			"of a file with the public keys of clients, or CAFile, that of the certificate of the authority of users, or take ServerKey out", ErrConfig)
	}
	if s.signs() {
		if sec.TurnOffTimeouts {
			s.log.Warn("the configuration has TurnOffTimeouts: capabilities never expire, not even stolen ones")
		}
		return nil
	}
	var rules []string
	for _, rule := range []struct {
		name string
		set  bool
	}{
		{"ReadOnly", len(e.ReadOnly) > 0},
		{"RootSquash", len(e.RootSquash) > 0},
		{"AllSquash", len(e.AllSquash) > 0},
		{"TrustedPorts", sec.TrustedPortLast > 0},
		{"KeyStore", sec.KeyStore != "" || s.cfg.Keystore != nil},
		{"CAFile", sec.CAFile != ""},
		{"identities of clients", ids != nil},
		{"other users of the machine", s.cfg.OtherUsers},
	} {
		if rule.set {
			rules = append(rules, rule.name)
		}
	}
	if len(rules) == 0 {
		return nil
	}
	return fmt.Errorf("%w: it has rules for clients (%s), but several servers and no key. Without a key any client can claim to "+
		"be a server, and servers are not bound by these rules: give all servers the same key, or take the rules out",
		ErrConfig, strings.Join(rules, ", "))
}
