package tree

// Neighbours of a node that are no children.
const (
	Up   = -1 // the parent; of node 0, the launcher itself
	Here = -2 // the processes of the node
)

// Parent returns the parent of a node other than 0.
func Parent(node, arity int) int { return (node - 1) / arity }

// Children returns the first child of a node, and how many it has.
func Children(node, arity, nodes int) (first, count int) {
	first = node*arity + 1
	return first, max(0, min(arity, nodes-first))
}

// Below tells whether a node is another one or below it.
func Below(node, above, arity int) bool {
	for node > above {
		node = Parent(node, arity)
	}
	return node == above
}

// Toward returns the child of from on the way to a node below from.
func Toward(from, to, arity int) int {
	for Parent(to, arity) != from {
		to = Parent(to, arity)
	}
	return to
}
