package fstest

// A Factory makes the subject of a run.
type Factory func(t T) *Subject

// A Subject is the file system under test. Only As is required.
type Subject struct {
	// As returns the file system for a user. All users see each other's changes at once. The directory for names exists, all
	// users may search it, and Root may write there.
	As func(u User) FS

	// Lacks are the abilities that the subject does not have, with the reason.
	Lacks map[Ability]string

	// Skip has the names of cases that the subject does not pass, with the reason.
	Skip map[string]string

	// Seeds are the seeds of the random runs. nil: those of -sim.seeds and -sim.seed.
	Seeds []uint64

	// Steps is the number of operations in a random run; 0 means 150.
	Steps int

	// Disturb is called from time to time between two operations of a random run. It may restart a server. May be nil.
	Disturb func(t T)
}

// An Ability is a feature that a file system may or may not have.
type Ability string

// The abilities that cases ask for.
const (
	// Users: access is checked by owner, group and mode. Without it, all users act as Root.
	Users Ability = "users"
	// Unlinked: an open file stays intact when its name is removed.
	Unlinked Ability = "unlinked files stay open"
	// Xattrs: extended attributes.
	Xattrs Ability = "extended attributes"
	// SetGIDDir: new objects in a directory with mode 02000 belong to the directory's group.
	SetGIDDir Ability = "set-group-id directories"
	// DirTimes: the mtime of a directory is updated when its names change.
	DirTimes Ability = "times of directories"
	// FileTimes: the mtime of a file is updated when it is written, at the latest when it is closed.
	FileTimes Ability = "times of files"
	// Symlinks: symbolic links.
	Symlinks Ability = "symbolic links"
	// Huge: files beyond 2^31 bytes that have holes.
	Huge Ability = "huge sparse files"
	// Append: os.O_APPEND writes at the end, by one writer at a time.
	Append Ability = "append"
	// LongTargets: symbolic links to more than 255 bytes.
	LongTargets Ability = "long targets"
	// OneClass: only the most specific class of a mode decides. Without it, for example, the group's rights also apply to an
	// owner in that group.
	OneClass Ability = "one class of the mode decides"
	// OwnRules: only the file system decides about access. Without it the kernel checks first. It refuses extended attributes
	// without the right to read or write the object, and the move of a directory to another directory without the right to write
	// to it.
	OwnRules Ability = "no rules of the kernel"
	// RightsOfOpen: the rights of an open file are checked at the open, not later.
	RightsOfOpen Ability = "rights kept from open"
)

// why reports whether the subject lacks one of the abilities, and returns the reason.
func (s *Subject) why(needs []Ability) (string, bool) {
	for _, a := range needs {
		if reason, ok := s.Lacks[a]; ok {
			return string(a) + ": " + reason, true
		}
	}
	return "", false
}
