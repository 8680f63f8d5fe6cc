package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// writeArchive writes a .tar.gz with everything that does not need a package manager: programs under their own names,
// manual pages, completions, units and samples.
func writeArchive(s *stock, out string) error {
	top := fmt.Sprintf("viaduct_%s_linux_%s", s.rel.version, s.arch)
	var all []file
	for _, p := range programs {
		all = append(all, file{to: "bin/" + p.name, mode: 0o755, from: filepath.Join(s.bin, p.name)})
	}
	for _, name := range slices.Sorted(maps.Keys(s.docs.pages)) {
		section := strings.TrimPrefix(filepath.Ext(name), ".")
		all = append(all, file{to: "share/man/man" + section + "/" + name, mode: 0o644, body: s.docs.pages[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(s.docs.completions)) {
		c := s.docs.completions[name]
		all = append(all,
			file{to: "share/bash-completion/completions/" + name, mode: 0o644, body: c.bash},
			file{to: "share/fish/vendor_completions.d/" + name + ".fish", mode: 0o644, body: c.fish},
			file{to: "share/zsh/site-functions/_" + name, mode: 0o644, body: c.zsh},
		)
	}
	for _, name := range []string{"pvfsd@.service", "pvfs-mount@.service", "sysusers.conf", "tmpfiles.conf", "pvfsd.env", "mount-mnt-pvfs.env", "fs.conf"} {
		all = append(all, own("examples/"+name, name))
	}
	all = append(all,
		file{to: "LICENSE", mode: 0o644, body: s.licence},
		file{to: "THIRD-PARTY-LICENCES", mode: 0o644, body: s.thirdParty},
		file{to: "CHANGELOG.md", mode: 0o644, body: s.changes},
	)
	for i := range all {
		all[i].to = top + "/" + all[i].to
	}
	return create(filepath.Join(out, top+".tar.gz"), func(w io.Writer) error {
		z := gzip.NewWriter(w)
		if err := writeTar(z, all, s.rel.time); err != nil {
			return err
		}
		return z.Close()
	})
}

// writeTar writes files of root, with the folders that they are in.
func writeTar(w io.Writer, all []file, when time.Time) error {
	out := tar.NewWriter(w)
	seen := make(map[string]bool)
	for _, f := range all {
		name := strings.TrimPrefix(f.to, "/")
		for i, c := range name {
			if c == '/' && !seen[name[:i]] {
				seen[name[:i]] = true
				if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name[:i+1], Mode: 0o755, ModTime: when}); err != nil {
					return err
				}
			}
		}
		seen[name] = true
		body, err := f.content()
		if err != nil {
			return err
		}
		h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: int64(f.mode.Perm()), Size: int64(len(body)), ModTime: when, Uid: f.owner, Gid: f.owner}
		switch {
		case f.link != "":
			h.Typeflag, h.Linkname, h.Mode, h.Size = tar.TypeSymlink, f.link, 0o777, 0
		case f.mode.IsDir():
			h.Typeflag, h.Name = tar.TypeDir, name+"/"
			if f.mode&fs.ModeSticky != 0 {
				h.Mode |= 0o1000
			}
		}
		if err := out.WriteHeader(h); err != nil {
			return err
		}
		if _, err := out.Write(body); err != nil {
			return err
		}
	}
	return out.Close()
}

// sum writes SHA256SUMS for all files in a folder, and returns their names.
func sum(out string) ([]string, error) {
	names, err := fileNames(out)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, name := range names {
		f, err := os.Open(filepath.Join(out, name))
		if err != nil {
			return nil, err
		}
		digest := sha256.New()
		_, err = io.Copy(digest, f)
		_ = f.Close() // it was only read
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%x  %s\n", digest.Sum(nil), name)
	}
	const sums = "SHA256SUMS"
	return append(names, sums), os.WriteFile(filepath.Join(out, sums), []byte(b.String()), 0o644)
}
