package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/rights"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// rules are the configuration's rules for clients. Reload replaces them as a whole.
type rules struct {
	text       string // of the configuration
	export     *config.Export
	security   *config.Security
	keys       *credential.Keystore   // nil: credentials need no signature
	identities *credential.Identities // nil: a client may act for all users
	certs      *certUsers             // nil: clients show no certificates
	void       voided
}

// voided says which capabilities were issued by rules that do not apply any more: up to a moment of this server, ns.
type voided struct {
	everybody int64
	users     map[uint32]int64
}

// has reports whether a capability is one of them.
func (v *voided) has(c rights.Issue) bool {
	user, some := v.users[c.User]
	return v.everybody > 0 && c.At <= v.everybody || some && c.At <= user
}

// next is what is void after a change of the rules that decide for whom clients may act.
func (v *voided) next(was, is *rules, now int64) voided {
	users, everybody := credential.ChangedFor(was.identities, is.identities)
	if everybody || was.who() != is.who() {
		return voided{everybody: now}
	}
	void := voided{v.everybody, maps.Clone(v.users)}
	if void.users == nil {
		void.users = make(map[uint32]int64)
	}
	for _, user := range users {
		void.users[user] = now
	}
	return void
}

// who is a text about the rules that decide which user a credential stands for, apart from identities. Rules with the same text
// decide the same.
func (r *rules) who() string {
	e := r.export
	text := fmt.Sprintf("%v %v %v %d %d keys %s", e.RootSquash, e.RootSquashExceptions, e.AllSquash, e.AnonUID, e.AnonGID, r.keys.Fingerprint())
	if r.certs != nil {
		text += " authority " + r.certs.authority.Fingerprint()
	}
	return text
}

// rulesRecord has, in the store, the last rules and the moment up to which capabilities may have been issued by others.
const rulesRecord = "rules"

// keepRules stores the rules. If the run before had other ones, the capabilities from then are void. A store that is read only
// keeps nothing: in it, nobody can change anything.
func (s *Server) keepRules(r *rules) error {
	if !s.signs() {
		return nil
	}
	is := sha256.Sum256([]byte(r.who() + " identities " + r.identities.Fingerprint()))
	var was []byte
	if err := s.store.View(func(tx *store.Tx) (err error) {
		was, err = tx.Record(rulesRecord)
		return err
	}); err != nil {
		return err
	}
	now := s.moment()
	if digest, moment := bytes.CutPrefix(was, is[:]); moment && len(digest) == 8 {
		r.void.everybody = max(r.void.everybody, int64(binary.LittleEndian.Uint64(digest)))
		return nil
	}
	if was != nil && r.void.users == nil {
		r.void.everybody = now
	}
	err := s.store.Update(func(tx *store.Tx) error {
		return tx.SetRecord(rulesRecord, binary.LittleEndian.AppendUint64(is[:], uint64(now)))
	})
	if proto.StatusOf(err) == proto.EROFS {
		err = nil
	}
	return err
}

// Reload replaces the rules for clients by those of a new configuration: <ExportOptions>, TrustedNetwork, TrustedPorts, KeyStore,
// CAFile, the settings for users' certificates, the files that these name, and identities. Capabilities of users to whom other
// rules applied before are void from now on. Requests under way keep the old rules. ErrConfig: the configuration differs in
// something else, which takes a restart, or the server cannot enforce the rules. Nothing has changed then.
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
	was := s.rules.Load()
	is := &rules{text: own.Text, export: &own.Export, security: &own.Security, keys: keys, identities: ids, certs: certs}
	is.void = was.void.next(was, is, s.moment())
	if err := s.keepRules(is); err != nil {
		certs.close()
		return err
	}
	s.rules.Swap(is).certs.close()
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
