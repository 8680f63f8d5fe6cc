package server

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
)

// rules are the configuration's rules for clients. Reload replaces them as a whole.
type rules struct {
	text       string // of the configuration
	export     *config.Export
	security   *config.Security
	keys       *credential.Keystore   // nil: credentials need no signature
	identities *credential.Identities // nil: a client may act for all users
	certs      *certUsers             // nil: clients show no certificates
}

// Reload replaces the rules for clients by those of a new configuration: <ExportOptions>, TrustedNetwork, TrustedPorts, KeyStore,
// CAFile, the settings for users' certificates, the files that these name, and identities. Requests under way keep the old rules.
// ErrConfig: the configuration differs in something else, which takes a restart, or the server cannot enforce the rules. Nothing
// has changed then.
func (s *Server) Reload(fs *config.Config, ids *credential.Identities) error {
	i := fs.Index(s.cfg.Alias)
	if i < 0 {
		return fmt.Errorf("%w: it has no alias %q any more", ErrConfig, s.cfg.Alias)
	}
	own := fs.ForServer(i)
	if what := changed(s.fs, own); len(what) > 0 {
		return fmt.Errorf("%w: it differs from the one at the start in %s, which takes a restart", ErrConfig, strings.Join(what, ", "))
	}
	if err := s.checkProtection(own, ids); err != nil {
		return err
	}
	keys, err := s.loadKeystore(own)
	if err != nil {
		return err
	}
	certs, err := s.loadCertificates(own, ids)
	if err != nil {
		return err
	}
	before := s.rules.Swap(&rules{own.Text, &own.Export, &own.Security, keys, ids, certs})
	before.certs.close()
	return nil
}

// changed are the names of the settings in which two configurations differ, apart from the rules for clients.
func changed(was, is *config.Config) (names []string) {
	a, b := reflect.ValueOf(withoutRules(was)), reflect.ValueOf(withoutRules(is))
	for i := range a.NumField() {
		f := a.Type().Field(i)
		if f.IsExported() && !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			names = append(names, f.Name)
		}
	}
	return names
}

// withoutRules is a configuration without the settings that Reload replaces.
func withoutRules(c *config.Config) config.Config {
	is := *c
	is.Text, is.Export = "", config.Export{}
	sec := &is.Security
	sec.TrustedNetworks, sec.TrustedPortFirst, sec.TrustedPortLast, sec.KeyStore = nil, 0, 0, ""
	sec.CAFile, sec.ServerKey, sec.UserCertDN, sec.UserCertDays, sec.CertificateTimeout, sec.LDAP = "", "", "", 0, 0, config.LDAP{}
	return is
}
