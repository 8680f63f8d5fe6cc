"""A session: one endpoint, and the stream of records by which a program uses it.

Operations and peers have numbers in the records. The side that met a peer first gives it a
number (this side from 2^63 on). If both meet it at the same time, it has two.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable

import method_pb2 as pb
from loop import EXPECTED_MAX, Endpoint, Failure, Over, Peer, name_of

STRANGERS = 1 << 63
OPERATIONS_MAX = PEERS_MAX = 1 << 20
TEXT_MAX = 1024  # bytes
HELD_MAX = 64 << 20  # bytes of sends in progress; beyond it, the stream is not read


class RuleBroken(Exception):
    """The program sent a record that breaks the rules."""


class Session:
    """An endpoint for a program."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.peers: dict[int, Peer | Failure] = {}
        self.numbers: dict[Peer, int] = {}
        self.latest = STRANGERS
        self.attached = False
        self.broken = ""  # the broken rule
        self.news = asyncio.Event()
        self.room = asyncio.Event()  # the endpoint holds less than before
        self.heard_all = asyncio.Event()  # the program has sent everything
        self.told_all = asyncio.Event()  # the stream has ended
        endpoint.notify = self.news.set
        endpoint.lighter = self.room.set

    async def hear(self, records: AsyncIterator[pb.Record]) -> None:
        """Handles the program's records until it has sent all, or breaks the rules.

        A record brings its message, wherever that goes. So the stream is left alone while there
        are too many bytes without a receiver; the program then waits.
        """
        try:
            async for record in records:
                self.take(record)
                while self.endpoint.held > HELD_MAX:
                    self.room.clear()
                    await self.room.wait()
        except RuleBroken as broken:
            self.broken = str(broken)
            self.endpoint.close()
        finally:
            self.heard_all.set()

    async def tell(self) -> AsyncIterator[pb.Record]:
        """Yields the records for the program, until the endpoint is closed and all are sent."""
        while True:
            if record := self.next():
                yield record
            elif self.endpoint.closed:
                return
            else:
                self.news.clear()
                await self.news.wait()

    async def close(self, drain: float) -> None:
        """Ends the session: up to drain seconds may pass until all that was posted is sent."""
        if self.attached:
            # This call may have overtaken the last records. After them the program ends its
            # direction of the stream.
            await within(drain, self.heard_all.wait())
        await within(drain, self._sent())
        self.endpoint.close()
        if self.attached:
            await self.told_all.wait()

    def take(self, record: pb.Record) -> None:
        """Handles one record."""
        match record.kind:
            case pb.SEND | pb.SEND_UNEXPECTED | pb.RECV:
                self._post(record)
            case pb.CANCEL:
                self.endpoint.cancel(record.op)  # does nothing if it has ended: the two records may cross
            case pb.PEER:
                self._meet(record.peer, record.text)
            case pb.DROP:
                self._drop(record.peer)
            case pb.HOLD | pb.GO_ON:
                peer = self.peers.get(record.peer)
                if isinstance(peer, Peer):  # otherwise it was dropped meanwhile
                    self.endpoint.hold(peer, record.kind == pb.HOLD)
            case _:
                raise RuleBroken(f"a record of kind {record.kind} is not for a plugin")

    def next(self) -> pb.Record | None:
        """Returns the next record for the program."""
        endpoint = self.endpoint
        if endpoint.over:
            return _done(endpoint.over.popleft())
        if (caller := endpoint.caller()) is None:
            return None
        if caller not in self.numbers:
            self.latest += 1
            self.numbers[caller], self.peers[self.latest] = self.latest, caller
            return pb.Record(kind=pb.STRANGER, peer=self.latest, text=str(caller))
        message = endpoint.take_unexpected(caller)
        return _record(pb.ARRIVED, peer=self.numbers[caller], tag=message.tag, message=message.data, cls=message.cls)

    async def _sent(self) -> None:
        while self.endpoint.sending():
            await asyncio.sleep(0.002)

    def _post(self, record: pb.Record) -> None:
        endpoint = self.endpoint
        if record.op in endpoint.operations or len(endpoint.operations) + len(endpoint.over) >= OPERATIONS_MAX:
            raise RuleBroken(f"operation {record.op} is under way, or there are too many")
        unknown = Failure(pb.INVALID, f"no peer has the number {record.peer}")
        match self.peers.get(record.peer, unknown):
            case Peer() as peer if record.kind == pb.RECV:
                endpoint.receive(record.op, peer, record.tag, min(record.size, EXPECTED_MAX))
            case Peer() as peer:
                expected = record.kind == pb.SEND
                endpoint.send(record.op, peer, getattr(record, "class"), record.tag, record.message, expected)
            case Failure() as failure:
                endpoint.refuse(record.op, failure)

    def _meet(self, number: int, address: str) -> None:
        if number >= STRANGERS or number in self.peers or len(self.peers) >= PEERS_MAX:
            raise RuleBroken(f"the number {number} is not for a program to give, taken, or one too many")
        try:
            peer = self.endpoint.peer(name_of(address))
        except Failure as failure:
            self.peers[number] = failure
        else:
            self.peers[number] = peer
            self.numbers.setdefault(peer, number)

    def _drop(self, number: int) -> None:
        peer = self.peers.pop(number, None)
        if peer is None:
            raise RuleBroken(f"drop of the unknown number {number}")
        if isinstance(peer, Peer):
            self.numbers.pop(peer, None)
            self.endpoint.drop(peer)


async def within(seconds: float, work: Awaitable[object]) -> None:
    """Waits for work, for at most seconds."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(work, seconds)


def _record(kind: int, *, cls: int = 0, **fields: object) -> pb.Record:
    """Makes a record. The name of the field "class" is a keyword in Python."""
    return pb.Record(kind=kind, **{"class": cls}, **fields)


def _done(over: Over) -> pb.Record:
    text = over.text.encode()[:TEXT_MAX].decode(errors="ignore")
    return _record(pb.DONE, op=over.id, status=over.status, text=text, size=over.size, message=over.message)
