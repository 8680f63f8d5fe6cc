package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

const (
	maintainer = "Viaduct developers <viaduct@users.noreply.github.com>"
	homepage   = "https://github.com/viaduct-hpc/viaduct"
)

// formats are those of packages.
var formats = []string{"deb", "rpm"}

// zshFolder is where each format's distributions look for completions for zsh.
var zshFolder = map[string]string{"deb": "/usr/share/zsh/vendor-completions", "rpm": "/usr/share/zsh/site-functions"}

// packageVersion is a version in the form of packages: v0.3.1-rc.1 becomes 0.3.1~rc.1, which is older than 0.3.1. A version
// of a package has no dashes.
func packageVersion(rel release) string {
	number, build, _ := strings.Cut(rel.plain(), "+")
	number, before, early := strings.Cut(number, "-")
	if early {
		number += "~" + strings.ReplaceAll(before, "-", ".")
	}
	if build != "" {
		number += "+" + strings.ReplaceAll(build, "-", ".")
	}
	return number
}

// writePackages writes a package in each format.
func writePackages(s *stock, b bundle, out string) error {
	work, err := os.MkdirTemp("", "viaduct-package-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	papers, err := s.papers(b)
	if err != nil {
		return err
	}
	for _, format := range formats {
		all := append(append([]file{}, b.files...), papers...)
		all = append(all, s.zshFiles(b.name == "viaduct-server", zshFolder[format])...)
		stage := filepath.Join(work, format)
		if err := os.Mkdir(stage, 0o755); err != nil {
			return err
		}
		if err := writePackage(s, b, all, format, stage, out); err != nil {
			return fmt.Errorf("%s.%s: %w", b.name, format, err)
		}
	}
	return nil
}

func writePackage(s *stock, b bundle, all []file, format, stage, out string) error {
	contents, err := stageFiles(all, stage, s.rel.time)
	if err != nil {
		return err
	}
	changes := filepath.Join(stage, "changes.yaml")
	if err := os.WriteFile(changes, changelog(s.rel, b), 0o644); err != nil {
		return err
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: b.name, Arch: s.arch, Platform: "linux", Version: packageVersion(s.rel), VersionSchema: "none", Release: "1",
		Section: "net", Priority: "optional", Maintainer: maintainer, Homepage: homepage, License: "Apache-2.0",
		Description: b.summary + "\n" + b.text, DisableGlobbing: true, Changelog: changes, MTime: s.rel.time,
		Overridables: nfpm.Overridables{
			Recommends: b.recommends, Contents: contents,
			RPM: nfpm.RPM{Summary: b.summary, Group: "System Environment/Base", BuildHost: "localhost", Packager: maintainer},
		},
	})
	for _, script := range []struct {
		name string
		set  *string
	}{
		{b.installedScript, &info.Scripts.PostInstall}, {b.removeScript, &info.Scripts.PreRemove}, {b.removedScript, &info.Scripts.PostRemove},
	} {
		if script.name == "" {
			continue
		}
		*script.set = filepath.Join(stage, filepath.Base(script.name))
		body, err := installed.ReadFile(script.name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(*script.set, body, 0o755); err != nil {
			return err
		}
	}
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	return create(filepath.Join(out, packager.ConventionalFileName(info)), func(w io.Writer) error { return packager.Package(info, w) })
}

// stageFiles writes files to a folder and says where packages install them.
func stageFiles(all []file, stage string, when time.Time) (files.Contents, error) {
	var contents files.Contents
	for i, f := range all {
		c := &files.Content{
			Source: f.from, Destination: f.to, FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: f.mode, MTime: when},
		}
		switch {
		case f.link != "":
			c.Type, c.Source, c.FileInfo.Mode = files.TypeSymlink, f.link, fs.ModeSymlink|0o777
		case f.config:
			c.Type = files.TypeConfigNoReplace
		}
		if c.Source == "" {
			c.Source = filepath.Join(stage, fmt.Sprint(i))
			if err := os.WriteFile(c.Source, f.body, 0o644); err != nil {
				return nil, err
			}
		}
		contents = append(contents, c)
	}
	return contents, nil
}

// changelog is the package's own list of changes; that of the programs is CHANGELOG.md.
func changelog(rel release, b bundle) []byte {
	return fmt.Appendf(nil, `- semver: %s
  date: %s
  packager: %s
  changes:
    - note: "Commit %.12s; changes are in /usr/share/doc/%s/CHANGELOG.md.gz"
`, packageVersion(rel)+"-1", rel.time.Format(time.RFC3339), maintainer, rel.commit, b.name)
}

// create writes a file.
func create(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
