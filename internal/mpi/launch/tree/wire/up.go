package wire

// Up says that an agent and all below it run.
type Up struct{}

func (*Up) kind() byte { return kindUp }

func (*Up) fields(*codec) {}

// Output is whole lines that a rank wrote, or a piece of a long one.
type Output struct {
	Group, Rank int
	Errors      bool // the standard error
	Data        []byte
}

func (*Output) kind() byte { return kindOutput }

func (f *Output) fields(c *codec) {
	c.number(&f.Group, GroupsMax)
	c.number(&f.Rank, RanksMax)
	c.flag(&f.Errors)
	c.bytes(&f.Data, OutputBytesMax)
}

// Fence says that all processes of a group in a part of the tree wait in a fence, and which pairs
// they have put. More frames of the same fence follow unless Last is set.
type Fence struct {
	Group int
	Pairs []Pair
	Last  bool
}

func (*Fence) kind() byte { return kindFence }

func (f *Fence) fields(c *codec) { c.fence(&f.Group, &f.Pairs, &f.Last) }

// State says that some process of a group in a part of the tree has called Init or, if All is set,
// that all have that still run.
type State struct {
	Group int
	All   bool
}

func (*State) kind() byte { return kindState }

func (f *State) fields(c *codec) {
	c.number(&f.Group, GroupsMax)
	c.flag(&f.All)
}

// A Run is Count ranks from Rank on that ended in the same way. Process is the process of the first.
type Run struct {
	Rank, Count   int
	Status, State int // as wait(2) and PMI have them
	Process       int
}

// Ended says which ranks have ended, in order. Done says that no process of the group is left in this
// part of the tree, and that all of their output has been sent.
type Ended struct {
	Group int
	Runs  []Run
	Done  bool
}

func (*Ended) kind() byte { return kindEnded }

func (f *Ended) fields(c *codec) {
	c.number(&f.Group, GroupsMax)
	list(c, &f.Runs, RanksMax, func(r *Run) {
		c.number(&r.Rank, RanksMax)
		c.number(&r.Count, RanksMax)
		c.number(&r.Status, CodeMax)
		c.number(&r.State, 3)
		c.number(&r.Process, CodeMax)
	})
	c.flag(&f.Done)
}

// What an Ask asks for.
const (
	AskGet = iota // the value of Key
	AskPublish
	AskUnpublish
	AskLookup
	AskSpawn
	askEnd
)

// Ask is a question of a process to the launcher. Agents on the way answer it if they can.
type Ask struct {
	Node, Ask, Group, Rank int
	What                   int
	Key, Value             string
	Programs               []Program
	Pairs                  []Pair
}

func (*Ask) kind() byte { return kindAsk }

func (f *Ask) fields(c *codec) {
	c.number(&f.Node, NodesMax)
	c.number(&f.Ask, AsksMax)
	c.number(&f.Group, GroupsMax)
	c.number(&f.Rank, RanksMax)
	c.number(&f.What, askEnd-1)
	c.text(&f.Key, ValueBytesMax)
	c.text(&f.Value, ValueBytesMax)
	c.programs(&f.Programs)
	c.pairs(&f.Pairs)
}

// Abort says that a process wants to end the job, or, if Babble is set, that it breaks the rules of
// PMI.
type Abort struct {
	Group, Rank, Process int
	Code                 int // modulo 256
	Text                 string
	Babble               bool
}

func (*Abort) kind() byte { return kindAbort }

func (f *Abort) fields(c *codec) {
	c.number(&f.Group, GroupsMax)
	c.number(&f.Rank, RanksMax)
	c.number(&f.Process, CodeMax)
	c.number(&f.Code, 255)
	c.text(&f.Text, TextBytesMax)
	c.flag(&f.Babble)
}

// Missing has ranks of a group that have not called Init, at most MissingMax, and how many more there are.
type Missing struct {
	Group int
	Ranks []int
	More  int
}

func (*Missing) kind() byte { return kindMissing }

func (f *Missing) fields(c *codec) {
	c.number(&f.Group, GroupsMax)
	list(c, &f.Ranks, MissingMax, func(r *int) { c.number(r, RanksMax) })
	c.number(&f.More, RanksMax)
}

// Say is a sentence of an agent, or of the command that starts it, for the user.
type Say struct {
	Node int
	Text string
}

func (*Say) kind() byte { return kindSay }

func (f *Say) fields(c *codec) {
	c.number(&f.Node, NodesMax)
	c.text(&f.Text, TextBytesMax)
}

// Lost says that the agent of a node cannot be reached any more, and so none below it.
type Lost struct {
	Node int
	Why  string
}

func (*Lost) kind() byte { return kindLost }

func (f *Lost) fields(c *codec) {
	c.number(&f.Node, NodesMax)
	c.text(&f.Why, TextBytesMax)
}

// Failed says that a process of a group could not be started on a node.
type Failed struct {
	Group, Node int
	Class       int
	Text        string
}

func (*Failed) kind() byte { return kindFailed }

func (f *Failed) fields(c *codec) {
	c.number(&f.Group, GroupsMax)
	c.number(&f.Node, NodesMax)
	c.number(&f.Class, 255)
	c.text(&f.Text, TextBytesMax)
}

// InputTaken says that rank 0 has taken so many bytes of Input.
type InputTaken struct{ Bytes int }

func (*InputTaken) kind() byte { return kindInputTaken }

func (f *InputTaken) fields(c *codec) { c.number(&f.Bytes, CodeMax) }

// Started says that all processes of a group in a part of the tree have been started.
type Started struct{ Group int }

func (*Started) kind() byte { return kindStarted }

func (f *Started) fields(c *codec) { c.number(&f.Group, GroupsMax) }
