// Package peers has the peers of an endpoint of the VIA method, and their connections. It
// carries out what the machine of each peer (package peer) decides, over package link.
//
//	resolve    names of peers, new ones, and those that are forgotten
//	event      what links tell of themselves (link.Consumer)
//	handshake  CONN_REQ, CONN_ACK, CANCEL and KEEP_ALIVE that arrive; time that has passed
//	end        Drop, Check, closing
//	step       events of the machines, and their actions
//	fail       why a connection ended
//	hello      packets of the handshake on their way out
//	peer       the records, and the interface that their user has
//
// Each file uses only those below it. Operations with a peer are the user's business
// (package ops): a Peer is the lower part of the user's record, and the user is told when
// a connection begins and ends.
package peers
