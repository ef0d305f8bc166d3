"""After a restart of longshore: finds a pod's files again, and with them the last words of containers that
ended meanwhile. A pod that cannot be prepared any more is adopted all the same; it only says less.
"""

from __future__ import annotations

import logging

from longshore.node.pod import ends
from longshore.node.pod.life import Life, Paths
from longshore.node.pod.preparation import Preparation
from longshore.node.preparing.types import CannotPrepare, NotReady

log = logging.getLogger(__name__)


async def adopt(life: Life, preparer: Preparation) -> None:
    memory = life.memory
    try:
        if not memory.terminal:
            life.prepared = await preparer.pod(memory.pod)
            memory.prepared = life.prepared is not None
    except NotReady as err:
        log.info("pod %s: %s", memory.facts.title, err)
    except Exception:  # its containers run already, and are taken over in any case
        log.exception("pod %s: could not be prepared again", memory.facts.title)
    for record in memory.records():
        if record.state is None:
            continue
        if memory.prepared:
            try:
                found = preparer.container(
                    life.prepared, memory.pod, record.facts.spec, record.attempt, memory.ip
                )
            except CannotPrepare as err:
                log.info("pod %s: %s", memory.facts.title, err)
            else:
                life.paths[record.facts.name] = Paths(found.termination_message, found.log)
        if record.over and record.ended is None:
            record.ended = ends.end_of(life, record)
