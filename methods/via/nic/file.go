package nic

import "github.com/viaduct-hpc/viaduct/bmi/files"

// A FileRange is a part of a regular file. The file must stay open while the device owns its descriptor.
type FileRange = files.Range

// Size is the number of bytes a descriptor has to move: those of its segments, or of its file.
func (d *Descriptor) Size() int {
	n := d.File.Len
	for i := range d.Segments {
		n += len(d.Segments[i].Data)
	}
	return n
}
