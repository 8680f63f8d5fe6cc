package tool

import (
	"cmp"
	"slices"
	"strings"
)

// A Category is a layer (MPI-4.1, 15.3.9): the variables and events whose names are its name, a dot,
// and one word more. The fields take the places of MPI_T_category_get_cvars,
// MPI_T_category_get_pvars, MPI_T_category_get_events, MPI_T_category_get_num_events and
// MPI_T_category_get_categories.
type Category struct {
	Name, Text string
	Controls   []string
	Variables  []string
	Events     []string
	Categories []string // the layers below
}

// layers are the categories that every process has.
var layers = map[string]string{
	"mpi":           "the engine of a process, and what Init was told",
	"mpi.limits":    "what the engine keeps of messages, and how it sends them",
	"mpi.coll":      "collective operations",
	"mpi.comm":      "a communicator",
	"mpi.comm.peer": "the connections with the ranks of a communicator",
	"mpi.file":      "files",
	"mpi.rma":       "windows",
	"bmi":           "the endpoint below the engine",
	"bmi.limits":    "what the endpoint keeps",
}

// parts are the categories of a method, by the last parts of their names.
var parts = map[string]string{
	"errors":       "what went wrong, by kind",
	"loop":         "the loop that polls the method in its own process",
	"link":         "what it took to make lossy links reliable",
	"packets":      "packets",
	"plugin":       "the process that the method is in",
	"tls":          "files for authentication",
	"vi":           "the VI Architecture",
	"nic":          "the NIC",
	"nic.segments": "segments of all connections, on both lanes",
	"nic.priority": "the socket of small messages",
	"nic.data":     "the socket of bulk data",
}

// textOf returns the text of a category.
func textOf(name string) string {
	if text, ok := layers[name]; ok {
		return text
	}
	if strings.HasPrefix(name, "mpi.comm.peer.") {
		return parts[strings.TrimPrefix(name, "mpi.comm.peer.")] + ", by rank"
	}
	method, part, below := strings.Cut(strings.TrimPrefix(name, "bmi."), ".")
	if !below {
		return "method " + method
	}
	return parts[part] + ", of method " + method
}

// Categories returns the layers, each before those below it (MPI_T_category_get_num,
// MPI_T_category_get_info; MPI-4.1, 15.3.9).
func (t *Interface) Categories() ([]Category, error) {
	controls, err := t.Controls()
	if err != nil {
		return nil, err
	}
	variables, err := t.Performance()
	if err != nil {
		return nil, err
	}
	all := make(map[string]*Category)
	for _, c := range controls {
		of := within(all, c.Category)
		of.Controls = append(of.Controls, c.Name)
	}
	for _, v := range variables {
		of := within(all, v.Category)
		of.Variables = append(of.Variables, v.Name)
	}
	for _, e := range t.events() {
		of := within(all, e.Category)
		of.Events = append(of.Events, e.Name)
	}
	list := make([]Category, 0, len(all))
	for _, c := range all {
		slices.Sort(c.Categories)
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b Category) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// within returns the category of a name, and makes it, and those above it, if there is none.
func within(all map[string]*Category, name string) *Category {
	if c := all[name]; c != nil {
		return c
	}
	c := &Category{Name: name, Text: textOf(name)}
	all[name] = c
	if above := categoryOf(name); above != "" {
		of := within(all, above)
		of.Categories = append(of.Categories, name)
	}
	return c
}

// Category returns the category of a name (MPI_T_category_get_index; MPI-4.1, 15.3.9).
func (t *Interface) Category(name string) (Category, error) {
	all, err := t.Categories()
	if err != nil {
		return Category{}, err
	}
	for _, c := range all {
		if c.Name == name {
			return c, nil
		}
	}
	return Category{}, fail(ErrInvalidName, "there is no category %.80q", name)
}

// Changed returns a number that grows when there are other variables, events or categories than
// before (MPI_T_category_changed; MPI-4.1, 15.3.9): when the process opens a method, or loads a
// plugin.
func (t *Interface) Changed() (stamp int, err error) {
	if err := t.live(); err != nil {
		return 0, err
	}
	names := t.names()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Equal(names, t.seen) {
		t.seen = names
		t.stamp++
	}
	return t.stamp, nil
}

// names returns the names of all variables and events, in order.
func (t *Interface) names() (all []string) {
	for _, b := range t.bindings(nil) {
		for _, s := range b.settings() {
			all = append(all, s.Name)
		}
		for _, c := range b.counts() {
			all = append(all, c.Name)
		}
	}
	for _, e := range t.events() {
		all = append(all, e.Name)
	}
	slices.Sort(all)
	return all
}
