/* Reads pairs of operands of 16 bytes, and writes what C makes of them, for c_test.go. The argument
   is the type. */
#include <complex.h>
#include <stdio.h>
#include <string.h>

static unsigned char slot[16];

static void put(const void *p, size_t n)
{
	memset(slot, 0, sizeof slot);
	memcpy(slot, p, n);
	fwrite(slot, 1, sizeof slot, stdout);
}

/* Each operation has its variable, so that results have the type's precision. */
#define REAL(type, used)                                                                                               \
	do {                                                                                                               \
		volatile type a, b, r;                                                                                         \
		memcpy((void *)&a, in, sizeof a);                                                                              \
		memcpy((void *)&b, in + 16, sizeof b);                                                                         \
		r = a + b, put((void *)&r, used);                                                                              \
		r = a - b, put((void *)&r, used);                                                                              \
		r = a * b, put((void *)&r, used);                                                                              \
		int flags = (a < b) | (a == b) << 1;                                                                           \
		put(&flags, sizeof flags);                                                                                     \
		volatile double d = a;                                                                                         \
		put((void *)&d, sizeof d);                                                                                     \
		volatile __float128 q = a;                                                                                     \
		put((void *)&q, sizeof q);                                                                                     \
		volatile long double l = a;                                                                                    \
		put((void *)&l, LONG);                                                                                         \
	} while (0)

#ifdef __x86_64__
#define LONG 10
#else
#define LONG 16
#define __float128 long double
#endif

int main(int argc, char **argv)
{
	unsigned char in[32];
	while (fread(in, 1, sizeof in, stdin) == sizeof in) {
		if (!strcmp(argv[argc - 1], "LongDouble"))
			REAL(long double, LONG);
		else if (!strcmp(argv[argc - 1], "Float128"))
			REAL(__float128, 16);
		else if (!strcmp(argv[argc - 1], "Float16"))
			REAL(_Float16, 2);
		else {
			__int128 a, b, r;
			memcpy(&a, in, sizeof a);
			memcpy(&b, in + 16, sizeof b);
			r = (__int128)((unsigned __int128)a + (unsigned __int128)b), put(&r, 16);
			r = (__int128)((unsigned __int128)a * (unsigned __int128)b), put(&r, 16);
			int flags = (a < b) | (a == b) << 1;
			put(&flags, sizeof flags);
		}
	}
	return 0;
}
