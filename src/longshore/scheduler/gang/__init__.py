"""Volcano's scheduler: gangs all or nothing, queues with weights and limits. On the ledger of single pods."""
