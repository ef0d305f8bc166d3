"""Documents of longshore.dev that are rarely requested. The code of each is imported at its first request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from longshore.api.types import Obj
from longshore.apiserver.documents import own_group
from longshore.apiserver.request.call import Call

if TYPE_CHECKING:
    from longshore.apiserver.documents.own_group import MadeDocument
    from longshore.plane.plane import Plane

RETRY_ROW: Final = own_group.row("JobRetry", "jobretries", namespaced=True, verbs=("create",))
CALENDAR_ROW: Final = own_group.row("CronJobCalendar", "cronjobcalendars", namespaced=True)


def documents(plane: Plane) -> tuple[MadeDocument, ...]:
    """The resources for retries of Jobs and calendars of CronJobs."""

    async def retry(call: Call) -> Obj:
        from longshore.plane import retrying_jobs

        return await retrying_jobs.answer(plane.api, call)

    async def calendar(call: Call) -> Obj | None:
        from longshore.plane import cronjob_calendar

        return cronjob_calendar.answer(plane, call)

    return own_group.document(RETRY_ROW, retry), own_group.document(CALENDAR_ROW, calendar)
