"""The method: the endpoints of one process, which reach each other by name, "pyloop://NAME".

It behaves like a real transport. A small message leaves its sender at once and waits for its
receive; a large one, or one beyond a limit, stays with its sender until it is taken. A missing
endpoint cannot be reached, and closing an endpoint ends its operations. bmi/bmitest is the same
in Go.

The module knows nothing of gRPC, processes or threads. Every call runs to its end at once, and
its results wait in Endpoint.over and Endpoint.callers until the session sends them.
"""

from __future__ import annotations

import fnmatch
import re
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import method_pb2 as pb

NAME = "pyloop"  # the scheme of the addresses

# Limits, in bytes unless stated otherwise.
EXPECTED_MAX = 16 << 20
UNEXPECTED_MAX = 64 << 10
EAGER_MAX = 16 << 10
EARLY_MESSAGES_MAX = 1024  # messages of a peer that leave their sender before a receive is posted
CREDITS = 64  # unexpected messages to a peer that leave their senders before they are taken

ADDRESS = re.compile(NAME + r"://([A-Za-z0-9._-]{1,200})")


class Failure(Exception):
    """The error of an operation or a call."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def closed() -> Failure:
    return Failure(pb.CLOSED, "the endpoint is closed")


def name_of(address: str) -> str:
    """Returns the name in an address."""
    match = ADDRESS.fullmatch(address)
    if match is None:
        text = f"bad address {address[:100]!r}: it must look like {NAME}://NAME, of letters, digits and . _ -"
        raise Failure(pb.BAD_ADDRESS, text)
    return match[1]


@dataclass(eq=False)
class Operation:
    """A send or a receive in progress."""

    id: int
    peer: Peer
    tag: int
    size: int  # of a receive: the size of its buffer
    # The queue in which it waits, and its entry there: a receive itself, or the message of a send.
    queue: deque = field(default_factory=deque)
    waiting: Operation | Message | None = None

    def wait(self, queue: deque, waiting: Operation | Message) -> None:
        self.queue, self.waiting = queue, waiting
        queue.append(waiting)


@dataclass(eq=False)
class Message:
    """A message between its send and its receive."""

    cls: int
    tag: int
    data: bytes
    send: Operation | None  # that ends when the message is taken; None: it has ended


Waiting = TypeVar("Waiting", Operation, Message)


@dataclass(frozen=True)
class Over:
    """How an operation ended."""

    id: int
    status: int = pb.OK
    text: str = ""
    size: int = 0
    message: bytes = b""


@dataclass(eq=False)
class Peer:
    """A remote endpoint, as one endpoint sees it."""

    local: Endpoint
    name: str
    # How the remote endpoint sees this one, while they are connected: self.twin.twin is self.
    twin: Peer | None = None
    # The connection ended, and there is no new one. A receive then fails at once: this side cannot
    # know whether the program posted it before or after it learned of the end.
    broken: bool = False
    held: bool = False  # the program accepts no unexpected messages from it
    receives: deque[Operation] = field(default_factory=deque)  # without a message, in order
    early: deque[Message] = field(default_factory=deque)  # without a receive, in order
    unexpected: deque[Message] = field(default_factory=deque)  # not taken, in order

    def __str__(self) -> str:
        return f"{NAME}://{self.name}"


class Network:
    """The endpoints of a process, by name."""

    def __init__(self) -> None:
        self.endpoints: dict[str, Endpoint] = {}
        self.nameless = 0

    def add(self, endpoint: Endpoint) -> None:
        if endpoint.name in self.endpoints:
            raise Failure(pb.NAME_TAKEN, f"{NAME}://{endpoint.name} is taken: another endpoint listens there")
        self.endpoints[endpoint.name] = endpoint

    def add_nameless(self, endpoint: Endpoint) -> None:
        """Gives an endpoint that does not listen a name, so that others can answer it."""
        while not endpoint.name or endpoint.name in self.endpoints:
            self.nameless += 1
            endpoint.name = f"client-{self.nameless}"
        self.endpoints[endpoint.name] = endpoint


class Endpoint:
    """One endpoint: its operations, and its peers."""

    def __init__(self, network: Network, listen: str | None) -> None:
        self.network = network
        self.name = name_of(listen) if listen else ""
        self.closed = False
        self.peers: dict[str, Peer] = {}
        self.operations: dict[int, Operation] = {}
        self.counts: Counter[str] = Counter()
        # Bytes of the messages whose sends have not ended, and a function to call when there are fewer.
        self.held = 0
        self.lighter: Callable[[], None] = lambda: None
        # Results for the program, and a function to call when there are new ones.
        self.over: deque[Over] = deque()
        self.callers: deque[Peer] = deque()  # with unexpected messages, in the order of their turns
        self.notify: Callable[[], None] = lambda: None
        if listen:
            network.add(self)

    def peer(self, name: str) -> Peer:
        """Returns the peer with a name, and makes it if there is none."""
        if name not in self.peers:
            self.peers[name] = Peer(self, name)
        return self.peers[name]

    def refuse(self, id: int, why: Failure) -> None:
        """Ends an operation that never began."""
        self.over.append(Over(id, why.status, str(why)))
        self.notify()

    def send(self, id: int, peer: Peer, cls: int, tag: int, data: bytes, expected: bool) -> None:
        """Posts a send."""
        limit = EXPECTED_MAX if expected else UNEXPECTED_MAX
        if len(data) > limit:
            return self.refuse(id, Failure(pb.TOO_LARGE, f"{len(data)} bytes are too large, the limit is {limit}"))
        try:
            twin = self._connect(peer)
        except Failure as failure:
            return self.refuse(id, failure)
        self.operations[id] = operation = Operation(id, peer, tag, len(data))
        self.counts.update(MessagesSent=1, BytesSent=len(data), UnexpectedSent=int(not expected))
        message = Message(cls, tag, data, operation)
        if not expected:
            self._lend(message, twin.unexpected, CREDITS)
            twin.local._call(twin)
        elif (receive := _with_tag(twin.receives, tag)) is not None:
            twin.local._deliver(message, receive)
        else:
            self._lend(message, twin.early, EARLY_MESSAGES_MAX)

    def receive(self, id: int, peer: Peer, tag: int, size: int) -> None:
        """Posts a receive."""
        if self.closed:
            return self.refuse(id, closed())
        message = _with_tag(peer.early, tag)
        if message is None and peer.broken:
            return self.refuse(id, Failure(pb.PEER_FAILED, f"peer failed: the connection to {peer} ended"))
        self.operations[id] = operation = Operation(id, peer, tag, size)
        if message is not None:
            self._deliver(message, operation)
        else:
            operation.wait(peer.receives, operation)

    def cancel(self, id: int) -> None:
        """Ends an operation early, unless it has ended already."""
        if operation := self.operations.get(id):
            self._end(operation, Failure(pb.CANCELLED, "cancelled"))

    def hold(self, peer: Peer, held: bool) -> None:
        """Stops the unexpected messages from a peer, or resumes them."""
        peer.held = held
        self._call(peer)

    def caller(self) -> Peer | None:
        """Returns the peer whose unexpected message is the next one for the program."""
        while self.callers and (self.callers[0].held or not self.callers[0].unexpected):
            self.callers.popleft()
        return self.callers[0] if self.callers else None

    def take_unexpected(self, caller: Peer) -> Message:
        """Takes a message of the caller, whose next turn comes after all others."""
        self.callers.popleft()
        message = caller.unexpected.popleft()
        self._taken(message)
        self.counts.update(MessagesReceived=1, BytesReceived=len(message.data), UnexpectedReceived=1)
        self._call(caller)
        return message

    def drop(self, peer: Peer) -> None:
        """Removes a peer and its messages."""
        if self.peers.get(peer.name) is peer:
            del self.peers[peer.name]
        self._part(peer, Failure(pb.DROPPED, f"dropped: {peer}"))
        peer.early.clear()
        peer.unexpected.clear()

    def check(self, name: str) -> None:
        """Raises the error with which a post to a remote endpoint would most likely end."""
        if name not in self.network.endpoints:
            raise Failure(pb.UNREACHABLE, f"unreachable: no endpoint listens at {NAME}://{name}")

    def in_range(self, name: str, pattern: str) -> bool:
        """Tells whether a remote endpoint's address matches a pattern with * and ?."""
        return fnmatch.fnmatchcase(f"{NAME}://{name}", pattern)

    def sending(self) -> bool:
        """Tells whether any message still needs this side."""
        return any(isinstance(o.waiting, Message) for o in self.operations.values())

    def stats(self) -> dict[str, object]:
        """Returns bmi.MethodStats and the bmi.PeerStats of each peer."""
        peers = self.peers.values()
        return {
            "Method": {
                "Method": NAME,
                **self.counts,
                "Peers": len(peers),
                "Connected": sum(p.twin is not None for p in peers),
                "PostedRecvs": sum(len(p.receives) for p in peers),
                "EarlyMessages": sum(len(p.early) for p in peers),
            },
            "Peers": [
                {"Method": NAME, "Addr": str(p), "State": "READY" if p.twin else "INIT", "Refs": len(p.receives)}
                for p in peers
            ],
        }

    def close(self) -> None:
        """Ends everything."""
        if self.closed:
            return
        self.closed = True
        self.network.endpoints.pop(self.name, None)
        for peer in list(self.peers.values()):
            self._part(peer, closed())
        self.notify()

    def _connect(self, peer: Peer) -> Peer:
        """Connects to a peer if necessary, and returns the other end."""
        if self.closed:
            raise closed()
        if peer.twin is None:
            self.check(peer.name)
            if not self.name:
                self.network.add_nameless(self)
            twin = self.network.endpoints[peer.name].peer(self.name)
            peer.twin, twin.twin = twin, peer
            peer.broken = twin.broken = False
            self.counts["Connects"] += 1
        return peer.twin

    def _lend(self, message: Message, queue: deque[Message], limit: int) -> None:
        """Queues a message; its send ends at once unless it is large or beyond the limit."""
        message.send.wait(queue, message)
        self.held += len(message.data)
        if len(message.data) <= EAGER_MAX and len(queue) <= limit:
            self._taken(message)

    def _taken(self, message: Message) -> None:
        """Ends the send of a message that was taken."""
        if message.send is not None:
            sender = message.send.peer.local
            sender._let_go(message.send)
            sender._tell(message.send, Over(message.send.id, size=len(message.data)))
            message.send = None

    def _deliver(self, message: Message, receive: Operation) -> None:
        """Ends a receive, and the send of its message."""
        size = len(message.data)
        self._taken(message)
        self.counts.update(MessagesReceived=1, BytesReceived=size)
        if size > receive.size:
            text = f"truncated: a message of {size} bytes, the receive has room for {receive.size}"
            self._tell(receive, Over(receive.id, pb.TRUNCATED, text, size))
        else:
            self._tell(receive, Over(receive.id, size=size, message=message.data))

    def _call(self, peer: Peer) -> None:
        """Gives a peer a turn to pass on unexpected messages, if it has any."""
        if peer.unexpected and not peer.held and peer not in self.callers:
            self.callers.append(peer)
            self.notify()

    def _part(self, peer: Peer, why: Failure) -> None:
        """Ends everything with a peer, and the connection."""
        twin, peer.twin = peer.twin, None
        self._end_all(peer, why)
        if twin is not None:
            twin.twin, twin.broken = None, True
            failed = Failure(pb.PEER_FAILED, f"peer failed: {twin} ended the connection")
            twin.local._end_all(twin, failed)

    def _end_all(self, peer: Peer, why: Failure) -> None:
        for operation in [o for o in self.operations.values() if o.peer is peer]:
            self._end(operation, why)

    def _end(self, operation: Operation, why: Failure) -> None:
        """Ends an operation without a message."""
        if operation.waiting is not None:
            operation.queue.remove(operation.waiting)
        self._let_go(operation)
        self._tell(operation, Over(operation.id, why.status, str(why)))

    def _let_go(self, operation: Operation) -> None:
        """Counts the message of a send that ends."""
        if isinstance(operation.waiting, Message):
            self.held -= len(operation.waiting.data)
            self.lighter()

    def _tell(self, operation: Operation, over: Over) -> None:
        del self.operations[operation.id]
        self.over.append(over)
        self.notify()


def _with_tag(queue: deque[Waiting], tag: int) -> Waiting | None:
    """Takes the first operation or message with a tag out of a queue."""
    for waiting in queue:
        if waiting.tag == tag:
            queue.remove(waiting)
            return waiting
    return None
