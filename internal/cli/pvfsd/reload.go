package pvfsd

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/keyfile"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
)

// A reloader obeys the signals of a running server.
type reloader struct {
	opt     *serveOptions
	server  *server.Server
	ep      *bmi.Endpoint
	log     *slog.Logger
	file    *program.LogFile
	managed *manager

	text  string   // the configuration in effect
	rules contents // files that a reload reads
	keys  contents // the same, with keys of the methods
	fixed contents // files that only a start reads
}

// newReloader notes what a server has read at its start.
func newReloader(opt *serveOptions, fs *config.Config) *reloader {
	return &reloader{opt: opt, text: fs.Text, rules: contentsOf(opt.ruleFiles(fs)), fixed: contentsOf(opt.fixedFiles())}
}

// obey handles signals until ctx ends. SIGHUP reopens the log, and reads the configuration and the identities again. SIGUSR1 logs
// statistics.
func (r *reloader) obey(ctx context.Context, signals <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			r.file.Info(r.log, "stopping")
			return
		case sig := <-signals:
			if sig == syscall.SIGUSR1 {
				r.log.Info("statistics", fieldsOf(r.server.Statistics())...)
				continue
			}
		}
		r.managed.reloading()
		if err := r.file.Reopen(); err != nil {
			r.log.Error("the log stays in its old file", "err", err)
		}
		if err := r.reload(); err != nil {
			r.log.Error("the configuration was not read again, and all rules are as before", "err", err)
		}
		r.reloadKeys()
		if changed := contentsOf(r.opt.fixedFiles()).changed(r.fixed); len(changed) > 0 {
			r.log.Warn("files with keys have changed, which takes effect at the next start", "files", strings.Join(changed, ", "))
		}
		r.managed.ready()
	}
}

// reload reads the rules for clients again, and logs what has changed since they were read last.
func (r *reloader) reload() error {
	fs, err := r.opt.read()
	if err != nil {
		return err
	}
	ids, err := r.opt.identities()
	if err != nil {
		return err
	}
	rules := contentsOf(r.opt.ruleFiles(fs)) // before they are read: a later change is one of the next time
	if err := r.server.Reload(fs, ids); err != nil {
		return err
	}
	what := append(changedKeywords(r.text, fs.Text), rules.changed(r.rules)...)
	r.text, r.rules = fs.Text, rules
	if len(what) == 0 {
		what = []string{"nothing"}
	}
	r.log.Info("the rules for clients were read again", "changed", strings.Join(what, ", "))
	return nil
}

// reloadKeys makes the methods read their keys and certificates again.
func (r *reloader) reloadKeys() {
	files := contentsOf(r.ep.KeyFiles())
	methods, err := r.ep.ReloadKeys()
	if err != nil {
		r.log.Error("keys of a method were not read again", "err", err)
		return
	}
	if changed := files.changed(r.keys); len(methods) > 0 && len(changed) > 0 {
		r.log.Info("keys and certificates were read again, for new connections", "methods", strings.Join(methods, ", "), "changed", strings.Join(changed, ", "))
	}
	r.keys = files
}

// identities reads the file of --identities; nil without one.
func (o *serveOptions) identities() (*credential.Identities, error) {
	if o.idFile == "" {
		return nil, nil
	}
	return credential.ReadIdentities(o.idFile)
}

// ruleFiles are the files that a reload reads beside the configuration.
func (o *serveOptions) ruleFiles(fs *config.Config) []string {
	sec := &fs.Security
	return []string{o.idFile, sec.KeyStore, sec.CAFile, sec.ServerKey, sec.LDAP.BindPassword}
}

// fixedFiles are the files that only a start reads: the key of the servers.
func (o *serveOptions) fixedFiles() []string { return []string{o.keyFile} }

// fileBytesMax is more than any file with keys has.
const fileBytesMax = 16 << 20

// contents are digests of files by name. A file that cannot be read has none.
type contents map[string][sha256.Size]byte

func contentsOf(names []string) contents {
	c := contents{}
	for _, name := range names {
		if text, err := keyfile.Public(name, fileBytesMax); err == nil {
			c[name] = sha256.Sum256(text)
			clear(text)
		}
	}
	return c
}

// changed are the files whose contents differ from before, sorted.
func (c contents) changed(before contents) (names []string) {
	for name, digest := range c {
		if before[name] != digest {
			names = append(names, name)
		}
	}
	for name := range before {
		if _, is := c[name]; !is {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// changedKeywords are the keywords of lines that only one of two configurations has, without their values, some of which are
// secret.
func changedKeywords(was, is string) (keywords []string) {
	a, b := linesOf(was), linesOf(is)
	for _, pair := range [][2]map[string]int{{b, a}, {a, b}} {
		for line, n := range pair[0] {
			if keyword := strings.Fields(line)[0]; n > pair[1][line] && !slices.Contains(keywords, keyword) {
				keywords = append(keywords, keyword)
			}
		}
	}
	slices.Sort(keywords)
	return keywords
}

// linesOf counts the lines of a configuration that set something.
func linesOf(text string) map[string]int {
	lines := map[string]int{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "<") {
			lines[line]++
		}
	}
	return lines
}
