"""The rights of a container: capabilities, whether it may gain new ones, and the filter of system calls.

Rights can only be dropped. A spawned process has the keeper's rights, so the keeper drops to the usual rights
itself with the first container that needs them: a container with walls then costs no more than one without.
The keeper can still mount and enter namespaces, because a bounding set limits only programs that are
executed. A container with fewer rights is forked and drops them; one with more rights than the keeper has
left is forked by the fork server, which dropped none.
"""

from __future__ import annotations

from longshore.node.keeper import linux, procfs
from longshore.node.keeper.frames import USUAL_CAPABILITIES
from longshore.node.keeper.walls import seccomp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from longshore.node.keeper.frames import Spec

    Rights = tuple[int, bool, bool]
    """The capabilities it may have, a bit each; whether it can gain no others; whether it is filtered."""

EVERYTHING: Rights = (linux.bounding_set(), False, False)
"""The rights that the keeper was started with."""

_STATUS_FIELDS = (b"CapBnd:", b"NoNewPrivs:", b"Seccomp:")


def of_spec(spec: Spec) -> Rights:
    walls = spec.get("walls")
    if walls is None:
        return EVERYTHING
    return (walls["capabilities"] & EVERYTHING[0], walls["no_new_privileges"], walls["filtered"])


def of_process(pid: int) -> Rights:
    """The rights of a container that another keeper started."""
    found = dict.fromkeys(_STATUS_FIELDS, b"0")
    for line in procfs.read(f"/proc/{pid}/status").splitlines():
        name, _, value = line.partition(b"\t")
        if name in found:
            found[name] = value
    capabilities, locked, filtered = (found[name] for name in _STATUS_FIELDS)
    return (int(capabilities, 16), locked == b"1", filtered == b"2")


def fits(wanted: Rights, worn: Rights) -> bool:
    """Whether a process with the rights `worn` can drop to `wanted`."""
    return not (wanted[0] & ~worn[0]) and wanted[1] >= worn[1] and wanted[2] >= worn[2]


def is_usual(wanted: Rights) -> bool:
    """Whether these are the default rights, to which the keeper itself may drop."""
    return wanted[0] == USUAL_CAPABILITIES & EVERYTHING[0] and wanted[1]


def shrink(wanted: Rights, worn: Rights = EVERYTHING) -> None:
    """Drops the rights of `worn` that are not in `wanted`, for good."""
    capabilities, locked, filtered = wanted
    surplus = linux.bounding_set() & ~capabilities
    for number in range(surplus.bit_length()):
        if surplus >> number & 1:
            linux.drop_from_bounding_set(number)
    if filtered and not worn[2] and (program := seccomp.program()):
        linux.install_filter(program)
    if locked and not worn[1]:
        linux.forbid_new_privileges()
