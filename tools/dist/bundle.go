package main

import (
	"embed"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// installed has the files that are not generated: units of systemd, samples, scripts of packages.
//
//go:embed files
var installed embed.FS

// A file is one file of a package or an image.
type file struct {
	to     string      // path after installation
	mode   fs.FileMode // fs.ModeDir: a folder
	owner  int         // user and group; packages have only files of root
	body   []byte
	from   string // file with the body, if it is large
	link   string // target of a symbolic link
	config bool   // administrators change it
}

// content is the body of a file.
func (f *file) content() ([]byte, error) {
	if f.from != "" {
		return os.ReadFile(f.from)
	}
	return f.body, nil
}

// A bundle is one package, in every format.
type bundle struct {
	name       string
	summary    string
	text       string // one paragraph in the package's description
	recommends []string
	files      []file
	// Shell scripts that run after the files were installed, and before and after they are removed; "": none.
	installedScript, removeScript, removedScript string
}

// A stock is what packages are filled from.
type stock struct {
	rel        release
	arch       string // as Go names it
	bin        string // folder of the programs
	docs       *docs
	thirdParty []byte // licences
	changes    []byte // CHANGELOG.md
	licence    []byte
}

// bundles are the packages.
func (s *stock) bundles() []bundle {
	return []bundle{
		{
			name:    "viaduct-tools",
			summary: "messages between processes, MPI programs, and clients of a parallel file system",
			text: "bmi uses and measures the message transports of Viaduct, mpiexec.viaduct starts MPI programs written with it, and pvfs works " +
				"with the files of a PVFS or OrangeFS file system, also by mounting it.",
			recommends: []string{"fuse3"},
			files:      s.toolsFiles(),
		},
		{
			name:       "viaduct-server",
			summary:    "server of a parallel file system in OrangeFS's protocol",
			text:       "pvfsd stores and serves a part of a file system that is spread over several servers, for pvfs and for clients of OrangeFS.",
			recommends: []string{"viaduct-tools"},
			files:      s.serverFiles(),

			installedScript: "files/postinst.sh", removeScript: "files/prerm.sh", removedScript: "files/postrm.sh",
		},
	}
}

func (s *stock) toolsFiles() []file {
	files := s.programFiles(false)
	return append(files,
		file{to: "/usr/sbin/mount.pvfs", link: "../bin/pvfs"},
		own("/usr/lib/systemd/system/pvfs-mount@.service", "pvfs-mount@.service"),
		own("/usr/share/doc/viaduct-tools/examples/mount-mnt-pvfs.env", "mount-mnt-pvfs.env"),
	)
}

func (s *stock) serverFiles() []file {
	files := s.programFiles(true)
	config := own("/etc/viaduct/pvfsd.env", "pvfsd.env")
	config.config = true
	return append(files, config,
		own("/usr/lib/systemd/system/pvfsd@.service", "pvfsd@.service"),
		own("/usr/lib/sysusers.d/viaduct.conf", "sysusers.conf"),
		own("/usr/lib/tmpfiles.d/viaduct.conf", "tmpfiles.conf"),
		own("/usr/share/doc/viaduct-server/examples/fs.conf", "fs.conf"),
	)
}

// own is a file that this package has.
func own(to, name string) file {
	body, err := installed.ReadFile("files/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return file{to: to, mode: 0o644, body: body}
}

// programFiles are the programs of a package with their completions. Their manual pages and the package's own papers are
// added by papers.
func (s *stock) programFiles(server bool) []file {
	var files []file
	for _, p := range programs {
		if p.server == server {
			files = append(files, file{to: "/usr/bin/" + p.installed, mode: 0o755, from: filepath.Join(s.bin, p.name)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.docs.completions)) {
		if s.docs.server[name] == server {
			c := s.docs.completions[name]
			files = append(files,
				file{to: "/usr/share/bash-completion/completions/" + name, mode: 0o644, body: c.bash},
				file{to: "/usr/share/fish/vendor_completions.d/" + name + ".fish", mode: 0o644, body: c.fish},
			)
		}
	}
	return files
}

// zshFiles are completions for zsh, which Debian and others look for in different folders.
func (s *stock) zshFiles(server bool, folder string) []file {
	var files []file
	for _, name := range slices.Sorted(maps.Keys(s.docs.completions)) {
		if s.docs.server[name] == server {
			files = append(files, file{to: path.Join(folder, "_"+name), mode: 0o644, body: s.docs.completions[name].zsh})
		}
	}
	return files
}

// papers are the manual pages, licences and changes of a package.
func (s *stock) papers(b bundle) ([]file, error) {
	files, err := s.docs.pageFiles(b.name == "viaduct-server")
	if err != nil {
		return nil, err
	}
	licences, err := compress(s.thirdParty)
	if err != nil {
		return nil, err
	}
	changes, err := compress(s.changes)
	if err != nil {
		return nil, err
	}
	folder := "/usr/share/doc/" + b.name + "/"
	copyright := own(folder+"copyright", "copyright")
	return append(files, copyright,
		file{to: folder + "THIRD-PARTY-LICENCES.gz", mode: 0o644, body: licences},
		file{to: folder + "CHANGELOG.md.gz", mode: 0o644, body: changes},
	), nil
}
