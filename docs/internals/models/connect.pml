/*
 * Connect and disconnect of two sides: the machine of package peer twice, and
 * the links between them. See README.md for what corresponds to what.
 *
 * Each side posts SENDS sends whenever it likes. A fault process may break
 * links, lose packets, let timers run out early, cancel, refuse, and restart a
 * side, FAULTS times in all, and then becomes calm. When nothing moves any more:
 *   every send has completed exactly once, no reference is held, no request is
 *   unanswered; both sides are READY over one link, or both are INIT;
 *   without a fault, no send has failed;
 *   one more send of each side succeeds.
 *
 * BUG plants one of the errors that the checks above must find.
 */

#ifndef SENDS
#define SENDS 1
#endif
#ifndef FAULTS
#define FAULTS 2
#endif
#ifndef BUG
#define BUG 0
#endif
#define BUG_BOTH_YIELD   1  /* both sides give way when requests cross */
#define BUG_LOSE_REQUEST 2  /* a request that comes in DISCONNECT is forgotten */
#define BUG_NO_DRAIN     3  /* DISCONNECT does not wait for references */
#define BUG_KEEP_QUEUE   4  /* giving up forgets the sends that wait */

#ifndef ATTEMPTS
#define ATTEMPTS 4  /* of one side; stands for ConnectTimeout */
#endif
#define LINKS (2 * ATTEMPTS + 1)  /* link 0 is none */

mtype = { INIT, WAIT, READY, DISCONNECT };
mtype = { none, linking, asking, backoff, accepting, expecting, linger };
mtype = { request, up, failed, down };      /* what a NIC says */
mtype = { conn_req, conn_ack, refusal, bye }; /* packets */

/* The machines. */
mtype state[2] = INIT;
mtype phase[2] = none;
byte link[2];            /* in use; 0: none */
bit  initiator[2];
byte session[2];         /* our own */
byte theirs[2];          /* the peer's, as of the latest READY */
byte former[2];          /* the one before */
byte seen[2];            /* newest attempt of theirs that is over or in use */
byte attempt[2];         /* newest of ours */
byte acc_session[2];     /* what an accepted link was accepted for */
byte acc_attempt[2];
byte waiting[2];         /* request that waits, by its link */
byte queued[2];
byte refs[2];
bit  resent[2];

/* The links, and who has asked for them as what. */
bit  open_end[2 * LINKS];  /* by 2*link+side */
bit  joined[LINKS];
bit  maker[LINKS];
byte of_session[LINKS];
byte of_attempt[LINKS];
bit  answered[LINKS];
byte links;

chan nic[2] = [8] of { mtype, byte };
chan pkt[2] = [2 * ATTEMPTS] of { mtype, byte, byte, byte, byte }; /* kind, link, session, attempt, latest */

/* The users. */
byte posted[2];
byte succeeded[2];
byte broken[2];          /* failed */
byte faults;
bit  calm;
bit  probing;
bit  finished;

#define OPEN(l, s) open_end[2 * (l) + (s)]

inline tell(whom, word, about) { assert(nfull(nic[whom])); nic[whom]!word(about) }

/* send loses the packet sometimes. */
inline send(me, kind, over, my_session, token, newest) {
	if
	:: !calm && faults < FAULTS -> faults++
	:: assert(nfull(pkt[1 - me])); pkt[1 - me]!kind(over, my_session, token, newest)
	fi
}

/* ---- what the owner does ---- */

inline close_end(mine, gone) {
	OPEN(gone, mine) = 0;
	if
	:: joined[gone] && OPEN(gone, 1 - mine) -> tell(1 - mine, down, gone)
	:: else
	fi
}

inline close_link(s) {
	if
	:: link[s] != 0 ->
		close_end(s, link[s]);
		forget_link(s)
	:: else
	fi
}

inline forget_link(s) {
	if
	:: !initiator[s] && acc_session[s] == theirs[s] && acc_attempt[s] > seen[s] -> seen[s] = acc_attempt[s]
	:: else
	fi;
	link[s] = 0; initiator[s] = 0; acc_session[s] = 0; acc_attempt[s] = 0
}

inline reject(judge_, no) {
	answered[no] = 1;
	if
	:: !joined[no] && OPEN(no, 1 - judge_) -> tell(1 - judge_, failed, no)
	:: else
	fi
}

inline reject_waiting(s) {
	if
	:: waiting[s] != 0 -> reject(s, waiting[s]); waiting[s] = 0
	:: else
	fi
}

inline flush(s) {
	assert(refs[s] == 0);
	refs[s] = queued[s];
	queued[s] = 0
}

inline fail(s) {
#if BUG != BUG_KEEP_QUEUE
	broken[s] = broken[s] + queued[s];
#endif
	queued[s] = 0
}

/* ---- the machine ---- */

inline enter_init(s) { state[s] = INIT; phase[s] = none; resent[s] = 0 }

inline connect(s) {
	assert(link[s] == 0 && links < LINKS - 1);
	attempt[s]++;
	links++;
	link[s] = links;
	initiator[s] = 1;
	state[s] = WAIT; phase[s] = linking; resent[s] = 0;
	OPEN(links, s) = 1; maker[links] = s;
	of_session[links] = session[s]; of_attempt[links] = attempt[s];
	tell(1 - s, request, links)
}

inline accept_link(s, l) {
	assert(link[s] == 0);
	answered[l] = 1;
	initiator[s] = 0;
	link[s] = l;
	state[s] = WAIT; phase[s] = accepting;
	acc_session[s] = of_session[l]; acc_attempt[s] = of_attempt[l];
	OPEN(l, s) = 1;
	if
	:: OPEN(l, 1 - s) -> joined[l] = 1; tell(s, up, l); tell(1 - s, up, l)
	:: else -> tell(s, failed, l)
	fi
}

inline accept_waiting(s) {
	w = waiting[s]; waiting[s] = 0;
	accept_link(s, w)
}

/* serve is what INIT does next. */
inline serve(s) {
	if
	:: waiting[s] != 0 -> accept_waiting(s)
	:: waiting[s] == 0 && queued[s] > 0 ->
		if
		:: attempt[s] < ATTEMPTS -> connect(s)
		:: else -> fail(s)
		fi
	:: else
	fi
}

inline drain(s) {
	if
#if BUG == BUG_NO_DRAIN
	:: state[s] == DISCONNECT && phase[s] != linger -> enter_init(s); serve(s)
#else
	:: state[s] == DISCONNECT && refs[s] == 0 && phase[s] != linger -> enter_init(s); serve(s)
#endif
	:: else
	fi
}

/* end_connection leaves WAIT or READY; say is 1 if a BYE goes out. */
inline end_connection(s, say) {
	assert(state[s] == WAIT || state[s] == READY);
	state[s] = DISCONNECT; phase[s] = none;
	if
	:: say -> send(s, bye, link[s], 0, 0, 0)
	:: else
	fi;
	fail(s);
	close_link(s);
	drain(s)
}

inline attempt_failed(s) {
	close_link(s);
	if
	:: waiting[s] != 0 -> accept_waiting(s)
	:: waiting[s] == 0 && queued[s] == 0 -> enter_init(s)
	:: waiting[s] == 0 && queued[s] > 0 && attempt[s] < ATTEMPTS -> phase[s] = backoff
	:: waiting[s] == 0 && queued[s] > 0 && attempt[s] >= ATTEMPTS -> end_connection(s, 0)
	fi
}

inline ready(r, now_session, upto) {
	if
	:: now_session != theirs[r] -> former[r] = theirs[r]; theirs[r] = now_session; seen[r] = 0
	:: else
	fi;
	if
	:: upto > seen[r] -> seen[r] = upto
	:: else
	fi;
	state[r] = READY; phase[r] = none; resent[r] = 0;
	reject_waiting(r);
	flush(r)
}

inline keep_waiting(s, l) {
	if
	:: waiting[s] != 0 && of_session[waiting[s]] == of_session[l] && of_attempt[waiting[s]] >= of_attempt[l] ->
		reject(s, l)
	:: else ->
		reject_waiting(s);
#if BUG == BUG_LOSE_REQUEST
		if
		:: state[s] == DISCONNECT
		:: else -> waiting[s] = l
		fi
#else
		waiting[s] = l
#endif
	fi
}

#define STALE(s, l) (of_session[l] == former[s] || (of_session[l] == theirs[s] && of_attempt[l] <= seen[s]))
#if BUG == BUG_BOTH_YIELD
#define WINS(s, l) false
#else
#define WINS(s, l) (session[s] > of_session[l])
#endif

inline link_request(s, l) {
	if
	:: STALE(s, l) -> reject(s, l)
	:: else ->
		if
		:: state[s] == INIT -> accept_link(s, l)
		:: state[s] == READY -> keep_waiting(s, l); end_connection(s, 0)
		:: state[s] == DISCONNECT ->
			keep_waiting(s, l);
			if
			:: phase[s] == linger -> lingered(s)
			:: else
			fi
		:: state[s] == WAIT && ((phase[s] == linking && WINS(s, l)) || phase[s] == asking) -> keep_waiting(s, l)
		:: state[s] == WAIT && (phase[s] == accepting || phase[s] == expecting) &&
		   of_session[l] == acc_session[s] && of_attempt[l] <= acc_attempt[s] -> reject(s, l)
		:: else -> reject_waiting(s); close_link(s); accept_link(s, l)
		fi
	fi
}

inline lingered(s) {
	close_link(s);
	phase[s] = none;
	drain(s)
}

inline link_gone(s) {
	forget_link(s);
	if
	:: state[s] == READY -> end_connection(s, 0)
	:: state[s] == WAIT -> attempt_failed(s)
	:: state[s] == DISCONNECT -> lingered(s)
	fi
}

inline from_nic(s, what, l) {
	if
	:: what == request -> link_request(s, l)
	:: what == up ->
		if
		:: OPEN(l, s) && link[s] == l && phase[s] == linking ->
			phase[s] = asking; send(s, conn_req, l, session[s], attempt[s], 0)
		:: OPEN(l, s) && link[s] == l && phase[s] == accepting -> phase[s] = expecting
		:: else
		fi
	:: what == failed || what == down ->
		if
		:: OPEN(l, s) ->
			OPEN(l, s) = 0;
			if
			:: link[s] == l -> link_gone(s)
			:: else
			fi
		:: else
		fi
	fi
}

inline on_conn_req(s, sess, att) {
	if
	:: initiator[s] || sess != acc_session[s] || att != acc_attempt[s] || phase[s] == accepting
	:: else ->
		if
		:: state[s] == READY -> send(s, conn_ack, link[s], session[s], att, attempt[s])
		:: phase[s] == linger -> send(s, refusal, link[s], session[s], att, 0)
		:: phase[s] == expecting ->
			send(s, conn_ack, link[s], session[s], att, attempt[s]);
			ready(s, sess, att)
		:: phase[s] == expecting && !calm && faults < FAULTS ->
			faults++; /* we do not like the peer */
			send(s, refusal, link[s], session[s], att, 0);
			state[s] = DISCONNECT; phase[s] = linger;
			fail(s)
		fi
	fi
}

inline from_peer(s, what, l, sess, att, latest) {
	if
	:: link[s] == 0 || link[s] != l
	:: else ->
		if
		:: what == conn_req -> on_conn_req(s, sess, att)
		:: what == conn_ack && phase[s] == asking && att == attempt[s] -> ready(s, sess, latest)
		:: what == refusal && phase[s] == asking && att == attempt[s] -> end_connection(s, 0)
		:: what == bye && state[s] == READY -> end_connection(s, 0)
		:: what == bye && state[s] == WAIT -> attempt_failed(s)
		:: what == bye && state[s] == DISCONNECT -> lingered(s)
		:: else
		fi
	fi
}

#define RESEND(s) (phase[s] == asking && !resent[s])

/* A deadline has passed. */
inline tick(s) {
	if
	:: phase[s] == linger -> lingered(s)
	:: RESEND(s) -> resent[s] = 1; send(s, conn_req, link[s], session[s], attempt[s], 0)
	:: else -> attempt_failed(s)
	fi
}

#define DEADLINE(s) (phase[s] != none && phase[s] != backoff)

/* The NIC is done with an operation in flight, or hands it back. */
inline released(s) {
	refs[s]--;
	if
	:: link[s] != 0 && state[s] == READY -> succeeded[s]++
	:: else -> broken[s]++; drain(s)
	fi
}

inline post(s) {
	posted[s]++;
	if
	:: state[s] == READY -> refs[s]++
	:: state[s] == INIT -> queued[s]++; serve(s)
	:: else -> queued[s]++
	fi
}

proctype side(bit s) {
	mtype what;
	byte l, sess, att, latest, w;
end:	do
	:: atomic { nic[s]?what(l) -> from_nic(s, what, l); what = 0; l = 0; w = 0 }
	/* A NIC says that a link is up before it hands over what came by it. */
	:: atomic { !nic[s]??[up, _] && nempty(pkt[s]) -> pkt[s]?what(l, sess, att, latest) -> from_peer(s, what, l, sess, att, latest);
		what = 0; l = 0; sess = 0; att = 0; latest = 0; w = 0 }
	:: atomic { posted[s] < SENDS + probing -> post(s); w = 0 }
	:: atomic { refs[s] > 0 -> released(s); w = 0 }
	:: atomic { phase[s] == backoff -> connect(s) }
	:: atomic { timeout && (RESEND(s) || (DEADLINE(s) && !RESEND(1 - s))) -> tick(s); w = 0 }
	:: atomic { !calm && faults < FAULTS && DEADLINE(s) -> faults++; tick(s); w = 0 }
	/* An operation half on the wire is cancelled, or the address dropped. */
	:: atomic { !calm && faults < FAULTS && state[s] == READY -> faults++; end_connection(s, 1); w = 0 }
	od
}

/* A side dies and comes back: nobody waits for its old operations. */
inline restart(s) {
	close_link(s);
	reject_waiting(s);
	enter_init(s);
	session[s] = session[s] + 2;
	theirs[s] = 0; former[s] = 0; seen[s] = 0;
	queued[s] = 0; refs[s] = 0;
	succeeded[s] = 0; broken[s] = 0; posted[s] = 0
}

inline break_link(torn) {
	if
	:: joined[torn] && OPEN(torn, 0) -> tell(0, down, torn)
	:: else
	fi;
	if
	:: joined[torn] && OPEN(torn, 1) -> tell(1, down, torn)
	:: else
	fi
}

proctype fate() {
	do
	:: atomic { faults < FAULTS -> faults++; if :: true -> restart(0) :: true -> restart(1) fi }
	:: atomic { faults < FAULTS && link[0] != 0 && joined[link[0]] -> faults++; break_link(link[0]) }
	:: atomic { faults < FAULTS && link[1] != 0 && link[1] != link[0] && joined[link[1]] -> faults++; break_link(link[1]) }
	:: atomic { calm = 1; break }
	od
}

inline check_settled() {
	assert(refs[0] == 0 && refs[1] == 0 && queued[0] == 0 && queued[1] == 0);
	assert(succeeded[0] + broken[0] == posted[0] && succeeded[1] + broken[1] == posted[1]);
	assert(waiting[0] == 0 && waiting[1] == 0);
	assert(state[0] == state[1] && (state[0] == READY || state[0] == INIT));
	assert(link[0] == link[1]);
	assert(faults != 0 || (state[0] == READY && broken[0] == 0 && broken[1] == 0));
	for (i : 1 .. links) { assert(answered[i]) }
}

#define QUIET (timeout && calm && !DEADLINE(0) && !DEADLINE(1))

active proctype judge() {
	byte i, b0, b1;
	atomic {
		session[0] = 1; session[1] = 2;
		run side(0); run side(1); run fate()
	}
	atomic { QUIET -> check_settled(); b0 = broken[0]; b1 = broken[1]; probing = 1 }
	atomic {
		QUIET -> check_settled();
		assert(attempt[0] == ATTEMPTS || attempt[1] == ATTEMPTS || (broken[0] == b0 && broken[1] == b1));
		finished = 1
	}
}

ltl settles { <> finished }
