package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// An image is a container image of some programs.
type image struct {
	name       string
	programs   []string // names in cmd
	entrypoint []string
	command    []string
	ports      []string
}

var containerImages = []image{
	{
		name: "viaduct-pvfsd", programs: []string{"pvfs", "pvfsd"},
		entrypoint: []string{"/usr/bin/pvfsd"}, command: []string{"help"}, ports: []string{"3334/tcp"},
	},
	{
		name: "viaduct-tools", programs: []string{"bmi", "bmi-method-tcp", "bmi-method-via", "mpibench", "mpiexec", "pvfs"},
		command: []string{"bmi", "help"},
	},
}

// containerUser is the user of the programs in an image, not root. Its folder is dataFolder.
const (
	containerUser = 65532
	dataFolder    = "/var/lib/pvfs"
)

// imageSets collects the images of all processors, one index for each name.
type imageSets map[string]v1.ImageIndex

// add makes the images for a processor, and writes each as a file for docker load and podman load.
func (sets *imageSets) add(s *stock, out string) error {
	if *sets == nil {
		*sets = make(imageSets)
	}
	for _, i := range containerImages {
		img, err := i.make(s)
		if err != nil {
			return fmt.Errorf("image %s: %w", i.name, err)
		}
		tag, err := name.NewTag(i.name + ":" + tagOf(s.rel))
		if err != nil {
			return err
		}
		file := filepath.Join(out, fmt.Sprintf("%s-image_%s_%s.tar", i.name, s.rel.version, s.arch))
		if err := create(file, func(w io.Writer) error { return tarball.Write(tag, img, w) }); err != nil {
			return err
		}
		index, ok := (*sets)[i.name]
		if !ok {
			index = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
		}
		(*sets)[i.name] = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: s.arch}},
		})
	}
	return nil
}

// tagOf is a version as a tag of an image, which has no plus.
func tagOf(rel release) string { return strings.ReplaceAll(rel.version, "+", "_") }

// make builds an image of one layer.
func (i *image) make(s *stock) (v1.Image, error) {
	all := []file{
		{to: "/etc/passwd", mode: 0o644, body: fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\npvfs:x:%d:%[1]d:pvfs:%s:/sbin/nologin\n", containerUser, dataFolder)},
		{to: "/etc/group", mode: 0o644, body: fmt.Appendf(nil, "root:x:0:\npvfs:x:%d:\n", containerUser)},
		{to: "/tmp", mode: fs.ModeDir | fs.ModeSticky | 0o777},
		{to: dataFolder, mode: fs.ModeDir | 0o700, owner: containerUser},
		{to: "/usr/share/doc/viaduct/LICENSE", mode: 0o644, body: s.licence},
		{to: "/usr/share/doc/viaduct/THIRD-PARTY-LICENCES", mode: 0o644, body: s.thirdParty},
	}
	for _, p := range i.programs {
		all = append(all, file{to: "/usr/bin/" + p, mode: 0o755, from: filepath.Join(s.bin, p)})
	}
	var layer bytes.Buffer
	if err := writeTar(&layer, all, s.rel.time); err != nil {
		return nil, err
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(layer.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err = mutate.Append(img, mutate.Addendum{
		Layer: l, MediaType: types.OCILayer,
		History: v1.History{Created: v1.Time{Time: s.rel.time}, CreatedBy: "make dist", Comment: homepage},
	})
	if err != nil {
		return nil, err
	}
	cfg, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	cfg = cfg.DeepCopy()
	cfg.OS, cfg.Architecture, cfg.Created, cfg.Author = "linux", s.arch, v1.Time{Time: s.rel.time}, maintainer
	cfg.Config = i.config(s.rel)
	return mutate.ConfigFile(img, cfg)
}

// config says how programs of an image run.
func (i *image) config(rel release) v1.Config {
	c := v1.Config{
		Entrypoint: i.entrypoint, Cmd: i.command, WorkingDir: dataFolder, User: fmt.Sprintf("%d:%[1]d", containerUser),
		Env: []string{"PATH=/usr/bin"}, ExposedPorts: make(map[string]struct{}), Volumes: map[string]struct{}{dataFolder: {}},
		Labels: map[string]string{
			"org.opencontainers.image.title": i.name, "org.opencontainers.image.version": rel.version, "org.opencontainers.image.revision": rel.commit,
			"org.opencontainers.image.source": homepage, "org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.created": rel.time.Format(time.RFC3339),
		},
	}
	for _, port := range i.ports {
		c.ExposedPorts[port] = struct{}{}
	}
	return c
}

// write writes each index with its images as an archive of an OCI layout.
func (sets imageSets) write(rel release, out string) error {
	for _, i := range containerImages {
		work, err := os.MkdirTemp("", "viaduct-image-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(work)
		tree, err := layout.Write(work, empty.Index)
		if err != nil {
			return err
		}
		if err := tree.AppendIndex(sets[i.name], layout.WithAnnotations(map[string]string{
			"org.opencontainers.image.ref.name": tagOf(rel),
		})); err != nil {
			return err
		}
		if err := archiveOf(work, filepath.Join(out, fmt.Sprintf("%s-image_%s.oci.tar", i.name, rel.version)), rel.time); err != nil {
			return err
		}
	}
	return nil
}

// archiveOf writes the files of a folder into an archive, sorted.
func archiveOf(dir, archive string, when time.Time) error {
	var all []file
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		all = append(all, file{to: rel, mode: 0o644, from: name})
		return err
	})
	if err != nil {
		return err
	}
	return create(archive, func(w io.Writer) error { return writeTar(w, all, when) })
}
