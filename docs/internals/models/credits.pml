/*
 * Credit flow control between two connected sides: internal/via/flow
 * twice, over a link that is reliable and in order. See README.md.
 *
 * A credit is one receive that the other side has posted; every packet spends
 * one. Each side gets MESSAGES messages and CONTROLS control packets to send at
 * any time. A user who takes no messages makes his side withhold their
 * credits, until he takes them, which may be never. Always:
 *   the credits of a direction are all somewhere: available, under way, owed
 *   or withheld; nobody spends what is not there, or gets back too many.
 * When nothing moves any more:
 *   every control packet has arrived, whatever the users do; every message has
 *   been sent unless the receiving user still takes none.
 *
 * BUG plants one of the errors that the checks above must find.
 */

#ifndef BUG
#define BUG 0
#endif
#define BUG_NO_EXPLICIT 1  /* credits only come back with other packets */
#define BUG_NO_RESERVE  2  /* messages may spend the last credit */
#define BUG_IGNORES_WITHHELD 3  /* waits for half of all receives, also of withheld ones */
#define BUG_LOST        4  /* what the credit bits cannot carry is forgotten */
#define BUG_WITHHOLDS_ALL 5  /* also the credits of control packets are withheld */

/* In the code 8 at least, and 1 and 3 are reserved; credit bits carry 15. */
#ifndef GRANTED
#define GRANTED 6
#endif
#define CREDIT_RESERVE 1
#define BITS_MAX 2
/* One more than can be under way at once. */
#ifndef MESSAGES
#define MESSAGES (GRANTED - CREDIT_RESERVE - CONTROL_RESERVE + 1)
#endif
#ifndef CONTROLS
#define CONTROLS (CONTROL_RESERVE + 1)
#endif

#if BUG == BUG_NO_RESERVE
#undef CREDIT_RESERVE
#define CREDIT_RESERVE 0
#define CONTROL_RESERVE 0
#else
#ifndef CONTROL_RESERVE
#define CONTROL_RESERVE 2
#endif
#endif

mtype = { message, control, credit };

/* By side: */
byte available[2] = GRANTED;  /* may spend */
byte owed[2];                 /* to the other side */
byte withheld[2];             /* likewise, until the user takes messages */
bit  away[2];                 /* the user takes no messages */
byte messages[2];             /* queued */
byte controls[2];
bit  messages_posted[2];
bit  controls_posted[2];

chan net[2] = [2 * GRANTED] of { mtype, byte };  /* to a side: kind, credits returned */
byte carried[2];  /* credits on their way to a side */
bit  finished;

inline transmit(s, kind, returned) {
	assert(available[s] > 0);
	available[s]--;
	carried[1 - s] = carried[1 - s] + returned;
	assert(nfull(net[1 - s]));
	net[1 - s]!kind(returned)
}

inline take_some(s) {
	n = (owed[s] < BITS_MAX -> owed[s] : BITS_MAX);
#if BUG == BUG_LOST
	owed[s] = 0
#else
	owed[s] = owed[s] - n
#endif
}

inline pump(s) {
	do
	:: controls[s] > 0 && available[s] > CREDIT_RESERVE ->
		controls[s]--; take_some(s); transmit(s, control, n)
	:: controls[s] == 0 && messages[s] > 0 && available[s] > CREDIT_RESERVE + CONTROL_RESERVE ->
		messages[s]--; take_some(s); transmit(s, message, n)
	:: else -> break
	od;
	n = 0
}

#if BUG == BUG_IGNORES_WITHHELD
#define POSTED(s) GRANTED
#else
#define POSTED(s) (GRANTED - withheld[s])
#endif

inline return_credits(s) {
	if
#if BUG != BUG_NO_EXPLICIT
	:: 2 * owed[s] >= POSTED(s) && available[s] > 0 ->
		n = owed[s]; owed[s] = 0; transmit(s, credit, n); n = 0
#endif
	:: else
	fi
}

#if BUG == BUG_WITHHOLDS_ALL
#define WITHHOLDS(kind) true
#else
#define WITHHOLDS(kind) (kind == message)
#endif

inline arrived(s, kind, returned) {
	carried[s] = carried[s] - returned;
	available[s] = available[s] + returned;
	assert(available[s] <= GRANTED);
	if
	:: WITHHOLDS(kind) && away[s] -> withheld[s]++
	:: !(WITHHOLDS(kind) && away[s]) || kind == message -> owed[s]++ /* also a message that finds a receive */
	fi;
	pump(s);
	return_credits(s)
}

/* What side s may spend is with s, under way to the other side in a packet, or
 * the other side's to return, or under way back. */
#define CONSERVED(s) (available[s] + len(net[1 - s]) + owed[1 - s] + withheld[1 - s] + carried[s] == GRANTED)

proctype side(bit s) {
	mtype kind;
	byte returned, n;
end:	do
	:: atomic { net[s]?kind(returned) -> arrived(s, kind, returned);
		kind = 0; returned = 0; assert(CONSERVED(0) && CONSERVED(1)) }
	:: atomic { !messages_posted[s] -> messages_posted[s] = 1; messages[s] = MESSAGES; pump(s) }
	:: atomic { !controls_posted[s] -> controls_posted[s] = 1; controls[s] = CONTROLS; pump(s) }
	od
}

/* A user stops taking messages, and perhaps goes on taking them. */
proctype user(bit s) {
	byte n;
	if
	:: away[s] = 1
	:: true
	fi;
	if
	:: atomic { away[s] -> away[s] = 0; owed[s] = owed[s] + withheld[s]; withheld[s] = 0; return_credits(s) }
	:: true
	fi
}

active proctype judge() {
	atomic { run side(0); run side(1); run user(0); run user(1) }
	atomic {
		timeout ->
		assert(CONSERVED(0) && CONSERVED(1));
		assert(controls[0] == 0 && controls[1] == 0);
		assert(away[1] || messages[0] == 0);
		assert(away[0] || messages[1] == 0);
		finished = 1
	}
}

ltl settles { <> finished }
