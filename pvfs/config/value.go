package config

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/stripe"
)

// value applies a directive that is not a section's.
func (p *parser) value(d directive) error {
	switch p.section() {
	case "<defaults>":
		p.c.defaults[d.name] = d.value()
		return p.number(d)
	case "<security>", "<ldap>":
		if p.path[0] == "<serveroptions>" {
			return p.option(d)
		}
		p.c.defaults[d.name] = d.value()
		return p.security(d)
	case "<aliases>":
		return p.alias(d)
	case "<serveroptions>":
		return p.option(d)
	case "<filesystem>":
		return p.filesystem(d)
	case "<metahandleranges>", "<datahandleranges>":
		return p.ranges(d)
	case "<storagehints>":
		p.c.hints[d.name] = d.value()
		return p.hint(d)
	case "<exportoptions>":
		return p.export(d)
	case "<distribution>":
		return p.distribution(d)
	}
	return nil // a directive for nobody
}

// number is a directive of <Defaults> that clients and servers look at.
func (p *parser) number(d directive) (err error) {
	c := p.c
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

func (p *parser) security(d directive) (err error) {
	s := &p.c.Security
	switch d.name {
	case "turnofftimeouts":
		s.TurnOffTimeouts, err = d.bool()
	case "credentialtimeoutsecs":
		s.CredentialTimeout, err = d.duration(time.Second)
	case "capabilitytimeoutsecs":
		s.CapabilityTimeout, err = d.duration(time.Second)
	case "serverkey":
		s.ServerKey = d.value()
	case "keystore":
		s.KeyFile = d.value()
	case "trustednetwork":
		s.TrustedNetworks, err = d.networks(s.TrustedNetworks)
	case "trustedports":
		first, last, ok := strings.Cut(d.value(), "-")
		a, errA := strconv.ParseUint(strings.TrimSpace(first), 10, 16)
		b, errB := strconv.ParseUint(strings.TrimSpace(last), 10, 16)
		if !ok || errA != nil || errB != nil || a > b {
			return d.errorf("%q is no range of ports", d.value())
		}
		s.TrustedPortFirst, s.TrustedPortLast = int(a), int(b)
	}
	return err
}

func (p *parser) alias(d directive) error {
	if d.name != "alias" {
		return nil
	}
	if len(d.args) < 2 {
		return d.errorf("want a name and an address")
	}
	s := Server{Alias: d.args[0], Address: strings.Join(splitList(strings.Join(d.args[1:], ",")), ",")}
	switch {
	case p.c.Index(s.Alias) >= 0:
		return d.errorf("%s is there already", s.Alias)
	case s.Address == "":
		return d.errorf("%s has no address", s.Alias)
	case len(p.c.Servers) == ServersMax:
		return d.errorf("more than %d servers", ServersMax)
	}
	p.c.Servers = append(p.c.Servers, s)
	return nil
}

func (p *parser) option(d directive) error {
	if d.name == "server" {
		if p.server = p.c.Index(d.value()); p.server < 0 {
			return d.errorf("there is no alias %q", d.value())
		}
		return nil
	}
	if p.server < 0 {
		return d.errorf("Server must come first in this section")
	}
	for len(p.c.options) <= p.server {
		p.c.options = append(p.c.options, nil)
	}
	if p.c.options[p.server] == nil {
		p.c.options[p.server] = map[string]string{}
	}
	p.c.options[p.server][d.name] = d.value()
	return nil
}

func (p *parser) filesystem(d directive) (err error) {
	c, n := p.c, 0
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
	case "secretkey":
		c.Security.SecretKey = d.value()
	}
	return err
}

func (p *parser) ranges(d directive) error {
	if d.name != "range" {
		return nil
	}
	if len(d.args) < 2 {
		return d.errorf("want an alias and ranges of handles")
	}
	i := p.c.Index(d.args[0])
	if i < 0 {
		return d.errorf("there is no alias %q", d.args[0])
	}
	list := directive{line: d.line, text: d.text, args: d.args[1:]}.list()
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
		s := &p.c.Servers[i]
		if p.section() == "<metahandleranges>" {
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

func (p *parser) hint(d directive) (err error) {
	switch d.name {
	case "trovesyncmeta":
		p.c.SyncMeta, err = d.bool()
	case "trovesyncdata":
		p.c.SyncData, err = d.bool()
	}
	return err
}

func (p *parser) export(d directive) (err error) {
	e := &p.c.Export
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

func (p *parser) distribution(d directive) error {
	dist := &p.c.Dist
	switch d.name {
	case "name":
		*dist = stripe.Default(strings.ReplaceAll(d.value(), "-", "_"))
	case "param":
		p.param = strings.ToLower(d.value())
		return nil
	case "value":
		if err := p.distValue(d, dist); err != nil {
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

func (p *parser) distValue(d directive, dist *proto.Dist) error {
	if p.param == "strips" {
		dist.Strips = d.value()
		return nil
	}
	n, err := strconv.ParseInt(d.value(), 10, 64)
	if err != nil || n < 1 || p.param != "strip_size" && n > math.MaxUint32 {
		return d.errorf("%q is no value for %s", d.value(), p.param)
	}
	switch p.param {
	case "strip_size":
		dist.StripSize = n
	case "num_groups":
		dist.Groups = uint32(n)
	case "group_strip_factor":
		dist.Factor = uint32(n)
	default:
		return d.errorf("%s has no parameter %q", dist.Name, p.param)
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

// networks are patterns, added to those there are.
func (d directive) networks(to Networks) (Networks, error) {
	for _, text := range d.list() {
		n, err := ParseNetwork(text)
		if err != nil {
			return nil, d.errorf("%v", err)
		}
		to = append(slices.Clip(to), n)
	}
	return to, nil
}
