// Package tree is what an agent of a job does between its parent and its children: a pure state
// machine. Frames go in, with the neighbour that they come from, and frames for neighbours come out.
// The processes on the agent's own host are one more neighbour, Here. Package launch has the links
// and the processes.
//
// The launcher is node 0 and has no processes; what it decides comes from Up, and what it must know
// goes there. Nodes are numbered as in a heap: the children of node i are arity*i+1 and so on.
//
// Everything that all processes do together (Init, fences, ends) costs each node a number of
// messages that depends on its number of children only. Output has a window on each link, so that a
// reader that does not read stops the processes that write, and nothing else.
package tree
