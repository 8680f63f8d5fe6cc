package wire

// A Host is a node of the tree with its name.
type Host struct {
	Node int
	Name string
}

// Hello is the first frame to an agent: who it is, and the part of the tree below it.
type Hello struct {
	Version            int
	Node, Arity, Nodes int // Nodes includes the launcher, node 0
	Job                string
	Secret             []byte
	Shell              []string // the command, without the host's name, that starts a program on a host
	Agent              string   // path of the program that becomes an agent
	Hosts              []Host   // the agent itself and all below it
	KeepGoing          bool
	GraceMillis        int
}

func (*Hello) kind() byte { return kindHello }

func (f *Hello) fields(c *codec) {
	c.number(&f.Version, CodeMax)
	c.number(&f.Node, NodesMax)
	c.number(&f.Arity, NodesMax)
	c.number(&f.Nodes, NodesMax)
	c.text(&f.Job, TextBytesMax)
	c.bytes(&f.Secret, TextBytesMax)
	c.texts(&f.Shell, TextBytesMax)
	c.text(&f.Agent, TextBytesMax)
	list(c, &f.Hosts, NodesMax, func(h *Host) {
		c.number(&h.Node, NodesMax)
		c.text(&h.Name, TextBytesMax)
	})
	c.flag(&f.KeepGoing)
	c.number(&f.GraceMillis, CodeMax)
}

// A Program is one part of a group: N processes of the same file.
type Program struct {
	N    int
	Name string // argument 0
	Path string
	Args []string
	Env  []string
	Dir  string
}

// A Block is PerNode ranks on each of Nodes nodes, from First on. A list of blocks is repeated until
// all ranks of a group have a node.
type Block struct{ First, Nodes, PerNode int }

// A Pair is a key and a value of PMI.
type Pair struct{ Key, Value string }

// Start starts the processes of a group, each agent its own.
type Start struct {
	Group    int
	Programs []Program
	Env      []string // of all programs, before their own
	Blocks   []Block
	Preput   []Pair
	Universe int
	Bind     string // what each process is bound to; empty: nothing
	Report   bool   // say what each process is bound to
}

func (*Start) kind() byte { return kindStart }

func (f *Start) fields(c *codec) {
	c.number(&f.Group, GroupsMax)
	c.programs(&f.Programs)
	c.texts(&f.Env, ArgBytesMax)
	list(c, &f.Blocks, ListMax, func(b *Block) {
		c.number(&b.First, NodesMax)
		c.number(&b.Nodes, NodesMax)
		c.number(&b.PerNode, RanksMax)
	})
	c.pairs(&f.Preput)
	c.number(&f.Universe, CodeMax)
	c.text(&f.Bind, TextBytesMax)
	c.flag(&f.Report)
}

// Release ends a fence. Pairs are those that were put since the fence before. If there are too many,
// Pairs is empty, and nodes ask for single pairs. More frames of the same fence follow unless Last is
// set.
type Release struct {
	Group int
	Pairs []Pair
	Last  bool
}

func (*Release) kind() byte { return kindRelease }

func (f *Release) fields(c *codec) { c.fence(&f.Group, &f.Pairs, &f.Last) }

// Answer answers an Ask of a node. Pairs are the one that was asked for and its neighbours.
type Answer struct {
	Node, Ask, Group int
	OK               bool
	Text             string
	Pairs            []Pair
}

func (*Answer) kind() byte { return kindAnswer }

func (f *Answer) fields(c *codec) {
	c.number(&f.Node, NodesMax)
	c.number(&f.Ask, AsksMax)
	c.number(&f.Group, GroupsMax)
	c.flag(&f.OK)
	c.text(&f.Text, ValueBytesMax)
	c.pairs(&f.Pairs)
}

// Signal sends a signal to all processes of a group.
type Signal struct {
	Group, Number int
	Alone         bool // not to the processes that they started
	Ending        bool // the job ends: ends of processes need not be reported before all have ended
}

func (*Signal) kind() byte { return kindSignal }

func (f *Signal) fields(c *codec) {
	c.number(&f.Group, GroupsMax)
	c.number(&f.Number, 1<<10)
	c.flag(&f.Alone)
	c.flag(&f.Ending)
}

// Input is input of rank 0 of the first group, which runs on Node.
type Input struct {
	Node int
	Data []byte
	End  bool
}

func (*Input) kind() byte { return kindInput }

func (f *Input) fields(c *codec) {
	c.number(&f.Node, NodesMax)
	c.bytes(&f.Data, OutputBytesMax)
	c.flag(&f.End)
}

// Who asks for the ranks that have not called Init. Missing answers.
type Who struct{ Group int }

func (*Who) kind() byte { return kindWho }

func (f *Who) fields(c *codec) { c.number(&f.Group, GroupsMax) }

// OutputTaken says that so many bytes of Output have been passed on, so that more may come.
type OutputTaken struct{ Bytes int }

func (*OutputTaken) kind() byte { return kindOutputTaken }

func (f *OutputTaken) fields(c *codec) { c.number(&f.Bytes, CodeMax) }
