"""The capabilities of an ordinary container of root, for the keeper and for those who ask it."""

from __future__ import annotations

USUAL_CAPABILITIES = 0xA00405FB
"""CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID, SETPCAP, NET_BIND_SERVICE, SYS_CHROOT,
AUDIT_WRITE and SETFCAP, a bit each: containerd's, without MKNOD and NET_RAW. Its containers have walls around
devices and a network of their own; ours could open the machine's disks, and read what others send."""
