package fstest

// A Factory makes the subject of a run.
type Factory func(t T) *Subject

// A Subject is the file system under test. Only As is required.
type Subject struct {
	// As gives the file system to a user. What one user has done, another sees at once.
	// The place that names are relative to exists, is for all to search, and Root may write
	// there.
	As func(u User) FS

	// Lacks are the abilities that the subject does not have, and why.
	Lacks map[Ability]string

	// Skip tells, by name of a case, which requirements the subject does not meet, and why.
	Skip map[string]string

	// Seeds are those of the random runs. nil means those of -sim.seeds and -sim.seed.
	Seeds []uint64

	// Steps is how many operations a random run has; 0 means 150.
	Steps int

	// Disturb is called now and then between two operations of a random run: it may restart
	// a server. nil: nothing happens.
	Disturb func(t T)
}

// An Ability is what a file system may have or not.
type Ability string

// The abilities that cases ask for.
const (
	// Users: access is checked by owner, group and mode. Without it, everybody is Root.
	Users Ability = "users"
	// Unlinked: a file that is open stays whole when its name goes.
	Unlinked Ability = "unlinked files stay open"
	// Xattrs: extended attributes.
	Xattrs Ability = "extended attributes"
	// SetGIDDir: what is made in a directory with 02000 belongs to the directory's group.
	SetGIDDir Ability = "set-group-id directories"
	// DirTimes: a directory's time of modification moves when its names change.
	DirTimes Ability = "times of directories"
	// FileTimes: a file's time of modification moves when it is written, at the latest when it
	// is closed.
	FileTimes Ability = "times of files"
	// Symlinks: symbolic links.
	Symlinks Ability = "symbolic links"
	// Huge: files beyond 2^31 bytes that have holes.
	Huge Ability = "huge sparse files"
	// Append: os.O_APPEND writes at the end, by one writer at a time.
	Append Ability = "append"
	// LongTargets: symbolic links to more than 255 bytes.
	LongTargets Ability = "long targets"
	// OneClass: the most specific class of a mode decides alone. Without it, who has a right as a member of the
	// group has it although he is the owner, whom the mode refuses it, and so on.
	OneClass Ability = "one class of the mode decides"
	// OwnRules: what may be done to an object is up to the file system. Without it the kernel asks first, and refuses
	// extended attributes to who may not read the object, or write to it, and to move a directory into another to who
	// may not write to it.
	OwnRules Ability = "no rules of the kernel"
	// RightsOfOpen: what a handle may do is checked when it is opened, not later.
	RightsOfOpen Ability = "rights kept from open"
)

// why tells whether the subject lacks one of the abilities, and the reason it gives.
func (s *Subject) why(needs []Ability) (string, bool) {
	for _, a := range needs {
		if reason, ok := s.Lacks[a]; ok {
			return string(a) + ": " + reason, true
		}
	}
	return "", false
}
