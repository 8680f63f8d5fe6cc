#!/bin/sh
# Makes the user pvfs and the folder of its data. Nothing here may fail where there is no systemd, as in a container.
set -e
if command -v systemd-sysusers >/dev/null 2>&1; then
	systemd-sysusers viaduct.conf || true
fi
if command -v systemd-tmpfiles >/dev/null 2>&1; then
	systemd-tmpfiles --create viaduct.conf || true
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
