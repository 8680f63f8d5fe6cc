/*
 * One large message between two connected sides: internal/via/bulk twice, over a
 * link that is reliable and in order. See README.md.
 *
 * Side 0 sends, side 1 receives. The receiver reads the bytes below mine by RDMA
 * and asks the sender for the rest, which comes by RDMA or in DATA packets. An
 * RDMA may take any time; it comes back in order. Always:
 *   no byte is moved twice; no packet arrives that the other side must refuse;
 *   a side does not end while an RDMA of the other one uses its memory.
 * When nothing moves any more:
 *   both sides have ended, and every byte was moved.
 *
 * BUG plants one of the errors that the checks above must find.
 */

#ifndef BUG
#define BUG 0
#endif
#define BUG_FIN_EARLY   1  /* a part counts as moved once the NIC has it */
#define BUG_NO_FIN      2  /* a receiver that reads everything does not say so */
#define BUG_FIN_TWICE   3  /* a receiver without a part says that it has moved it */
#define BUG_ENDS_ALONE  4  /* a side ends when its own part is moved */
#define BUG_OVERLAP     5  /* the sender is asked for the bytes that the receiver reads */
#define BUG_FIN_IGNORED 6  /* the sender does not take a FIN before its part is moved */
#define BUG_DATA_HALF   7  /* the receiver reads a part although the rest comes as DATA */

#ifndef SIZE
#define SIZE 4  /* bytes */
#endif

mtype = { unused, announced, moving, ended };
mtype = { none, read, write, data };
mtype = { RTS, CTS, DATA, FIN };

/* By side: */
mtype state[2] = unused;
mtype mode[2] = none;
byte begin[2];
byte next[2];
byte limit[2];
byte done[2];
byte under[2];    /* bytes that an RDMA of this side moves now: those after begin + done */
bit  peer_done[2];
bit  fin_sent[2];

chan to[2] = [SIZE + 2] of { mtype, byte, bit };  /* kind, offset, memory is open or all was moved */
byte arrived;     /* in DATA packets */
bit  opened;      /* the receiver's memory is */
bit  too_short;   /* the receive is */
byte moved[SIZE]; /* how often */

inline move_byte(n) {
	moved[n]++;
	assert(moved[n] == 1)
}

inline end_it(s) {
	state[s] = ended;
	assert(under[s] == 0 && under[1 - s] == 0)
}

#if BUG == BUG_FIN_EARLY
#define PART_MOVED(s) (next[s] == limit[s])
#else
#define PART_MOVED(s) (done[s] == limit[s] - begin[s])
#endif

#if BUG == BUG_ENDS_ALONE
#define PEER_DONE(s) true
#else
#define PEER_DONE(s) peer_done[s]
#endif

inline progress(s) {
	if
	:: state[s] == moving && PART_MOVED(s) ->
		if
#if BUG == BUG_NO_FIN
		:: !fin_sent[s] && s == 1 && limit[s] == SIZE -> fin_sent[s] = 1
		:: !fin_sent[s] && !(s == 1 && limit[s] == SIZE) -> fin_sent[s] = 1; to[1 - s]!FIN(0, 1)
#else
		:: !fin_sent[s] -> fin_sent[s] = 1; to[1 - s]!FIN(0, 1)
#endif
		:: else
		fi;
		if
		:: PEER_DONE(s) -> end_it(s)
		:: else
		fi
	:: else
	fi
}

inline accept(mine, rdma) {
	state[1] = moving;
	limit[1] = mine;
	if
	:: mine > 0 -> mode[1] = read
	:: else
	fi;
	peer_done[1] = (mine == SIZE);
	if
	:: mine < SIZE ->
#if BUG != BUG_FIN_TWICE
		fin_sent[1] = (mine == 0);
#endif
		opened = rdma;
#if BUG == BUG_OVERLAP
		to[0]!CTS(0, rdma)
#else
		to[0]!CTS(mine, rdma)
#endif
	:: else
	fi;
	progress(1)
}

inline ask(from, rdma) {
	assert(state[0] == announced && from < SIZE);
	state[0] = moving;
	begin[0] = from; next[0] = from; limit[0] = SIZE;
	peer_done[0] = (from == 0);
	mode[0] = (rdma -> write : data)
}

inline give(s) {
	if
	:: mode[s] == data -> to[1 - s]!DATA(next[s], 0); next[s]++; done[s]++
	:: else -> next[s]++; under[s]++
	fi;
	progress(s)
}

inline complete(s) {
	move_byte(begin[s] + done[s]);
	under[s]--; done[s]++;
	progress(s)
}

inline finish(s, all) {
	if
	:: state[s] == announced -> end_it(s)
	:: else ->
		assert(state[s] == moving && !peer_done[s] && all);
		assert(mode[s] != none || opened || arrived == SIZE);
		peer_done[s] = 1;
		progress(s)
	fi
}

#if BUG == BUG_FIN_IGNORED
#define TAKES_FIN(s) (state[s] == announced || PART_MOVED(s) || s == 1)
#else
#define TAKES_FIN(s) true
#endif

proctype side(bit s) {
	byte n;
	bit ok;
end:	do
	:: atomic { s == 1 && to[s]?[RTS] -> to[s]?RTS(n, ok);
		if
		:: too_short = 1; state[1] = ended; to[0]!FIN(0, 0)
		:: accept(0, 0)
		:: accept(0, 1)
		:: accept(SIZE, 0)
		:: accept(SIZE / 2, 1)
#if BUG == BUG_DATA_HALF
		:: accept(SIZE / 2, 0)
#endif
		fi; n = 0; ok = 0 }
	:: atomic { to[s]?[CTS] -> to[s]?CTS(n, ok); ask(n, ok); n = 0; ok = 0 }
	:: atomic { to[s]?[DATA] -> to[s]?DATA(n, ok);
		assert(state[s] == moving && mode[s] == none && n == arrived);
		arrived++; move_byte(n); n = 0 }
	:: atomic { to[s]?[FIN] -> to[s]?FIN(n, ok);
		if
		:: TAKES_FIN(s) -> finish(s, ok)
		:: else
		fi; n = 0; ok = 0 }
	:: atomic { state[s] == moving && next[s] < limit[s] -> give(s) }
	:: atomic { under[s] > 0 -> complete(s) }
	od
}

init {
	byte i;
	atomic {
		state[0] = announced;
		to[1]!RTS(0, 0);
		run side(0);
		run side(1)
	}
	timeout;
	assert(state[0] == ended && state[1] == ended);
	for (i : 0 .. SIZE - 1) {
		assert(moved[i] == 1 - too_short)
	}
}
