package disktest

import (
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/store/disk"
)

// sectorBytes is the unit that a disk writes atomically.
const sectorBytes = 512

// A Volatile disk loses data that was not synced. Cut makes a possible state after a power loss. In each file, any of the sectors
// written since its last sync may be old or new, and so may its size. In each folder, any of the names made or removed since its
// last sync may be present or not. Folders themselves stay.
type Volatile struct {
	top string // the folder of everything

	mu    sync.Mutex
	files map[string]*volatileFile // by path: all files that were opened or are in a synced folder
}

// A volatileFile has the certain and the possible contents of a file on the disk.
type volatileFile struct {
	synced image // empty: never synced
	named  bool  // its name existed when its folder was last synced
	last   image // its contents when its name was removed
	gone   bool
}

// An image is the contents of a file: its bytes up to the last hole, which is most of a database's file, and its size.
type image struct {
	data []byte
	size int
}

func imageOf(path string) (im image, err error) {
	f, err := os.Open(path)
	if err != nil {
		return im, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return im, err
	}
	im.size = int(info.Size())
	end := int64(0)
	for {
		at, err := unix.Seek(int(f.Fd()), end, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break
		}
		if err == nil {
			end, err = unix.Seek(int(f.Fd()), at, unix.SEEK_HOLE)
		}
		if err != nil {
			return im, err
		}
	}
	im.data = make([]byte, end)
	_, err = f.ReadAt(im.data, 0)
	return im, err
}

// write writes the image to a file.
func (im image) write(path string) error {
	if err := os.WriteFile(path, im.data, 0o600); err != nil {
		return err
	}
	return os.Truncate(path, int64(im.size))
}

var _ disk.Disk = (*Volatile)(nil)

// NewVolatile makes a Volatile disk of a folder. Its contents count as synced.
func NewVolatile(top string) (*Volatile, error) {
	d := &Volatile{top: top, files: make(map[string]*volatileFile)}
	return d, filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		im, err := imageOf(path)
		d.files[path] = &volatileFile{synced: im, named: true}
		return err
	})
}

func (d *Volatile) fileLocked(path string) *volatileFile {
	f := d.files[path]
	if f == nil {
		f = &volatileFile{}
		d.files[path] = f
	}
	return f
}

// Open implements disk.Disk, and so do the following methods.
func (d *Volatile) Open(path string, flags int) (disk.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, err := disk.OS.Open(path, flags)
	if err != nil {
		return nil, err
	}
	if now := d.fileLocked(path); now.gone { // a new file with the name of a removed one
		*now = volatileFile{named: now.named}
	}
	return &lasting{below: f, on: d, path: path}, nil
}

// Mkdir makes a folder.
func (d *Volatile) Mkdir(path string) error { return disk.OS.Mkdir(path) }

// Unlink removes a name.
func (d *Volatile) Unlink(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	last, err := imageOf(path)
	if err != nil {
		return disk.OS.Unlink(path)
	}
	if err := disk.OS.Unlink(path); err != nil {
		return err
	}
	f := d.fileLocked(path)
	f.last, f.gone = last, true
	return nil
}

// Size is the size of a file.
func (d *Volatile) Size(path string) (int64, error) { return disk.OS.Size(path) }

// OpenFolder opens a folder.
func (d *Volatile) OpenFolder(path string) (disk.Folder, error) {
	f, err := disk.OS.OpenFolder(path)
	if err != nil {
		return nil, err
	}
	return &volatileFolder{Folder: f, on: d, path: path}, nil
}

// SyncAll syncs all files and folders.
func (d *Volatile) SyncAll(string) error {
	d.mu.Lock()
	paths := slices.Collect(maps.Keys(d.files))
	d.mu.Unlock()
	for _, path := range paths {
		if err := d.sync(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.files {
		one.named = !one.gone
	}
	return nil
}

// OpenDatabase opens the database's file.
func (d *Volatile) OpenDatabase(path string, flags int, perm os.FileMode) (*os.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, err := disk.OS.OpenDatabase(path, flags, perm)
	if err == nil {
		d.fileLocked(path)
	}
	return f, err
}

// SyncDatabase syncs the database's file.
func (d *Volatile) SyncDatabase(f *os.File) error { return d.sync(f.Name()) }

// Committed says that the database itself has synced its file. If the file cannot be read, nothing counts as synced.
func (d *Volatile) Committed(f *os.File) { _ = d.sync(f.Name()) }

func (d *Volatile) sync(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.fileLocked(path)
	if f.gone {
		return nil
	}
	im, err := imageOf(path)
	if err != nil {
		return errors.Join(unix.EIO, err)
	}
	f.synced = im
	return nil
}

// Cut makes another folder with a possible state after a power loss. rng makes the choices.
func (d *Volatile) Cut(rng *rand.Rand, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := filepath.WalkDir(d.top, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() || path == d.top {
			return err
		}
		return os.Mkdir(d.moved(path, to), 0o700)
	})
	for _, path := range slices.Sorted(maps.Keys(d.files)) {
		if err != nil {
			return err
		}
		f := d.files[path]
		now, there := f.last, !f.gone
		if there {
			now, err = imageOf(path)
		}
		if err == nil && (there && f.named || there != f.named && rng.IntN(2) == 0) {
			err = mixed(rng, f.synced, now).write(d.moved(path, to))
		}
	}
	return err
}

func (d *Volatile) moved(path, to string) string {
	return filepath.Join(to, strings.TrimPrefix(path, d.top))
}

// mixed takes each sector from one of two states of a file.
func mixed(rng *rand.Rand, synced, now image) image {
	size := now.size
	if rng.IntN(2) == 0 {
		size = synced.size
	}
	out := image{data: make([]byte, min(size, max(len(synced.data), len(now.data)))), size: size}
	for at := 0; at < len(out.data); at += sectorBytes {
		from := now.data
		if rng.IntN(2) == 0 {
			from = synced.data
		}
		if at < len(from) {
			copy(out.data[at:min(at+sectorBytes, len(out.data))], from[at:])
		}
	}
	return out
}

// A volatileFolder is an open folder of a Volatile disk.
type volatileFolder struct {
	disk.Folder
	on   *Volatile
	path string
}

func (f *volatileFolder) Sync() error {
	d := f.on
	d.mu.Lock()
	defer d.mu.Unlock()
	for path, one := range d.files {
		if filepath.Dir(path) == f.path {
			one.named = !one.gone
		}
	}
	return nil
}

// lasting is an open file of a Volatile disk.
type lasting struct {
	below
	on   *Volatile
	path string
}

type below interface{ disk.File } // embedded, so that the name File stays free for the method

func (f *lasting) Sync() error { return f.on.sync(f.path) }
