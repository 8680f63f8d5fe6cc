package config

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/stripe"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// applier applies settings to a configuration, one after another.
type applier struct {
	c      *Config
	server int    // server of the <ServerOptions>; -1 for settings for all
	param  string // of a distribution: the parameter for the next Value
	nets   bool   // the server has its own trusted networks
}

// set applies one setting.
func (a *applier) set(s setting) error {
	c := a.c
	switch s.section {
	case "<Defaults>", "<ServerOptions>":
		a.keep(s)
		if s.word.In("<Security>") {
			return a.security(s.directive)
		}
		return c.number(s.directive)
	case "<Security>":
		a.keep(s)
		return a.security(s.directive)
	case "<LDAP>":
		a.keep(s)
		return c.Security.LDAP.ldap(s.directive)
	case "<Aliases>":
		return c.alias(s.directive)
	case "<FileSystem>":
		return c.filesystem(s.directive)
	case "<MetaHandleRanges>", "<DataHandleRanges>":
		return c.ranges(s)
	case "<StorageHints>":
		c.hints[s.name] = s.value()
		return c.hint(s.directive)
	case "<ExportOptions>":
		return c.export(s.directive)
	case "<Distribution>":
		return a.distribution(s.directive)
	}
	return nil
}

// keep stores the text of a value for Config.Option. Config.options has a server's own settings.
func (a *applier) keep(s setting) {
	if a.server < 0 {
		a.c.defaults[s.name] = s.value()
	}
}

// number applies a setting of <Defaults> or <ServerOptions>.
func (c *Config) number(d directive) (err error) {
	switch d.name {
	case "serverjobbmitimeoutsecs":
		c.ServerTimeout, err = d.duration(time.Second)
	case "serverjobflowtimeoutsecs":
		c.ServerFlowTimeout, err = d.duration(time.Second)
	case "clientjobbmitimeoutsecs":
		c.ClientTimeout, err = d.duration(time.Second)
	case "clientjobflowtimeoutsecs":
		c.ClientFlowTimeout, err = d.duration(time.Second)
	case "clientretrydelaymillisecs":
		c.RetryDelay, err = d.duration(time.Millisecond)
	case "clientretrylimit":
		c.RetryLimit, err = d.int(0, 1000)
	}
	return err
}

func (a *applier) security(d directive) (err error) {
	s := &a.c.Security
	switch d.name {
	case "turnofftimeouts":
		if a.server >= 0 {
			return d.errorf("it is for all servers alike: it belongs in <Security> in <Defaults>")
		}
		s.TurnOffTimeouts, err = d.bool()
	case "credentialtimeoutsecs":
		s.CredentialTimeout, err = d.duration(time.Second)
	case "capabilitytimeoutsecs":
		s.CapabilityTimeout, err = d.duration(time.Second)
	case "keystore":
		s.KeyStore = d.value()
	case "serverkey", "cafile", "usercertdn", "usercertexp", "certificatecachetimeoutsecs":
		return s.certificates(d)
	case "trustednetwork":
		if a.server >= 0 && !a.nets {
			s.TrustedNetworks, a.nets = nil, true
		}
		s.TrustedNetworks, err = d.networks(s.TrustedNetworks)
	case "trustedports":
		first, last, ok := strings.Cut(d.value(), "-")
		low, errLow := strconv.ParseUint(strings.TrimSpace(first), 10, 16)
		high, errHigh := strconv.ParseUint(strings.TrimSpace(last), 10, 16)
		if !ok || errLow != nil || errHigh != nil || low > high || high == 0 {
			return d.errorf("%q is no range of ports", d.value())
		}
		s.TrustedPortFirst, s.TrustedPortLast = int(low), int(high)
	}
	return err
}

func (c *Config) alias(d directive) error {
	if len(d.args) < 2 {
		return d.errorf("want a name and an address")
	}
	s := Server{Alias: d.args[0], Address: strings.Join(splitList(strings.Join(d.args[1:], ",")), ",")}
	switch {
	case c.Index(s.Alias) >= 0:
		return d.errorf("%s is there already", s.Alias)
	case s.Address == "":
		return d.errorf("%s has no address", s.Alias)
	case len(c.Servers) == ServersMax:
		return d.errorf("more than %d servers", ServersMax)
	}
	c.Servers = append(c.Servers, s)
	return nil
}

func (c *Config) filesystem(d directive) (err error) {
	n := 0
	switch d.name {
	case "name":
		c.Name = d.value()
	case "id":
		n, err = d.int(1, math.MaxInt32)
		c.ID = proto.FSID(n)
	case "roothandle":
		c.Root, err = d.handle(d.value())
	case "filestuffing":
		c.FileStuffing, err = d.bool()
	case "defaultnumdfiles":
		c.DefaultDatafiles, err = d.int(0, proto.MaxDatafiles)
	case "flowbuffersizebytes":
		c.FlowBufferSize, err = d.int(1, 1<<30)
	case "flowbuffersperflow":
		c.FlowBuffers, err = d.int(1, 1<<16)
	case "distrdirserversinitial":
		n, err = d.int(0, ServersMax)
		c.DistrDir.Initial = max(n, 1)
	case "distrdirserversmax":
		n, err = d.int(0, ServersMax)
		c.DistrDir.Max = max(n, 1)
	case "distrdirsplitsize":
		n, err = d.int(0, math.MaxInt32)
		c.DistrDir.Split = cmp.Or(n, c.DistrDir.Split)
	case "treewidth":
		c.TreeWidth, err = d.int(1, ServersMax)
	case "secretkey":
		c.Security.SecretKey = d.value()
	}
	return err
}

func (c *Config) ranges(d setting) error {
	if len(d.args) < 2 {
		return d.errorf("want an alias and ranges of handles")
	}
	i := c.Index(d.args[0])
	if i < 0 {
		return d.errorf("there is no alias %q", d.args[0])
	}
	list := directive{args: d.args[1:]}.list()
	for _, text := range list {
		first, last, found := strings.Cut(text, "-")
		if !found {
			last = first
		}
		a, err := d.handle(first)
		if err != nil {
			return err
		}
		b, err := d.handle(last)
		if err != nil {
			return err
		}
		if a == 0 || a > b {
			return d.errorf("%q is no range of handles", text)
		}
		s := &c.Servers[i]
		if d.section == "<MetaHandleRanges>" {
			s.Meta = append(slices.Clip(s.Meta), proto.Extent{First: a, Last: b})
		} else {
			s.Data = append(slices.Clip(s.Data), proto.Extent{First: a, Last: b})
		}
		if len(s.Meta)+len(s.Data) > RangesMax {
			return d.errorf("more than %d ranges", RangesMax)
		}
	}
	return nil
}

func (c *Config) hint(d directive) (err error) {
	switch d.name {
	case "trovesyncmeta":
		c.SyncMeta, err = d.bool()
	case "trovesyncdata":
		c.SyncData, err = d.bool()
	}
	return err
}

func (c *Config) export(d directive) (err error) {
	e := &c.Export
	switch d.name {
	case "rootsquash":
		e.RootSquash, err = d.networks(e.RootSquash)
	case "rootsquashexceptions":
		e.RootSquashExceptions, err = d.networks(e.RootSquashExceptions)
	case "allsquash":
		e.AllSquash, err = d.networks(e.AllSquash)
	case "readonly":
		e.ReadOnly, err = d.networks(e.ReadOnly)
	case "anonuid":
		e.AnonUID, err = d.id()
	case "anongid":
		e.AnonGID, err = d.id()
	}
	return err
}

func (a *applier) distribution(d directive) error {
	dist := &a.c.Dist
	switch d.name {
	case "name":
		*dist = stripe.Default(strings.ReplaceAll(d.value(), "-", "_"))
	case "param":
		a.param = strings.ToLower(d.value())
		return nil
	case "value":
		if err := a.distValue(d, dist); err != nil {
			return err
		}
	default:
		return nil
	}
	if dist.Name == proto.DistVar && dist.Strips == "" {
		return nil // its parameter is still to come
	}
	if _, err := stripe.Of(*dist); err != nil {
		return d.errorf("%v", err)
	}
	return nil
}

func (a *applier) distValue(d directive, dist *proto.Dist) error {
	if a.param == "strips" {
		dist.Strips = d.value()
		return nil
	}
	n, err := strconv.ParseInt(d.value(), 10, 64)
	if err != nil || n < 1 || a.param != "strip_size" && n > math.MaxUint32 {
		return d.errorf("%q is no value for %s", d.value(), a.param)
	}
	switch a.param {
	case "strip_size":
		dist.StripSize = n
	case "num_groups":
		dist.Groups = uint32(n)
	case "group_strip_factor":
		dist.Factor = uint32(n)
	default:
		return d.errorf("%s has no parameter %q", dist.Name, a.param)
	}
	return nil
}

func (d directive) int(low, high int) (int, error) {
	n, err := strconv.Atoi(d.value())
	if err != nil || n < low || n > high {
		return 0, d.errorf("%q is no number from %d to %d", d.value(), low, high)
	}
	return n, nil
}

func (d directive) id() (uint32, error) {
	n, err := strconv.ParseUint(d.value(), 10, 32)
	if err != nil {
		return 0, d.errorf("%q is no user or group", d.value())
	}
	return uint32(n), nil
}

func (d directive) duration(unit time.Duration) (time.Duration, error) {
	n, err := d.int(0, math.MaxInt32)
	return time.Duration(n) * unit, err
}

func (d directive) bool() (bool, error) {
	switch strings.ToLower(d.value()) {
	case "yes", "on", "true", "1":
		return true, nil
	case "no", "off", "false", "0":
		return false, nil
	}
	return false, d.errorf("%q is neither yes nor no", d.value())
}

func (d directive) handle(text string) (proto.Handle, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == math.MaxUint64 {
		return 0, d.errorf("%q is no handle", text)
	}
	return proto.Handle(n), nil
}

// networks adds patterns to the existing ones.
func (d directive) networks(to Networks) (Networks, error) {
	list := d.list()
	if len(list) == 0 {
		return nil, d.errorf("%q is no pattern of addresses", d.value())
	}
	for _, text := range list {
		n, err := ParseNetwork(text)
		if err != nil {
			return nil, d.errorf("%s", strings.TrimPrefix(err.Error(), "config: "))
		}
		to = append(slices.Clip(to), n)
	}
	return to, nil
}
