#!/bin/sh
# Stops the servers before they are removed, but not for an upgrade: running servers go on until they are restarted.
# Debian passes the word remove, RPM the number of packages that stay.
set -e
if [ "$1" = remove ] || [ "$1" = 0 ]; then
	if [ -d /run/systemd/system ]; then
		systemctl stop 'pvfsd@*.service' || true
	fi
fi
