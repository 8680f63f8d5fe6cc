package config

import (
	"math"
	"strings"
	"time"
)

// Defaults of OrangeFS for certificates of users.
const (
	userCertDN   = "C=US, O=OrangeFS"
	userCertDays = 365
)

// LDAP is the directory in which servers find the users of certificates (<LDAP>). Without Hosts there is none.
type LDAP struct {
	Hosts  []string // URLs, the preferred one first
	BindDN string   // user for the searches; "": anonymous
	// BindPassword is the path of the file with its password. OrangeFS also accepts the password itself, which every client can
	// read then.
	BindPassword string
	ByDN         bool   // the subject of the certificate is the name of the entry; nothing is searched
	Root         string // base of the searches
	OneLevel     bool   // search one level only
	Class        string // object class of users
	Attr         string // attribute with the common name
	UIDAttr      string // attribute with the user ID
	GIDAttr      string // attribute with the group ID
	Timeout      time.Duration
}

func baseLDAP() LDAP {
	return LDAP{Class: "inetOrgPerson", Attr: "CN", UIDAttr: "uidNumber", GIDAttr: "gidNumber", Timeout: 15 * time.Second}
}

// passwordFile comes before the path of a file in place of a password.
const passwordFile = "file:"

// certificates applies a setting about users' certificates.
func (s *Security) certificates(d directive) (err error) {
	switch d.name {
	case "serverkey":
		s.ServerKey = d.value()
	case "cafile":
		s.CAFile = d.value()
	case "usercertdn":
		s.UserCertDN = d.value()
	case "usercertexp":
		s.UserCertDays, err = d.int(1, 100*userCertDays)
	case "certificatecachetimeoutsecs":
		s.CertificateTimeout, err = d.duration(time.Second)
	}
	return err
}

// ldap applies a setting of <LDAP>.
func (l *LDAP) ldap(d directive) (err error) {
	switch d.name {
	case "hosts":
		l.Hosts = strings.Fields(d.value())
		for _, host := range l.Hosts {
			if scheme, _, ok := strings.Cut(host, "://"); !ok || scheme != "ldap" && scheme != "ldaps" && scheme != "ldapi" {
				return d.errorf("%q is no server: want ldaps://HOST, ldap://HOST or ldapi:///PATH", host)
			}
		}
	case "binddn":
		l.BindDN = d.value()
	case "bindpassword":
		path, ok := strings.CutPrefix(d.value(), passwordFile)
		if !ok || path == "" {
			return d.errorf("every client can read this text, and the password with it: put it into a file that only the servers can read, and write file:PATH here")
		}
		l.BindPassword = path
	case "searchmode":
		l.ByDN, err = d.oneOf("cn", "dn")
	case "searchscope":
		l.OneLevel, err = d.oneOf("subtree", "onelevel")
	case "searchroot":
		l.Root = d.value()
	case "searchclass":
		l.Class = d.value()
	case "searchattr":
		l.Attr = d.value()
	case "uidattr":
		l.UIDAttr = d.value()
	case "gidattr":
		l.GIDAttr = d.value()
	case "searchtimeoutsecs":
		n := 0
		n, err = d.int(1, math.MaxInt32)
		l.Timeout = time.Duration(n) * time.Second
	}
	return err
}

// oneOf reports whether a value is the second of two words. Any other value than these two is an error. Case does not matter.
func (d directive) oneOf(first, second string) (bool, error) {
	switch strings.ToLower(d.value()) {
	case first:
		return false, nil
	case second:
		return true, nil
	}
	return false, d.errorf("%q is neither %s nor %s", d.value(), first, second)
}
