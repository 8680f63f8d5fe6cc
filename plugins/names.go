package plugins

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/viaduct-hpc/viaduct/internal/plugins/host"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// Limits of a plugin's texts and lists.
const (
	methodsMax   = 64  // methods of one plugin
	addressesMax = 64  // of one endpoint
	detailsMax   = 64  // pairs
	textMax      = 256 // bytes of a text for log and error messages
)

// names are the two names of a method: the plugin's own, and the one that it is registered under
// here. Addresses have the former on the plugin's side and the latter on this side.
type names struct{ own, registered string }

// toPlugin translates an address, or a range of addresses, of this side into the plugin's.
func (n names) toPlugin(text string) string { return rename(text, n.registered, n.own) }

// fromPlugin is the reverse of toPlugin.
func (n names) fromPlugin(text string) string { return rename(text, n.own, n.registered) }

// rename changes the scheme of addresses, also in a list of alternatives.
func rename(text, from, to string) string {
	if from == to || !strings.Contains(text, "://") {
		return text
	}
	parts := strings.Split(text, ",")
	for i, part := range parts {
		if rest, ok := strings.CutPrefix(part, from+"://"); ok {
			parts[i] = to + "://" + rest
		}
	}
	return strings.Join(parts, ",")
}

// address checks and translates an address that the plugin sent.
func (n names) address(text string) (string, error) {
	if len(text) > host.AddressMax || !strings.HasPrefix(text, n.own+"://") {
		return "", fmt.Errorf("%w: the plugin says %.128q, which is no address of its method %s", errAnswer, text, n.own)
	}
	return n.fromPlugin(text), nil
}

// methodName matches valid method names: the scheme of a URI (RFC 3986, section 3.1), in lower case
// and of limited length. Most programs that can load plugins load none, and do not need it.
var methodName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9+.-]{0,63}$`) })

// offered checks the methods that a plugin offers, and gives them names.
func offered(o *Options, reply *proto.DescribeReply) ([]names, error) {
	refuse := func(format string, args ...any) ([]names, error) {
		return nil, fmt.Errorf("plugin %s "+format, append([]any{o.Name}, args...)...)
	}
	offers := reply.GetMethods()
	if len(offers) == 0 || len(offers) > methodsMax {
		return refuse("offers %d methods, want 1 to %d", len(offers), methodsMax)
	}
	var all []names
	for _, offer := range offers {
		n := names{own: offer.GetName(), registered: offer.GetName()}
		if !methodName().MatchString(n.own) {
			return refuse("offers a method %.64q: that is not a valid name", n.own)
		}
		if to, ok := o.Names[n.own]; ok {
			n.registered = to
		}
		if !methodName().MatchString(n.registered) {
			return refuse("cannot have its method %s registered as %.64q: that is not a valid name", n.own, n.registered)
		}
		if slices.ContainsFunc(all, func(other names) bool { return other.own == n.own || other.registered == n.registered }) {
			return refuse("offers two methods %s, give one another name (Options.Names)", n.registered)
		}
		all = append(all, n)
	}
	for own := range o.Names {
		if !slices.ContainsFunc(all, func(n names) bool { return n.own == own }) {
			return refuse("has no method %q to give another name, it offers %s", own, ownNames(all))
		}
	}
	return all, nil
}

func ownNames(all []names) string {
	var own []string
	for _, n := range all {
		own = append(own, n.own)
	}
	return strings.Join(own, ", ")
}

// printable makes a text of the plugin safe to show: it limits its length and removes control
// characters.
func printable(text string) string {
	if len(text) > textMax {
		text = text[:textMax]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\uFFFD' {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}
