"""The rights of a container: capabilities, whether it may gain new ones, and the filter of system calls.

All three only shrink. A process that is spawned has those of the keeper, so the keeper wears the usual rights
itself from the first container that asks for them: a container with walls then costs no more than one
without. It keeps what it holds already, to mount and to enter namespaces, because a bounding set binds only
programs that are executed. Who needs fewer rights is forked and drops them; who needs more than the keeper
wears is forked by the nursery, which wears nothing.
"""

from __future__ import annotations

from longshore.node.keeper.processes import linux, procfs
from longshore.node.keeper.walls import seccomp
from longshore.node.keeper.walls.capabilities import USUAL_CAPABILITIES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from longshore.node.keeper.talking.frames import Spec

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
    """Whether a process with the worn rights can shrink to the wanted ones."""
    return not (wanted[0] & ~worn[0]) and wanted[1] >= worn[1] and wanted[2] >= worn[2]


def is_usual(wanted: Rights) -> bool:
    """Whether so many containers have these rights that the keeper may wear them."""
    return wanted[0] == USUAL_CAPABILITIES & EVERYTHING[0] and wanted[1]


def shrink(wanted: Rights, worn: Rights = EVERYTHING) -> None:
    """Gives up what is worn and not wanted, for good."""
    capabilities, locked, filtered = wanted
    surplus = linux.bounding_set() & ~capabilities
    for number in range(surplus.bit_length()):
        if surplus >> number & 1:
            linux.drop_from_bounding_set(number)
    if filtered and not worn[2] and (program := seccomp.program()):
        linux.install_filter(program)
    if locked and not worn[1]:
        linux.forbid_new_privileges()
