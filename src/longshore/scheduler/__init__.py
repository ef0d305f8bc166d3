"""Gives pending pods a node, and says with numbers why a pod waits."""

from longshore.scheduler.shared_ledger import Schedulers

__all__ = ["Schedulers"]
