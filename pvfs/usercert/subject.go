package usercert

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Subject is the subject of a user's certificate.
type Subject struct {
	CommonName string // of the user
	DN         string // all of it in the form of LDAP, the last part first (RFC 4514)
}

// CommonNameMax is the longest common name, in characters (ub-common-name of RFC 5280).
const CommonNameMax = 64

// attributes are the parts of names with a short name.
var attributes = []struct {
	name string
	id   asn1.ObjectIdentifier
}{
	{"CN", asn1.ObjectIdentifier{2, 5, 4, 3}},
	{"SN", asn1.ObjectIdentifier{2, 5, 4, 4}},
	{"C", asn1.ObjectIdentifier{2, 5, 4, 6}},
	{"L", asn1.ObjectIdentifier{2, 5, 4, 7}},
	{"ST", asn1.ObjectIdentifier{2, 5, 4, 8}},
	{"STREET", asn1.ObjectIdentifier{2, 5, 4, 9}},
	{"O", asn1.ObjectIdentifier{2, 5, 4, 10}},
	{"OU", asn1.ObjectIdentifier{2, 5, 4, 11}},
	{"GN", asn1.ObjectIdentifier{2, 5, 4, 42}},
	{"UID", asn1.ObjectIdentifier{0, 9, 2342, 19200300, 100, 1, 1}},
	{"DC", asn1.ObjectIdentifier{0, 9, 2342, 19200300, 100, 1, 25}},
	{"emailAddress", asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 1}},
}

var commonName = attributes[0].id

// nameOf is the short name of a part, or its object identifier.
func nameOf(id asn1.ObjectIdentifier) (name string, known bool) {
	for _, a := range attributes {
		if a.id.Equal(id) {
			return a.name, true
		}
	}
	return id.String(), false
}

// parseSubject parses a name in DER. It must have exactly one common name, because programs disagree about which of several
// counts.
func parseSubject(der []byte) (s Subject, err error) {
	var parts pkix.RDNSequence
	if rest, err := asn1.Unmarshal(der, &parts); err != nil || len(rest) > 0 {
		return s, errors.New("its subject cannot be read")
	}
	names := 0
	var text []string
	for _, set := range slices.Backward(parts) {
		var some []string
		for _, part := range set {
			value, ok := part.Value.(string)
			if part.Type.Equal(commonName) {
				s.CommonName = value
				names++
			}
			name, known := nameOf(part.Type)
			if !ok || !known {
				raw, err := asn1.Marshal(part.Value)
				if err != nil {
					return s, errors.New("its subject has a value that cannot be written")
				}
				some = append(some, name+"=#"+hex.EncodeToString(raw))
				continue
			}
			some = append(some, name+"="+escape(value))
		}
		text = append(text, strings.Join(some, "+"))
	}
	if names != 1 {
		return s, fmt.Errorf("its subject has %d common names, want 1", names)
	}
	s.DN = strings.Join(text, ",")
	return s, CheckName(s.CommonName)
}

// CheckName checks that a name may be a common name: text without control characters and slashes, because stock servers search a
// subject for "/CN=".
func CheckName(name string) error {
	switch {
	case name == "":
		return errors.New("the user has no name")
	case utf8.RuneCountInString(name) > CommonNameMax:
		return fmt.Errorf("the name of the user is longer than %d characters", CommonNameMax)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == '/' }):
		return fmt.Errorf("the name of the user has a slash or a control character in it: %q", name)
	}
	return nil
}

// escape escapes a value according to RFC 4514.
func escape(value string) string {
	var b strings.Builder
	for i, r := range value {
		switch {
		case strings.ContainsRune(`"+,;<>\=`, r), i == 0 && (r == ' ' || r == '#'), i == len(value)-1 && r == ' ':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ':
			fmt.Fprintf(&b, `\%02x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// ParseDN parses the beginning of subjects, in the format of UserCertDN in fs.conf: "C=US, O=OrangeFS", the first part first.
func ParseDN(text string) (pkix.RDNSequence, error) {
	var all pkix.RDNSequence
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		i := slices.IndexFunc(attributes, func(a struct {
			name string
			id   asn1.ObjectIdentifier
		}) bool {
			return strings.EqualFold(a.name, name)
		})
		switch {
		case !ok || value == "":
			return nil, fmt.Errorf("%q is no part of a name: want it as O=Example", part)
		case i < 0:
			return nil, fmt.Errorf("%q: no part of a name is called %s", part, name)
		case attributes[i].id.Equal(commonName):
			return nil, fmt.Errorf("%q: the common name is that of the user", part)
		case !utf8.ValidString(value) || strings.ContainsFunc(value, func(r rune) bool { return unicode.IsControl(r) || r == '/' }):
			return nil, fmt.Errorf("%q has a slash or a control character in it", part)
		}
		all = append(all, pkix.RelativeDistinguishedNameSET{{Type: attributes[i].id, Value: value}})
	}
	return all, nil
}
