"""Test of python_test.go: a session does not take more from its program than it can pass on."""

import asyncio
from collections.abc import AsyncIterator

import method_pb2 as pb
import session
from loop import Endpoint, Network
from session import Session

SIZE = 64 << 10
COUNT = 500
session.HELD_MAX = 16 * SIZE


async def main() -> None:
    network = Network()
    to = Session(Endpoint(network, "pyloop://to"))
    sender = Session(Endpoint(network, "pyloop://from"))
    taken = 0

    async def records() -> AsyncIterator[pb.Record]:
        nonlocal taken
        yield pb.Record(kind=pb.PEER, peer=1, text="pyloop://to")
        for op in range(1, COUNT + 1):
            taken += 1
            yield pb.Record(kind=pb.SEND, op=op, peer=1, tag=1, message=bytes(SIZE))

    async def settle() -> None:
        before = -1
        while before != taken:
            before = taken
            await asyncio.sleep(0)

    heard = asyncio.create_task(sender.hear(records()))
    await settle()
    assert taken == session.HELD_MAX // SIZE + 1, f"the session took {taken} messages that nobody receives"
    to.take(pb.Record(kind=pb.PEER, peer=1, text="pyloop://from"))
    for op in range(1, COUNT + 1):
        to.take(pb.Record(kind=pb.RECV, op=op, peer=1, tag=1, size=SIZE))
        await settle()
        assert sender.endpoint.held <= session.HELD_MAX + SIZE
    await heard
    assert taken == COUNT and sender.endpoint.held == 0, (taken, sender.endpoint.held)
    assert [over.size for over in to.endpoint.over] == [SIZE] * COUNT
    # What is cancelled or closed is not held either.
    sender.take(pb.Record(kind=pb.SEND, op=1, peer=1, tag=2, message=bytes(SIZE)))
    sender.take(pb.Record(kind=pb.SEND, op=2, peer=1, tag=2, message=bytes(SIZE)))
    sender.take(pb.Record(kind=pb.CANCEL, op=1))
    assert sender.endpoint.held == SIZE
    sender.endpoint.close()
    assert sender.endpoint.held == 0


asyncio.run(main())
