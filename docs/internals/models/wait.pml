/*
 * Sleeping and waking in package internal/progress: callers that wait for one operation each,
 * on an endpoint with one method that can be slept on. See README.md.
 *
 * A message arrives by a store to a slot. The side that stores it then rings the
 * bell, if the slot's owner asked for that. Both stores may stay in the store
 * buffer of their processor until a fence. Messages may arrive in any order and at
 * any time. The message of caller 0 may never come, but that caller has a deadline.
 *
 * Every process blocks when it has nothing to do. When nothing happens any more, every
 * caller whose message has arrived must have returned, whatever the others wait for, and
 * with a watcher every operation whose message has arrived must be complete, also if its
 * caller has left. In the end all callers have returned.
 *
 * BUG plants one of the errors that the check must find.
 */

#ifndef BUG
#define BUG 0
#endif
#define BUG_NO_RECHECK 1       /* a caller blocks without looking for its completion once more */
#define BUG_NO_BUSY_CHECK 2    /* a caller blocks although nobody holds the monitor any more */
#define BUG_NO_HANDOVER 3      /* a caller that leaves wakes no other one */
#define BUG_HANDOVER_EARLY 4   /* it does so before the monitor is free */
#define BUG_WAKE_LOST 5        /* Arm forgets a Wake that came before */
#define BUG_ARM_NO_FENCE 6     /* Arm looks at the slots before its request can be seen */
#define BUG_SEND_NO_FENCE 7    /* a sender looks for the request before its message can be seen */
#define BUG_NO_STEP_BACK 8     /* a caller waits for the watcher's sleep without ending it */
#define BUG_ARM_BLIND 9        /* Arm does not look at the slots */
#define BUG_WAKE_SLEEPER_ONLY 10  /* a completion does not wake the callers that block */
#define BUG_NO_RESUME 11       /* the watcher is not told that the application has stopped sleeping */

#ifndef CALLERS
#define CALLERS 2
#endif
#ifndef WATCHER
#define WATCHER 0
#endif

/* By caller: */
bit slot[CALLERS];        /* its message can be seen */
bit done[CALLERS];        /* its operation is complete */
bit registered[CALLERS];  /* it is in its List and in Monitor.all */
bit sleeping[CALLERS];    /* Waiter.sleepsOn */
bit ch[CALLERS];          /* Waiter.ch holds a wake-up */
bit late;                 /* the deadline of caller 0 has passed */
bit gone[CALLERS];        /* it has returned */

bit lock;                 /* the engine lock */
bit busy;                 /* Monitor.held */
bit wanted;               /* the owner of the slots asks for the bell, as senders see it */
bit bell;                 /* ends Sleep; it stays until a Sleep takes it */
bit sleep_mu;             /* Engine.sleepMu */
bit step_back;            /* Engine.sleepWanted */
bit yields;               /* the watcher is yielding */
bit again;

inline engine_lock()   { atomic { lock == 0 -> lock = 1 } }
inline engine_unlock() { lock = 0 }

/* wake: Monitor.Wake, with Monitor.mu held. */
inline wake(w) {
	ch[w] = 1;
	if
	:: sleeping[w] -> bell = 1
	:: else
	fi
}

#define ARRIVED(w) (slot[w] && !done[w])

/* poll: Method.Poll with the engine lock held. It completes what has arrived. */
inline poll() {
	complete(0);
#if CALLERS > 1
	complete(1);
#endif
#if CALLERS > 2
	complete(2);
#endif
}

inline complete(w) {
	if
	:: atomic { ARRIVED(w) -> done[w] = 1 };
		atomic { /* List.Waiting, then WakeList */
			if
#if BUG == BUG_WAKE_SLEEPER_ONLY
			:: registered[w] && sleeping[w] -> wake(w)
#else
			:: registered[w] -> wake(w)
#endif
			:: else
			fi
		}
	:: else
	fi
}

/* arm: Sleeper.Arm with the engine lock held. armed says what it reports. */
inline arm() {
#if BUG == BUG_WAKE_LOST
	bell = 0;
#endif
#if BUG == BUG_ARM_NO_FENCE
	look_at_slots();
	wanted = 1;
#else
	wanted = 1; /* a full fence */
	look_at_slots();
#endif
	if
	:: !armed -> wanted = 0
	:: else
	fi
}

#if CALLERS > 2
#define NOTHING_ARRIVED (!ARRIVED(0) && !ARRIVED(1) && !ARRIVED(2))
#elif CALLERS > 1
#define NOTHING_ARRIVED (!ARRIVED(0) && !ARRIVED(1))
#else
#define NOTHING_ARRIVED (!ARRIVED(0))
#endif

inline look_at_slots() {
#if BUG == BUG_ARM_BLIND
	armed = 1
#else
	armed = NOTHING_ARRIVED
#endif
}

inline register(w, asleep) {
	sleeping[w] = asleep;
	registered[w] = 1
}

inline unregister(w) {
	atomic { registered[w] = 0; sleeping[w] = 0 }
}

/* hand_over: Monitor.handOver. It wakes any of the registered callers. */
inline hand_over() {
	if
	:: busy -> skip
	:: else ->
		atomic {
			if
			:: registered[0] -> wake(0)
#if CALLERS > 1
			:: registered[1] -> wake(1)
#endif
#if CALLERS > 2
			:: registered[2] -> wake(2)
#endif
			:: else
			fi
		}
	fi
}

#define OVER(w) (w == 0 && late)

/* sleep_on: Monitor.sleepOn. */
inline sleep_on(w) {
	/* takeSleep */
	if
	:: atomic { sleep_mu == 0 -> sleep_mu = 1 }
	:: sleep_mu ->
#if BUG != BUG_NO_STEP_BACK
		step_back = 1;
		bell = 1;
#endif
		atomic { sleep_mu == 0 -> sleep_mu = 1 };
		step_back = 0
	fi;
	register(w, 1);
	engine_lock();
	armed = 0;
	if
	:: !done[w] && !OVER(w) -> arm()
	:: else
	fi;
	engine_unlock();
	if
	:: armed ->
		if
		:: atomic { bell -> bell = 0 }
		:: OVER(w)
		fi
	:: else
	fi;
	unregister(w);
	engine_lock();
	wanted = 0;
	give_sleep();
	poll();
	served = done[w];
	engine_unlock();
	armed = 0
}

inline give_sleep() {
	sleep_mu = 0;
#if BUG != BUG_NO_RESUME
	if
	:: yields -> again = 1
	:: else
	fi
#endif
}

/* block: Monitor.block. */
inline block(w) {
	register(w, 0);
#if BUG != BUG_NO_RECHECK
	engine_lock();
	served = done[w];
	engine_unlock();
#endif
	if
#if BUG == BUG_NO_BUSY_CHECK
	:: !served && !OVER(w) ->
#else
	:: !served && busy && !OVER(w) ->
#endif
		if
		:: atomic { ch[w] -> ch[w] = 0 }
		:: OVER(w)
		fi
	:: else
	fi;
	unregister(w);
	engine_lock();
	served = done[w];
	engine_unlock()
}

/* caller: Monitor.Wait. */
proctype caller(byte me) {
	bit served, armed;
	do
	:: served || OVER(me) -> break
	:: else ->
		if
		:: atomic { busy == 0 -> busy = 1 };
			engine_lock(); /* spin: once is as good as many times */
			poll();
			served = done[me];
			engine_unlock();
			do
			:: served || OVER(me) -> break
			:: else -> sleep_on(me)
			od;
#if BUG == BUG_HANDOVER_EARLY
			hand_over();
#endif
			busy = 0
		:: busy -> block(me)
		fi
	od;
#if BUG != BUG_NO_HANDOVER && BUG != BUG_HANDOVER_EARLY
	hand_over();
#endif
	gone[me] = 1
}

/* watcher: watcher.watch. It drives the method when no caller does. */
proctype watcher() {
	bit armed;
	do
	:: atomic { sleep_mu == 0 -> sleep_mu = 1 };
sleeps:	engine_lock();
		if
		:: !step_back -> arm()
		:: else
		fi;
		engine_unlock();
		if
		:: armed ->
end_asleep:		atomic { bell -> bell = 0 }
		:: else
		fi;
		engine_lock();
		wanted = 0;
		engine_unlock();
		armed = 0;
		sleep_mu = 0;
		engine_lock();
		poll();
		engine_unlock();
end_rest:	step_back == 0 /* it rests, and looks again */
	:: sleep_mu ->
		yields = 1;
		if
		:: atomic { sleep_mu == 0 -> sleep_mu = 1 };
			yields = 0;
			goto sleeps
		:: sleep_mu ->
end_yields:		atomic { again -> again = 0 };
			yields = 0
		fi
	od
}

/* sender: a process at the other side of a slot. */
proctype sender(byte to) {
	bit rings;
	if
	:: skip
	:: to == 0 -> goto away
	fi;
#if BUG == BUG_SEND_NO_FENCE
	rings = wanted;
	slot[to] = 1;
#else
	slot[to] = 1; /* a full fence */
	rings = wanted;
#endif
	if
	:: rings -> bell = 1
	:: else
	fi;
away:	skip
}

#define SERVED(w) (!slot[w] || gone[w])
#define DRIVEN(w) (!slot[w] || done[w])

/* deadline: that of caller 0. It may pass at any time, also when nothing else happens. */
proctype deadline() {
	if
	:: skip
	:: skip ->
		timeout;
		assert(SERVED(0) && SERVED(CALLERS - 1) && SERVED(CALLERS / 2))
	fi;
	late = 1
}

/* bystander: a goroutine with another context, which polls once. */
proctype bystander() {
	engine_lock();
	poll();
	engine_unlock()
}

init {
	byte i;
	atomic {
		for (i : 0 .. CALLERS - 1) {
			run caller(i);
			run sender(i)
		}
		run deadline();
#if WATCHER
		run watcher();
#else
		run bystander();
#endif
	}
	for (i : 0 .. CALLERS - 1) {
		gone[i]
	}
#if WATCHER
	timeout; /* it has taken over */
	for (i : 0 .. CALLERS - 1) {
		assert(DRIVEN(i))
	}
#endif
}
