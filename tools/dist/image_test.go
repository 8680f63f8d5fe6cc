package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
)

// unpackImage writes the files of an image to a folder.
func unpackImage(t *testing.T, img v1.Image, dir string) (owners map[string]int) {
	t.Helper()
	owners = make(map[string]int)
	files := mutate.Extract(img)
	defer func() { require.NoError(t, files.Close()) }()
	for in := tar.NewReader(files); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return owners
		}
		require.NoError(t, err)
		owners[h.Name] = h.Uid
		to := filepath.Join(dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			require.NoError(t, os.MkdirAll(to, 0o755))
			continue
		}
		body, err := io.ReadAll(in)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(to, body, os.FileMode(h.Mode).Perm()))
	}
}

// TestImages reads the images as docker load does, and runs their programs.
func TestImages(t *testing.T) {
	m := all(t)
	for _, i := range containerImages {
		img, err := tarball.ImageFromPath(m.file(t, i.name+"-image_*_"+runtime.GOARCH+".tar"), nil)
		require.NoError(t, err)
		require.NoError(t, validate.Image(img))
		cfg, err := img.ConfigFile()
		require.NoError(t, err)
		assert.Equal(t, "linux/"+runtime.GOARCH, cfg.OS+"/"+cfg.Architecture)
		assert.Equal(t, sample.version, cfg.Config.Labels["org.opencontainers.image.version"])
		assert.NotContains(t, []string{"", "0", "root"}, cfg.Config.User)
		assert.True(t, sample.time.Equal(cfg.Created.Time))

		dir := t.TempDir()
		owners := unpackImage(t, img, dir)
		assert.Equal(t, containerUser, owners["var/lib/pvfs"], "the programs' user may write there")
		command := append(append([]string{}, i.entrypoint...), i.command...)
		program := filepath.Join(dir, "usr/bin", filepath.Base(command[0]))
		out, err := exec.Command(program, command[1:]...).CombinedOutput()
		require.NoError(t, err, string(out))
		for _, p := range i.programs {
			require.FileExists(t, filepath.Join(dir, "usr/bin", p))
		}
	}
}

// TestIndexes reads the images for several processors as an OCI layout.
func TestIndexes(t *testing.T) {
	need.Program(t, "tar")
	m := all(t)
	for _, i := range containerImages {
		dir := t.TempDir()
		run(t, "tar", "-xf", m.file(t, i.name+"-image_*.oci.tar"), "-C", dir)
		tree, err := layout.FromPath(dir)
		require.NoError(t, err)
		index, err := tree.ImageIndex()
		require.NoError(t, err)
		require.NoError(t, validate.Index(index))
		top, err := index.IndexManifest()
		require.NoError(t, err)
		require.Len(t, top.Manifests, 1)
		assert.Equal(t, types.OCIImageIndex, top.Manifests[0].MediaType)
		assert.Equal(t, sample.version, top.Manifests[0].Annotations["org.opencontainers.image.ref.name"])
		inner, err := index.ImageIndex(top.Manifests[0].Digest)
		require.NoError(t, err)
		images, err := inner.IndexManifest()
		require.NoError(t, err)
		require.Len(t, images.Manifests, 1)
		assert.Equal(t, runtime.GOARCH, images.Manifests[0].Platform.Architecture)
	}
}
