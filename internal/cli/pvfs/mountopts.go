package pvfs

import (
	"slices"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/units"
)

// mountOptions are the options of mount: its flags and those in -o.
type mountOptions struct {
	allowOther, readOnly, debug bool
	background                  bool
	log                         program.Log
	keep                        time.Duration
	keyFile, certFile, host     string   // --key-file, --cert-file and --host
	flags                       []string // mount flags such as nosuid
}

// The options of -o that pvfs uses. Other options of fstab and mount(8) are ignored.
var (
	mountFlags   = []string{"suid", "nosuid", "dev", "nodev", "exec", "noexec"}
	mountForeign = []string{
		"defaults", "rw", "auto", "noauto", "user", "nouser", "users", "owner", "group", "nofail", "_netdev", "async",
		"atime", "noatime", "diratime", "nodiratime", "relatime", "norelatime", "strictatime", "default_permissions", "nonempty",
	}
	mountKnown = append([]string{"ro", "allow_other", "debug", "keep=TIME", "log-file=FILE", "key-file=FILE", "cert-file=FILE", "host=NAME"}, mountFlags...)
)

// list parses one value of -o.
func (m *mountOptions) list(text string) error {
	for option := range strings.SplitSeq(text, ",") {
		if err := m.one(option); err != nil {
			return err
		}
	}
	return nil
}

func (m *mountOptions) one(option string) error {
	name, value, _ := strings.Cut(option, "=")
	switch {
	case option == "ro":
		m.readOnly = true
	case option == "rw":
		m.readOnly = false
	case option == "allow_other":
		m.allowOther = true
	case option == "debug":
		m.debug = true
	case (name == "log-file" || name == "log") && value != "":
		m.log.File = value
	case name == "key-file" && value != "":
		m.keyFile = value
	case name == "cert-file" && value != "":
		m.certFile = value
	case name == "host" && value != "":
		m.host = value
	case name == "keep":
		keep, err := parseKeep(value)
		if err != nil {
			return err
		}
		m.keep = keep
	case slices.Contains(mountFlags, option):
		m.flags = append(m.flags, option)
	case option == "", slices.Contains(mountForeign, option), strings.HasPrefix(option, "x-"), name == "comment":
	default:
		return program.Usagef("mount has no option -o %s; it has %s", option, strings.Join(mountKnown, ", "))
	}
	return nil
}

// parseKeep parses 500ms, or seconds without a unit as for other file systems.
func parseKeep(text string) (time.Duration, error) {
	keep, err := units.ParseDuration(text)
	if err != nil {
		return 0, program.Usagef("bad -o keep=%s: want a time like 5s", text)
	}
	return keep, nil
}

// Arguments are the arguments of Main for a command line. mount(8) runs mount -t pvfs as mount.pvfs SOURCE DIR [-sfnv] [-o
// OPTIONS], a link to this program.
func Arguments(argv []string) []string {
	name := argv[0][strings.LastIndexByte(argv[0], '/')+1:]
	if name != "mount.pvfs" {
		return argv[1:]
	}
	args := []string{"mount", "--background"}
	for _, arg := range argv[1:] {
		if len(arg) > 1 && arg[0] == '-' && strings.Trim(arg[1:], "snv") == "" {
			continue // sloppy, no mtab, verbose
		}
		args = append(args, arg)
	}
	return args
}
