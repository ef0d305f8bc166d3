"""Volcano's scheduler: gangs all or nothing, queues with weights and limits. Shares the pod ledger."""
