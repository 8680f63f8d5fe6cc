/*
 * A process that keeps a processor busy, without system calls, until it is killed
 * or its parent ends. It prints "ok" first.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>

int main(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    puts("ok");
    fflush(stdout);
    for (volatile unsigned long turns = 0;; turns++)
        ;
}
